"""PyLayer: a differentiable operation as a class, with a forward and a backward of tensors, and what it keeps between.

An op is the better form of what is used often: it is compiled, checked and runs in Programs. A PyLayer serves once, in
the code around it, and takes any arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import chain
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from opsdk.autograd.layer_node import ONCE, LayerNode, Place
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.tensor_state import check_unviewed
from opsdk.autograd.views import follow
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import GradientMissingError, InPlaceError, PyLayerError
from opsdk.core.fit import as_bool
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.origin import trimming
from opsdk.define.frontend import owner_of
from opsdk.define.interceptors import call

F = TypeVar("F", bound=Callable[..., Any])
_PLAIN = (Tensor, np.ndarray, int, float, complex, str, bytes, list, tuple, dict, type(None))


# Any, in this file: the arguments of a user's forward, tensors among them, and what it returns.
class PyLayerContext:
    """What a forward leaves to its backward. It takes attributes of any name; tensors belong in `save_for_backward`.

    Attributes:
        needs_input_grad: per argument whether it is a tensor that needs a gradient, or a list with one.
    """

    def __init__(self, needs: Sequence[bool]) -> None:
        self.needs_input_grad = tuple(needs)
        self._saved: tuple[Any, ...] = ()
        self._counts: list[int] = []
        self._constant: set[int] = set()
        self._apart: set[int] = set()
        self._materialize = True
        self._node: Callable[[], LayerNode | None] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors, and other values, for the backward; a later call replaces what an earlier one kept.

        A tensor that is changed in place after this is an error in the backward.
        """
        self._saved = tensors
        self._counts = [value._version[0] if isinstance(value, Tensor) else 0 for value in tensors]

    def saved_tensor(self) -> tuple[Any, ...]:
        """Returns what was kept, in its order.

        Raises:
            VersionError: a tensor was changed in place since.
            GraphError: an earlier backward freed it.
        """
        node = None if self._node is None else self._node()
        return self._saved if node is None else node.read()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """`saved_tensor()`, in PyTorch's words."""
        return self.saved_tensor()

    def mark_not_inplace(self, *tensors: Tensor) -> None:
        """Says of inputs that the forward returns that they were not changed: results of their own stand for them."""
        self._apart.update(map(id, tensors))

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Does nothing: an input that the forward returns counts as changed in place; PyTorch wants it said."""

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says of outputs that no gradient goes through them; theirs are zeros in the backward."""
        self._constant.update(map(id, tensors))

    def set_materialize_grads(self, value: bool) -> None:
        """Says whether the gradient of an output that nobody used is zeros, as it is at first, or None."""
        self._materialize = as_bool(value, "set_materialize_grads: value")

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """Does nothing: a gradient that the backward gets has the dtype of its output, always."""
        as_bool(flag, "set_grad_in_dtype_consistent: flag")


class PyLayer:
    """A differentiable operation: static methods `forward(ctx, ...)` and `backward(ctx, *gradients)`, used by `apply`.

    Both run with recording off; the backward is recorded where its gradients are to be differentiated again
    (`create_graph`), so that one made of ops has derivatives of every order. `forward` takes any arguments and returns
    a tensor, or a list or tuple of tensors and other values. `backward` takes a gradient for each tensor that it
    returned, and returns one, or None, for each tensor argument; for a list of tensors a list. As in PyTorch it may
    return one for every argument, with None for those that are no tensors.

    Example:
        >>> from opsdk.autograd.creation import to_tensor
        >>> class Square(PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, dy):
        ...         (x,) = ctx.saved_tensor()
        ...         return dy * x * 2.0
        >>> x = to_tensor([3.0], stop_gradient=False)
        >>> Square.apply(x).backward()
        >>> x.grad.numpy()
        array([6.], dtype=float32)
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        """Computes; to be overridden. With `setup_context(ctx, inputs, output)` beside it, it takes no `ctx`."""
        raise PyLayerError("PyLayer: expected a static method forward(ctx, ...) that returns tensors, got none")

    @staticmethod
    def backward(ctx: PyLayerContext, *grads: Any) -> Any:
        """Returns the gradients of the tensors that forward took; to be overridden."""
        raise GradientMissingError(
            "PyLayer: expected a static method backward(ctx, ...) that returns a gradient for each tensor, got none"
        )

    @classmethod
    @trimming
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs the forward and, where an argument needs a gradient, records it.

        Raises:
            PyLayerError: the forward returns no tensor, or a dict, or an argument is of a Program or holds tensors that
                need gradients where these cannot be given back: in a dict, or in a list inside of a list.
            InPlaceError: the forward returns an argument, and by that says that it was changed in place, which is a
                leaf that needs a gradient.
        """
        count, names = len(args), [*kwargs]

        def applied(*given: Any) -> Any:
            return _Call(cls, given[:count], dict(zip(names, given[count:], strict=True))).run()

        return call(applied, (*args, *kwargs.values()))


class Moved(PyLayer):
    """A tensor at another place, as a recorded call, of which the gradient goes back to where the tensor was."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, copied: Callable[[Tensor], Tensor]) -> Tensor:
        """Copies there."""
        ctx.place = x.place
        return copied(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Copies back."""
        return grads[0].to(ctx.place)


