"""TensorState: what a tensor is made of, how that is copied and pickled, and what changes in place are held to.

Changes are refused where the graph and its views would not stay true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from opsdk.autograd.accumulate import ZERO
from opsdk.autograd.hooks import Hooks
from opsdk.autograd.node import GradNode, TapePlan
from opsdk.autograd.views import base_of, check_windows, share
from opsdk.backends.call.overlap import check_changeable
from opsdk.core.current import Current
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import GraphError, InPlaceError
from opsdk.core.modes import is_grad_enabled
from opsdk.core.nested import flat

Self = TypeVar("Self", bound="TensorState")

# Who is told of each tensor before it changes in place.
BEFORE_CHANGE: Current[Callable[[Any], None] | None] = Current("changes in place", None)  # any: a tensor


def about_to_change(tensors: Iterable[TensorState]) -> None:
    """Tells whoever keeps what is changed in place."""
    told = BEFORE_CHANGE.get()
    if told is not None:
        for tensor in tensors:
            told(tensor)


class TensorState:
    """The state of a tensor, in slots, which the fast path reads and writes; what is rarely there is in `__dict__`."""

    _SLOTS = ("_array", "_edge", "_grad", "_hooks", "_stop", "_version")
    __slots__ = (*_SLOTS, "__dict__", "__weakref__", "_base")
    _array: Any  # any, in these: an array of the host or of a device; a tensor, None or ZERO
    _grad: Any
    _edge: tuple[GradNode, int] | None
    _hooks: Hooks | None
    _stop: bool
    _version: list[Any]  # the count of changes in place, then who shares the memory: `views.share`
    _base: Any  # of a view what it is a window of; unset of others

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        """Returns a leaf with values and gradient of its own; hooks stay behind.

        Raises:
            GraphError: an op made this tensor.
        """
        if self._edge is not None:
            raise GraphError("deepcopy: expected a leaf, got a tensor that an op made; use detach().clone() or clone()")
        copied = self._same()
        memo[id(self)] = copied
        copied._array = self._array.copy()
        copied._version = [0]
        if copied.__dict__.get("_is_state"):  # which Programs know by its name
            copied.__dict__.pop("_name", None)
        copied._hooks = None
        if self._grad is not None and self._grad is not ZERO:
            copied._grad = self._grad.detach().__deepcopy__(memo)
        return copied

    def __copy__(self: Self) -> Self:
        copied = self._same()
        share(self, copied)
        return copied

    def _same(self: Self) -> Self:
        copied = object.__new__(type(self))
        copied._set(self._state())
        return copied

    def _state(self, slots: Sequence[str] = _SLOTS) -> dict[str, Any]:
        own = {name: value for name, value in self.__dict__.items() if name != "_initial"}  # copies count anew
        return {**own, **{name: getattr(self, name) for name in slots}}

    def __getstate__(self) -> dict[str, Any]:
        """Returns what is pickled: a leaf with its values and gradient; hooks stay behind, as in copies.

        Raises:
            GraphError: an op made this tensor, and its graph belongs to this process.
        """
        if self._edge is not None:
            raise GraphError("pickle: expected a leaf, got a tensor that an op made; use detach(), or numpy()")
        return {**self._state(), "_hooks": None, "_version": [0]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes what was pickled, in memory of its own: buffers beside a pickle may be those of what it was made of."""
        self._set(state)
        if isinstance(self._array, np.ndarray) and self._array.base is not None:
            self._array = self._array.copy(order="K")

    def _set(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


# Any, from here on: a tensor, which stands one module above.
def check_in_place(tensor: Any, subject: str, *, is_recorded: bool = False) -> None:
    """Checks that a tensor may be changed in place now.

    Args:
        tensor: to be changed.
        subject: who asks.
        is_recorded: whether the change becomes part of the graph.

    Raises:
        InPlaceError: it is a leaf that needs a gradient, and recording is on; or as of `check_unviewed`.
    """
    if is_grad_enabled() and not tensor.stop_gradient and tensor._edge is None:
        raise InPlaceError(
            f"{subject}: expected a tensor without stop_gradient=False or recording off, got a leaf that needs a "
            "gradient; change it inside opsdk.no_grad()"
        )
    check_unviewed(tensor, subject, is_recorded=is_recorded)


def check_changes(plan: TapePlan, inputs: Sequence[Any]) -> None:
    """Checks that the tensors of a call that its op changes in place may be changed now.

    Args:
        plan: the kind of call.
        inputs: its tensors, one entry per input.

    Raises:
        InPlaceError: as of `check_in_place`; or one needs a gradient, and no output passes that on.
    """
    opdef, schema = plan.opdef, plan.opdef.schema
    for position in schema.mutated_inputs:
        name, flows = schema.inputs[position].name, position in plan.carries
        for tensor in flat(inputs[position]):
            subject = f"{opdef.subject}, input {name!r}"
            if not opdef.is_composite:  # whose parts ask for themselves
                check_in_place(tensor, subject, is_recorded=flows and is_differentiable(tensor._array.dtype))
            if tensor._stop or not is_grad_enabled() or (flows and (opdef.grad is not None or opdef.is_composite)):
                continue
            why, remedy = "the op has no backward", "on a copy"
            if opdef.grad is not None or opdef.is_composite:
                why, remedy = "no output passes its gradient on", "on its detach().clone()"
            raise InPlaceError(
                f"{subject}: expected a tensor outside of the graph, since {why}, got one that needs a gradient; call "
                f"it inside opsdk.no_grad(), or {remedy}"
            )


def check_unviewed(tensor: Any, subject: str, *, is_recorded: bool = False) -> None:
    """Checks that an array can be changed, and the graph told of it for all tensors that share its memory.

    Raises:
        InPlaceError: elements of the array share memory, or it is read-only; or as of `check_windows`.
    """
    check_changeable(tensor._array, subject)
    if is_grad_enabled() and (is_recorded or base_of(tensor)._edge is not None or tensor._edge is not None):
        check_windows(tensor, subject)
