"""Backward hooks of a layer: functions that see, and may replace, the gradients that leave and enter it.

A call of a layer that has some goes through two gates, identities around its forward, where all of its inputs, or
outputs, have their gradients at once; a hook on a tensor alone would see those of other uses of it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.autograd.py_layer import PyLayer, PyLayerContext
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import HookError
from opsdk.core.modes import is_grad_enabled

# Any, in this file: layers, and what they take and return.
Grads = tuple[Any, ...]  # a gradient, or None, for each value


class _Gate(PyLayer):
    """The identity, whose backward calls a function with all gradients at once."""

    @staticmethod
    def forward(ctx: PyLayerContext, passed: Callable[[Grads], Grads], *tensors: Tensor) -> Grads:
        """Returns the values, each in memory of its own."""
        ctx.passed = passed  # type: ignore[attr-defined]
        ctx.set_materialize_grads(False)
        ctx.mark_not_inplace(*tensors)
        return tensors

    @staticmethod
    def backward(ctx: PyLayerContext, *grads: Any) -> Grads:
        """Returns what the function makes of the gradients."""
        return (None, *ctx.passed(grads))  # type: ignore[attr-defined]


class Gates:
    """The two gates of one call.

    Args:
        layer: that is called.
        before: hooks that see the gradients of its outputs, as they come.
        after: hooks that see the gradients of its inputs, as they go on, and those of the outputs.
    """

    def __init__(self, layer: Any, before: Sequence[Callable[..., Any]], after: Sequence[Callable[..., Any]]) -> None:
        self._layer, self._before, self._after = layer, before, after
        self._entering: Grads = ()
        self._is_open = False  # whether gradients leave by the inputs
        self._places: list[int] = []
        self._count = 0

    def enter(self, inputs: Grads) -> Grads:
        """Returns the inputs, behind the gate that their gradients leave by."""
        self._places = [i for i, value in enumerate(inputs) if isinstance(value, Tensor)]
        self._count = len(inputs)
        tensors = [inputs[i] for i in self._places]
        self._is_open = is_grad_enabled() and any(not tensor.stop_gradient for tensor in tensors)
        if not (self._is_open and self._after):
            return inputs
        passed = dict(zip(self._places, _Gate.apply(self._leaving, *tensors), strict=True))
        return tuple(passed.get(i, value) for i, value in enumerate(inputs))

    def leave(self, output: Any) -> Any:
        """Returns the output, a tensor or a tuple, list or dictionary with some, before the gate of its gradients."""
        named = (
            output.items() if isinstance(output, dict) else enumerate(output) if _is_listed(output) else [(0, output)]
        )
        tensors = {key: value for key, value in named if isinstance(value, Tensor)}
        if not is_grad_enabled() or all(tensor.stop_gradient for tensor in tensors.values()):
            return output
        passed = dict(zip(tensors, _Gate.apply(self._entered, *tensors.values()), strict=True))
        if isinstance(output, dict):
            return {key: passed.get(key, value) for key, value in output.items()}
        return type(output)(passed.get(i, v) for i, v in enumerate(output)) if _is_listed(output) else passed[0]

    def _entered(self, grads: Grads) -> Grads:
        for hook in self._before:
            grads = self._replaced(grads, hook(self._layer, grads), "full backward pre hook")
        self._entering = grads
        if not self._is_open:
            for hook in self._after:
                self._replaced((None,) * self._count, hook(self._layer, (None,) * self._count, grads), "backward hook")
        return grads

    def _leaving(self, grads: Grads) -> Grads:
        held: list[Any] = [None] * self._count
        for place, grad in zip(self._places, grads, strict=True):
            held[place] = grad
        shown = tuple(held)
        for hook in self._after:
            shown = self._replaced(shown, hook(self._layer, shown, self._entering), "backward hook")
        return tuple(shown[place] for place in self._places)

    def _replaced(self, grads: Grads, returned: Any, kind: str) -> Grads:
        """Returns what a hook gave in place of gradients, once it is as they are."""
        if returned is None:
            return grads
        given = tuple(returned) if _is_listed(returned) else (returned,)

        def fits(new: Any, old: Any) -> bool:
            if old is None or new is None:
                return new is None
            return isinstance(new, Tensor) and (new.shape, new.dtype) == (old.shape, old.dtype)

        if len(given) != len(grads) or not all(map(fits, given, grads)):
            raise HookError(
                f"{kind} of {type(self._layer).__name__}: expected None or gradients {_shown(grads)}, got "
                f"{_shown(given)}"
            )
        return given


def _is_listed(value: Any) -> bool:
    return type(value) in (tuple, list)


def _shown(values: Grads) -> str:
    entries = [
        f"{value.dtype}{tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__ for value in values
    ]
    return f"({', '.join(entries)})"
