"""Slots: the DLTensors that stand for the tensors of a C call, filled anew from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.backends.c.signature import dlpack_type
from opsdk.backends.memory.layout import C_ALIGNED
from opsdk.define.schema.schema import TensorDecl


# Any, in this file: cffi's interfaces, types and values, which have no types in Python.
class TensorSlot:
    """One DLTensor, and what it was last filled with; the shape is written anew only where it differs."""

    __slots__ = ("_ffi", "_shape", "_strides", "arguments", "dtype", "shape", "strides", "struct")

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self.struct = ffi.new("DLTensor *")
        self.struct.device.device_type = 1
        self.arguments = (self.struct,)
        self.shape: tuple[int, ...] | None = None
        self.strides: tuple[int, ...] | None = None
        self.dtype: np.dtype[Any] | None = None

    def fill(self, array: np.ndarray) -> bool:
        """Points the struct to an array; returns whether its shape or dtype is another one than before."""
        differs = array.shape != self.shape or array.dtype is not self.dtype
        if differs or array.strides != self.strides:
            self._describe(array)
        if array.flags.num & C_ALIGNED == C_ALIGNED:
            self.struct.data = self._ffi.from_buffer(array)
        else:
            self.struct.data = self._ffi.cast("void *", array.__array_interface__["data"][0])
        return differs

    def _describe(self, array: np.ndarray) -> None:
        struct, ndim, item = self.struct, array.ndim, array.itemsize
        if struct.ndim != ndim or self.shape is None:
            self._shape = self._ffi.new("int64_t[]", max(ndim, 1))
            self._strides = self._ffi.new("int64_t[]", max(ndim, 1))
            struct.ndim, struct.shape, struct.strides = ndim, self._shape, self._strides
        for axis in range(ndim):
            self._shape[axis] = array.shape[axis]
            self._strides[axis] = array.strides[axis] // item
        struct.dtype.code, struct.dtype.bits, struct.dtype.lanes = dlpack_type(array.dtype)
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype


class ListSlot:
    """The DLTensors of a list of arrays."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self._slots: list[TensorSlot] = []
        self.arguments: tuple[Any, ...] = (ffi.new("DLTensor *[]", 1), 0)

    def fill(self, arrays: Sequence[np.ndarray]) -> bool:
        """Points to arrays; returns whether their number, a shape or a dtype is another one than before."""
        differs = len(arrays) != len(self._slots)
        if differs:
            self._slots = [TensorSlot(self._ffi) for _ in arrays]
            pointers = self._ffi.new("DLTensor *[]", [slot.struct for slot in self._slots] or 1)
            self.arguments = (pointers, len(arrays))
        for slot, array in zip(self._slots, arrays, strict=True):
            differs = slot.fill(array) or differs
        return differs


class HoleSlot:
    """The DLTensors of a list of arrays with holes, where the pointer is NULL."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi
        self._slots: list[TensorSlot | None] = []
        self.arguments: tuple[Any, ...] = (ffi.new("DLTensor *[]", 1), 0)

    def fill(self, arrays: Sequence[np.ndarray | None]) -> bool:
        """Points to arrays; returns whether their number, a hole, a shape or a dtype is another one than before."""
        differs = [array is None for array in arrays] != [slot is None for slot in self._slots]
        if differs:
            self._slots = [None if array is None else TensorSlot(self._ffi) for array in arrays]
            structs = [self._ffi.NULL if slot is None else slot.struct for slot in self._slots]
            self.arguments = (self._ffi.new("DLTensor *[]", structs or 1), len(arrays))
        for slot, array in zip(self._slots, arrays, strict=True):
            if slot is not None and array is not None:
                differs = slot.fill(array) or differs
        return differs


def slot_of(ffi: Any, decl: TensorDecl) -> Any:
    """Returns a slot for an input or an output."""
    if decl.kind == "list":
        return HoleSlot(ffi) if decl.holes else ListSlot(ffi)
    return TensorSlot(ffi)
