"""JAX functions as subjects: custom_vjp, custom_jvp, and any callable of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array
from gradcheck.report import Report
from gradcheck.subjects.case import Arguments, Case, first_failure, parameter_names

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError(f"gradcheck.subjects.jax: expected JAX, got {error}; install it with pip install jax") from error

Leaf = Any  # a JAX array, or a tracer that stands for one
Gradients = tuple[Array | None, ...]


def check(
    fn: object,
    inputs: Sequence[object],
    *,
    second_order: bool = True,
    batch: bool = False,
    **options: Any,  # Any: gradcheck.check reads and judges them
) -> Report:
    """Judges the derivative of a JAX function as it stands.

    Args:
        fn: see `subject`.
        inputs: see `subject`.
        second_order: see `subject`.
        batch: see `subject`.
        options: those of `gradcheck.check`; `names` and the like count the arrays among the inputs.

    Returns:
        The report of `gradcheck.check`.

    Raises:
        UsageError: see `subject` and `gradcheck.check`.
    """
    return subject(fn, inputs, second_order=second_order, batch=batch).check(**options)


def subject(fn: object, inputs: Sequence[object], *, second_order: bool = True, batch: bool = False) -> Case:
    """Gives a JAX function in the form that `gradcheck.check` takes.

    Every call runs with 64-bit types enabled, and only while it runs; the configuration stays as it is. Arrays that
    the function closes over keep the dtype that they were made with.

    Args:
        fn: a function of arrays, or of nested containers of them, with a derivative of its own or not.
        inputs: one per argument. Floating JAX and NumPy arrays are differentiated; whatever is no array stays as it is.
        second_order: whether to judge the gradient of the gradient, in reverse and in forward mode, where JAX can
            take it.
        batch: whether to judge jax.vmap of the function and of its gradient against a loop.

    Returns:
        The case; its inputs are the arrays among `inputs`. It has a jvp where JAX can take one.

    Raises:
        UsageError: fn is not callable, or no input is differentiable.
    """
    if isinstance(fn, type) or not callable(fn):
        kind = f"the class {fn.__name__}" if isinstance(fn, type) else type(fn).__name__
        raise UsageError(f"fn: expected a function of arrays, got {kind}; pass the function itself")
    if not isinstance(inputs, (tuple, list)):
        raise UsageError(f"inputs: expected a tuple of arguments, got {type(inputs).__name__}; write (x,)")
    flat, tree = jax.tree_util.tree_flatten_with_path(tuple(inputs))
    arguments = Arguments.read([leaf for _, leaf in flat], _varied)
    if not any(_is_inexact(array) for array in arguments.arrays):
        kinds = ", ".join(array.dtype.name for array in arguments.arrays)
        raise UsageError(f"inputs: expected a floating array to differentiate, got {kinds}; pass one")
    parameters = parameter_names(fn)
    names = arguments.names([_name(path, parameters) for path, _ in flat])
    function = _Function(fn, arguments, tree)
    options: dict[str, Any] = {"names": names, "convention": "plain"}
    if batch:
        options |= {"batched": function.batched, "batched_vjp": function.batched_vjp}
    notes = _add_if_possible(options, function, isinstance(fn, jax.custom_jvp), second_order)
    return Case(function.forward, function.vjp, arguments.arrays, options, tuple(notes))


def _add_if_possible(options: dict[str, Any], function: _Function, is_jvp: bool, second_order: bool) -> list[str]:
    """Adds the derivatives that JAX can take of this function; says of the others why it cannot."""
    arrays = [np.array(array) for array in function.arguments.arrays]
    ones = [np.ones_like(array) for array in arrays]
    seeds: list[Array] = []

    def reverse() -> None:
        outputs = function.forward(*arrays)
        seeds.extend(np.ones_like(output) for output in outputs)
        function.vjp(arrays, outputs, seeds)

    first_failure(reverse)
    attempts: list[tuple[str, str, Any, tuple[Any, ...]]] = [("jvp", "jvp", function.jvp, (arrays, ones))]
    if second_order and seeds:
        attempts += [
            ("vjp2", "the gradient of the gradient", function.vjp2, (arrays, seeds, ones, ones)),
            ("jvp2", "the jvp of the gradient", function.jvp2, (arrays, seeds, ones, seeds)),
        ]
    notes = []
    for option, words, derivative, given in attempts:
        reason = first_failure(lambda derivative=derivative, given=given: derivative(*given))  # type: ignore[misc]
        if reason is None or (option == "jvp" and is_jvp):
            options[option] = derivative
        else:
            notes.append(f"{words}: not judged, as JAX raises {reason}")
    return notes


class _Function:
    """A function of arrays, whose floating inputs and outputs alone take part in derivatives."""

    def __init__(self, fn: Callable[..., object], arguments: Arguments, tree: object) -> None:
        self.arguments = arguments
        self._fn = fn
        self._tree = tree

    def forward(self, *arrays: Array) -> tuple[Array, ...]:
        with _sixty_four_bits():
            return tuple(np.array(leaf) for leaf in self._call(_leaves(arrays)))

    def vjp(self, inputs: Sequence[Array], outputs: Sequence[Array], cotangents: Sequence[Array]) -> Gradients:
        with _sixty_four_bits():
            gradient, floats = self._gradient(inputs)
            return _spread(gradient(floats, _floats(cotangents, outputs)), inputs)

    def jvp(self, inputs: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, ...]:
        with _sixty_four_bits():
            function, floats = self._restricted(inputs)
            _, pushed = jax.jvp(function, floats, _floats(tangents, inputs))
            rest, outputs = iter(pushed), self._call(_leaves(inputs))  # zeros where an output is not floating
            return tuple(np.array(next(rest)) if _is_inexact(made) else np.zeros(made.shape) for made in outputs)

    def vjp2(
        self,
        inputs: Sequence[Array],
        cotangents: Sequence[Array],
        gradients: Sequence[Array | None],
        weights: Sequence[Array | None],
    ) -> tuple[Gradients, Gradients]:
        with _sixty_four_bits():
            gradient, floats = self._gradient(inputs)
            outputs = self._call(_leaves(inputs))
            _, pull = jax.vjp(gradient, floats, _floats(cotangents, outputs))
            zeros = [np.zeros_like(v) if w is None else w for v, w in zip(inputs, weights, strict=True)]
            to_inputs, to_cotangents = pull(_floats(zeros, inputs))
            return _spread(to_inputs, inputs), _spread(to_cotangents, outputs)

    def jvp2(
        self,
        inputs: Sequence[Array],
        cotangents: Sequence[Array],
        input_tangents: Sequence[Array],
        cotangent_tangents: Sequence[Array],
    ) -> Gradients:
        with _sixty_four_bits():
            gradient, floats = self._gradient(inputs)
            outputs = self._call(_leaves(inputs))
            given = (floats, _floats(cotangents, outputs))
            moves = (_floats(input_tangents, inputs), _floats(cotangent_tangents, outputs))
            _, pushed = jax.jvp(gradient, given, moves)
            return _spread(pushed, inputs)

    def batched(self, *stacked: Array) -> tuple[Array, ...]:
        with _sixty_four_bits():
            made = jax.vmap(lambda *leaves: self._call(leaves))(*_leaves(stacked))
            return tuple(np.array(leaf) for leaf in made)

    def batched_vjp(self, inputs: Sequence[Array], outputs: Sequence[Array], stacked: Sequence[Array]) -> Gradients:
        with _sixty_four_bits():
            gradient, floats = self._gradient(inputs)
            return _spread(jax.vmap(lambda given: gradient(floats, given))(_floats(stacked, outputs)), inputs)

    def _call(self, leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
        filled = jax.tree_util.tree_unflatten(self._tree, self.arguments.fill(leaves))
        return tuple(jnp.asarray(leaf) for leaf in jax.tree_util.tree_leaves(self._fn(*filled)))

    def _restricted(self, inputs: Sequence[Array]) -> tuple[Callable[..., tuple[Leaf, ...]], tuple[Leaf, ...]]:
        """Gives the function of the floating inputs to the floating outputs, and those inputs."""
        leaves = _leaves(inputs)
        places = [k for k, leaf in enumerate(leaves) if _is_inexact(leaf)]

        def function(*floats: Leaf) -> tuple[Leaf, ...]:
            filled = list(leaves)
            for place, leaf in zip(places, floats, strict=True):
                filled[place] = leaf
            return tuple(made for made in self._call(filled) if _is_inexact(made))

        return function, tuple(leaves[place] for place in places)

    def _gradient(self, inputs: Sequence[Array]) -> tuple[Callable[..., tuple[Leaf, ...]], tuple[Leaf, ...]]:
        """Gives the gradient as a function of (inputs, cotangents), and the inputs."""
        function, floats = self._restricted(inputs)

        def gradient(floats: tuple[Leaf, ...], cotangents: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
            _, pull = jax.vjp(function, *floats)
            found: tuple[Leaf, ...] = pull(cotangents)
            return found

        return gradient, floats


@contextmanager
def _sixty_four_bits() -> Iterator[None]:
    """Enables 64-bit types for the calls inside; the name of that moved between versions of JAX."""
    if hasattr(jax, "enable_x64"):
        switch = jax.enable_x64(True)
    else:
        from jax.experimental import enable_x64

        switch = enable_x64()
    with switch:
        yield


def _leaves(arrays: Sequence[Array]) -> list[Leaf]:
    return [jnp.array(array, copy=True) for array in arrays]


def _floats(arrays: Sequence[Any], like: Sequence[Leaf]) -> tuple[Leaf, ...]:  # Any: NumPy or JAX arrays
    return tuple(jnp.array(array) for array, model in zip(arrays, like, strict=True) if _is_inexact(model))


def _spread(gradients: Sequence[Leaf], like: Sequence[Leaf]) -> Gradients:
    """Gives one gradient per array: None for those that are not floating."""
    rest = iter(gradients)
    return tuple(np.array(next(rest)) if _is_inexact(model) else None for model in like)


def _is_inexact(array: Leaf) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def _varied(value: object) -> Array | None:
    return np.array(value) if isinstance(value, (np.ndarray, jax.Array)) else None


def _name(path: Any, parameters: Sequence[str]) -> str:  # Any: a tuple of JAX's keys
    place = path[0].idx
    root = parameters[place] if place < len(parameters) else f"input {place}"
    return root + str(jax.tree_util.keystr(path[1:]))