class _Call:
    """One call of a PyLayer."""

    def __init__(self, layer: type[PyLayer], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.layer, self.args, self.kwargs = layer, args, kwargs
        self.subject = f"PyLayer {layer.__name__!r}"
        self.values = [*args, *kwargs.values()]
        self.inputs = [self._tensors(value, i) for i, value in enumerate(self.values)]

    def _tensors(self, value: Any, i: int) -> list[Any]:
        """Returns the tensors of an argument, with None for what else stands in a list."""
        if isinstance(value, Tensor):
            return [value]
        is_listed = isinstance(value, (list, tuple))
        if not is_listed and not isinstance(value, _PLAIN) and (owner := owner_of(value)) is not None:
            raise PyLayerError(
                f"{self.subject}: argument {i} expected a tensor, got one of the {owner}; a PyLayer runs at once, what "
                "Programs run too is an op: @opsdk.op with its backward"
            )
        listed = [item if isinstance(item, Tensor) else None for item in value] if is_listed else []
        rest = [item for item in value if not isinstance(item, Tensor)] if is_listed else [value]
        if any(not tensor.stop_gradient for item in rest for tensor in _inside(item)):
            raise PyLayerError(
                f"{self.subject}: argument {i} expected a tensor or a list of tensors where a gradient is needed, got "
                f"tensors inside of {type(value).__name__}, which get none; pass them one by one or in one list"
            )
        return listed

    def run(self) -> Any:
        needs = [any(tensor is not None and not tensor.stop_gradient for tensor in entry) for entry in self.inputs]
        context = PyLayerContext(needs)
        with GradMode(False):
            if hasattr(self.layer, "setup_context"):
                made = self.layer.forward(*self.args, **self.kwargs)
                self.layer.setup_context(context, tuple(self.values), made)
            else:
                made = self.layer.forward(context, *self.args, **self.kwargs)
        outputs = [*_outputs(made)]
        if not outputs or isinstance(made, dict):
            raise PyLayerError(
                f"{self.subject}, forward: expected at least one tensor, alone or in a list or tuple, got "
                f"{type(made).__name__}"
            )
        given = {id(tensor): tensor for tensor in chain.from_iterable(self.inputs) if tensor is not None}
        if not (is_grad_enabled() and any(needs)):
            return _filled(made, iter([self._apart(out, context, given) for out in outputs]))
        return self._record(context, made, outputs, given)

    def _apart(self, out: Tensor, context: PyLayerContext, given: Mapping[int, Tensor]) -> Tensor:
        return out._beside(out._array.copy()) if id(out) in given and id(out) in context._apart else out

    def _record(self, context: PyLayerContext, made: Any, outputs: list[Tensor], given: Mapping[int, Tensor]) -> Any:
        places = [_place(value, given, outputs) for value in context._saved]
        edges = [_edge(tensor) for tensor in chain.from_iterable(self.inputs)]
        results = self._results(context, outputs, given)
        listed = {i for i, value in enumerate(self.values) if isinstance(value, (list, tuple))}
        node = LayerNode(self.layer, context, edges, self.inputs, listed, results)
        for i, (out, result) in enumerate(zip(outputs, results, strict=True)):
            if id(out) in context._constant or not is_differentiable(result._array.dtype):
                result._stop = True
            else:
                result._stop, result._edge = False, (node, i)
        for result in results:
            if id(result) in given:
                follow(result)
        node.save(context._saved, context._counts, places)
        context._saved, context._node = (), ref(node)
        return _filled(made, iter(results))

    def _results(self, context: PyLayerContext, outputs: list[Tensor], given: Mapping[int, Tensor]) -> list[Tensor]:
        """Returns what stands for the outputs: themselves, or copies of those that are something else already."""
        results: list[Tensor] = []
        for out in outputs:
            is_new = out._edge is None and out._stop and len(out._version) == 1
            if id(out) in given and id(out) not in (context._apart | context._constant):
                if not out.stop_gradient and out._edge is None:
                    raise InPlaceError(
                        f"{self.subject}, forward: expected outputs of its own, got an argument, which counts as "
                        "changed in place and is a leaf that needs a gradient; call ctx.mark_not_inplace(x), or "
                        "return x.clone()"
                    )
                check_unviewed(out, f"{self.subject}, forward", is_recorded=True)
                is_new = True
            elif id(out) in given:
                is_new = False
            is_twice = any(out is result for result in results)
            results.append(out if is_new and not is_twice else out._beside(out._array.copy()))
        return results


def once_differentiable(backward: F) -> F:
    """Declares that a backward of a PyLayer has no derivative, as one in NumPy: to ask for it is an error by name."""

    @wraps(backward)
    def run(*args: Any) -> Any:
        return backward(*args)

    setattr(run, ONCE, True)
    return run  # type: ignore[return-value]


def _edge(tensor: Tensor | None) -> Any:
    return None if tensor is None or tensor._stop else tensor._edge or (tensor, -1)


def _place(value: Any, given: Mapping[int, Tensor], outputs: Sequence[Tensor]) -> Place:
    """Returns where a value that is saved stands in the graph, so that derivatives flow on through it."""
    if not isinstance(value, Tensor):
        return None
    if id(value) in given or not value._stop:
        return (value, -1) if value._stop else value._edge or (value, -1)
    return next((i for i, out in enumerate(outputs) if out is value), None)


def _outputs(made: Any) -> Iterator[Tensor]:
    if isinstance(made, Tensor):
        yield made
    elif isinstance(made, (list, tuple)):
        for item in made:
            yield from _outputs(item)


def _filled(made: Any, results: Iterator[Tensor]) -> Any:
    """Returns what a forward gave, with results in place of its tensors."""
    if isinstance(made, Tensor):
        return next(results)
    if not isinstance(made, (list, tuple)):
        return made
    items = [_filled(item, results) for item in made]
    return type(made)(*items) if hasattr(made, "_fields") else type(made)(items)


def _inside(value: Any) -> Iterator[Tensor]:
    """Yields the tensors in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _inside(item)
