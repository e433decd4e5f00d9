"""TensorState: what a tensor is made of, and how that is copied and pickled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from opsdk.autograd.accumulate import ZERO
from opsdk.autograd.hooks import Hooks
from opsdk.autograd.in_place import share
from opsdk.autograd.node import GradNode
from opsdk.core.errors import GraphError

Self = TypeVar("Self", bound="TensorState")


class TensorState:
    """The state of a tensor, in slots, which the fast path reads and writes; what is rarely there is in `__dict__`."""

    _SLOTS = ("_array", "_edge", "_grad", "_hooks", "_stop", "_version")
    __slots__ = (*_SLOTS, "__dict__", "__weakref__")
    _array: Any  # any, in these: an array of the host or of a device; a tensor, None or ZERO
    _grad: Any
    _edge: tuple[GradNode, int] | None
    _hooks: Hooks | None
    _stop: bool
    _version: list[Any]  # the count of changes in place, then who shares the memory: `in_place.share`

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
        return {**self.__dict__, **{name: getattr(self, name) for name in slots}}

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
