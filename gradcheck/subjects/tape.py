"""Subjects on a framework that records a tape as it runs: PyTorch and Paddle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array, same_bits
from gradcheck.model.protocol import copy_inputs
from gradcheck.subjects.case import Arguments, Case, as_tensors, first_failure

Tensor = Any  # of the framework, which is not imported here
Gradients = tuple[Array | None, ...]


class Recorder:
    """What the backward of one call returned, before the framework sums, casts or drops anything.

    Args:
        function: the function to call in place of the user's; it does the same and fills `returned`.
        returned: one entry per call of backward.
        places: where in an entry the gradients of the arrays stand.
    """

    def __init__(self, function: Callable[..., object], returned: list[object], places: Sequence[int]) -> None:
        self.function = function
        self.returned = returned
        self.places = tuple(places)

    @classmethod
    def of(cls, function: Any, name: str, places: Sequence[int]) -> Recorder:  # Any: a class whose base has no types
        """Makes a subclass of a framework's function whose backward, called `name` there, keeps what it returns."""
        returned: list[object] = []
        original = getattr(function, name)

        def recorded(ctx: object, *cotangents: object) -> object:
            result = original(ctx, *cotangents)
            returned.append(result)
            return result

        body = {name: staticmethod(recorded), "__module__": function.__module__}
        return cls(type(function)(function.__name__, (function,), body).apply, returned, places)

    def take(self) -> list[Tensor] | None:
        """Gives what was returned since the last call, one entry per array; None where that cannot be told."""
        entries = list(self.returned)
        self.returned.clear()
        if len(entries) != 1:
            return None
        raw = entries[0] if isinstance(entries[0], (tuple, list)) else (entries[0],)
        return [raw[place] for place in self.places] if max(self.places) < len(raw) else None


def read_function(fn: object, base: type, kinds: str) -> Callable[..., object]:
    """Gives what is called in place of `fn`: the `apply` of a subclass of `base`, or the callable itself.

    Raises:
        UsageError: fn is neither; the message lists `kinds`.
    """
    if is_subclass(fn, base):
        applied: Callable[..., object] = fn.apply  # type: ignore[attr-defined]
        return applied
    if isinstance(fn, type) or not callable(fn):
        kind = f"the class {fn.__name__}" if isinstance(fn, type) else type(fn).__name__
        raise UsageError(f"fn: expected {kinds}, got {kind}; pass the function itself")
    return fn


def is_subclass(fn: object, base: type) -> bool:
    """Says whether a subject is a class derived from the framework's class of functions."""
    return isinstance(fn, type) and issubclass(fn, base)


