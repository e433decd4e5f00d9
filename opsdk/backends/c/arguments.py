"""Arguments of C functions: arrays as DLTensors that are filled again at every call, attributes as C values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.c.signature import dlpack_type
from opsdk.backends.memory.layout import C_ALIGNED
from opsdk.core.errors import AttributeValueError
from opsdk.define.schema.schema import TYPE, AttrDecl

# Any, in this file: cffi's interfaces, types and values, which have no types in Python; attribute values.


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


def attribute_converter(ffi: Any, decl: AttrDecl) -> Callable[[Any, list[Any]], tuple[Any, ...]] | None:
    """Returns the function from an attribute's value to its C arguments; None where the value itself is the argument.

    Memory that the arguments point to and do not own is added to the list that the function is given; whoever calls
    keeps that and the arguments until the C function has returned.
    """
    match = TYPE.fullmatch(decl.type)
    assert match is not None, decl.type
    scalar, is_list, is_optional = match.groups()
    kind = f"{_ITEMS[scalar]}[]"

    def many(values: Any, keep: list[Any]) -> tuple[Any, ...]:
        if values is None:
            return ffi.NULL, 0
        items = [part for value in values for part in _parts(ffi, scalar, value)]
        keep.append(items)  # texts, which an array of pointers does not own
        return ffi.new(kind, items or 1), len(values)

    def one(value: Any, keep: list[Any]) -> tuple[Any, ...]:
        return (ffi.NULL if value is None else ffi.new(kind, _parts(ffi, scalar, value)),)

    def text(value: Any, keep: list[Any]) -> tuple[Any, ...]:
        return (ffi.NULL if value is None else _parts(ffi, "str", value)[0],)

    def struct(value: Any, keep: list[Any]) -> tuple[Any, ...]:
        return (ffi.new("DLDataType *", dlpack_type(value))[0],)

    if is_list:
        return many
    if scalar == "str":
        return text
    if is_optional or scalar == "complex":
        return one
    return struct if scalar == "dtype" else None


_ITEMS = {
    "float": "double",
    "int": "int64_t",
    "bool": "int32_t",
    "complex": "double",
    "dtype": "DLDataType",
    "str": "char *",
}


def _parts(ffi: Any, scalar: str, value: Any) -> list[Any]:
    if scalar == "complex":
        return [value.real, value.imag]
    if scalar == "str":
        if "\0" in value:
            raise AttributeValueError(
                f"c row: expected a text without the character NUL, at which C ends it, got {value!r}; cut it yourself"
            )
        try:
            return [ffi.new("char[]", value.encode())]
        except UnicodeEncodeError as error:
            raise AttributeValueError(
                f"c row: expected a text of characters that UTF-8 has, got {value!r}, with half of a pair; "
                "value.encode(errors='replace').decode() takes such out"
            ) from error
    return [dlpack_type(value)] if scalar == "dtype" else [value]