class Tape(ABC):
    """A function of tensors, seen through arrays.

    Args:
        fn: takes and gives tensors.
        arguments: what it is called with; of tensors that stay constant copies, so that nothing changes the caller's.
        recorder: None where what the framework makes of the gradients is judged.
    """

    kind: ClassVar[Any]  # the framework's class of tensors

    def __init__(self, fn: Callable[..., object], arguments: Arguments, recorder: Recorder | None) -> None:
        self.fn = fn
        constants = [value.detach().clone() if isinstance(value, self.kind) else value for value in arguments.constants]
        self.arguments = replace(arguments, constants=tuple(constants))
        self.recorder = recorder
        self._last: tuple[object, ...] = ()

    @abstractmethod
    def leaf(self, array: Array, k: int) -> Tensor:
        """Gives a tensor for the array of argument `k`, which wants a gradient if it can have one."""

    @abstractmethod
    def constant(self, array: Array, like: Tensor) -> Tensor:
        """Gives a tensor without gradient, where `like` is."""

    @abstractmethod
    def to_array(self, tensor: Tensor) -> Array:
        """Gives an array of the tensor's values, which shares its memory where that is possible."""

    @abstractmethod
    def output(self, tensor: Tensor, leaves: Sequence[Tensor]) -> Array:
        """Gives an output as an array, on the memory of an input only where the framework does not know of that."""

    @abstractmethod
    def follows(self, tensor: Tensor) -> bool:
        """Says whether gradients flow through the tensor."""

    @abstractmethod
    def wanting(self, tensor: Tensor) -> Tensor:
        """Makes a tensor without history want a gradient."""

    @abstractmethod
    def grad(
        self, outputs: list[Tensor], leaves: list[Tensor], cotangents: list[Tensor], create_graph: bool
    ) -> Sequence[Tensor | None]:
        """Gives the framework's gradients of the leaves, None where there is none."""

    def forward(self, *arrays: Array) -> tuple[Array, ...]:
        """Runs the function on arrays."""
        self._last = copy_inputs(arrays)
        made, leaves = self._run(self.fn, arrays)
        return tuple(self.output(tensor, leaves) for tensor in made)

    def vjp(self, inputs: Sequence[Array], outputs: Sequence[Array], cotangents: Sequence[Array | None]) -> Gradients:
        """Runs the function again, on a tape of its own, and goes back over it."""
        made, leaves = self._run(self.recorder.function if self.recorder else self.fn, inputs)
        self._repeat_last(inputs)
        before = [np.array(self.to_array(tensor)) for tensor in made]
        tensors = [None if c is None else self.constant(c, t) for c, t in zip(cotangents, made, strict=True)]
        gradients = self._go_back(made, leaves, tensors)
        self._write_back(leaves, inputs)
        self._write_back(tensors, cotangents)
        for old, tensor, output in zip(before, made, outputs, strict=True):
            if not same_bits(old, self.to_array(tensor)):  # backward changed what its caller holds as the result
                self._write_back([tensor], [output])
        return gradients

    def vjp2(
        self,
        inputs: Sequence[Array],
        cotangents: Sequence[Array | None],
        gradients: Sequence[Array | None],
        weights: Sequence[Array | None],
    ) -> tuple[Gradients, Gradients]:
        """Goes back over the gradients themselves, recorded as they were made."""
        made, leaves = self._run(self.fn, inputs)
        free = [
            self.wanting(self.constant(c, t)) if c is not None and self.follows(t) else None
            for c, t in zip(cotangents, made, strict=True)
        ]
        first = self._grad(made, leaves, free, create_graph=True)
        given = [None if w is None or g is None else self.constant(w, g) for w, g in zip(weights, first, strict=True)]
        second = self._grad(first, [*leaves, *free], given, create_graph=False)
        arrays = tuple(None if tensor is None else np.array(self.to_array(tensor)) for tensor in second)
        return arrays[: len(leaves)], arrays[len(leaves) :]

    # Any: whatever check takes.
    def case(self, names: Sequence[str], options: Mapping[str, Any], notes: list[str], *, second_order: bool) -> Case:
        """Gives the case, with the gradient of the gradient where it is asked for and the framework can take it."""
        options = {"names": self.arguments.names(names), "none_cotangents": True, **options}
        reason = first_failure(self._try_twice) if second_order else None
        if reason is not None:
            notes.append(f"the gradient of the gradient was not judged: {reason}")
        elif second_order:
            options["vjp2"] = self.vjp2
        return Case(self.forward, self.vjp, self.arguments.arrays, options, tuple(notes))

    def _try_twice(self) -> None:
        """Takes a gradient of the gradient at the given inputs, to see whether the framework can."""
        arrays = [np.array(array) for array in self.arguments.arrays]
        outputs = self.forward(*arrays)
        cotangents = [np.ones_like(output) for output in outputs]
        gradients = self.vjp(arrays, [np.array(output) for output in outputs], cotangents)
        self.vjp2(arrays, cotangents, gradients, [np.ones_like(array) for array in arrays])

    def _run(self, fn: Callable[..., object], arrays: Sequence[Array]) -> tuple[tuple[Tensor, ...], list[Tensor]]:
        leaves = [self.leaf(array, k) for k, array in enumerate(arrays)]
        made = as_tensors(fn(*self.arguments.fill(leaves)), self.kind, "a tensor")
        self._write_back(leaves, arrays)
        return made, leaves

    def _repeat_last(self, inputs: Sequence[Array]) -> None:
        """Runs the function where it ran last, if that was elsewhere, as its caller did before going back."""
        arrays = [value for value in self._last if isinstance(value, np.ndarray)]
        if not all(map(same_bits, arrays, inputs)):
            self._run(self.fn, [np.array(array) for array in arrays])

    def _go_back(self, made: Sequence[Tensor], leaves: list[Tensor], cotangents: Sequence[Tensor | None]) -> Gradients:
        if self.recorder:
            self.recorder.returned.clear()
        gradients = self._grad(made, leaves, cotangents, create_graph=False)
        raw = self.recorder.take() if self.recorder else None
        if raw is not None:
            gradients = [
                self.judged(g, r) if self.follows(t) else None for t, g, r in zip(leaves, gradients, raw, strict=True)
            ]
        return tuple(None if tensor is None else np.array(self.to_array(tensor)) for tensor in gradients)

    def judged(self, gradient: Tensor | None, raw: Tensor | None) -> Tensor | None:
        """Gives that of an input's two gradients which is judged: the framework's, or what backward returned."""
        return raw

    def _grad(
        self,
        made: Sequence[Tensor | None],
        leaves: Sequence[Tensor | None],
        cotangents: Sequence[Tensor | None],
        create_graph: bool,
    ) -> list[Tensor | None]:
        pairs = [
            (t, c) for t, c in zip(made, cotangents, strict=True) if t is not None and c is not None and self.follows(t)
        ]
        wanted = [k for k, leaf in enumerate(leaves) if leaf is not None and self.follows(leaf)]
        found: list[Tensor | None] = [None] * len(leaves)
        if pairs and wanted:
            outputs, given = map(list, zip(*pairs, strict=True))
            made_of = self.grad(outputs, [leaves[k] for k in wanted], given, create_graph)
            for k, gradient in zip(wanted, made_of, strict=True):
                found[k] = gradient
        return found

    def _write_back(self, tensors: Sequence[Tensor | None], arrays: Sequence[Array | None]) -> None:
        """Brings a change of a tensor into the array that it stands for, where the two do not share memory."""
        for tensor, array in zip(tensors, arrays, strict=True):
            if tensor is not None and array is not None and array.flags.writeable:
                values = self.to_array(tensor)
                if not same_bits(values, array) and values.shape == array.shape:
                    array[...] = values
