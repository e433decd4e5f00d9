"""DtypeMethods: what tensors and Program variables are asked about their dtype, and become in another one."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from opsdk.core.dtype import DTypeLike, as_dtype, is_differentiable
from opsdk.ops import functions


def _in_dtype(dtype: str) -> Callable[[Any], Any]:
    def converted(self: Any) -> Any:
        return functions.cast(self, dtype)

    converted.__doc__ = f"Returns the value in {dtype}. Differentiable between floats."
    return converted


# Any, in this file: `self` and the results are tensors or Program variables.
class DtypeMethods:
    """Another dtype under its name, and what kind of number a dtype has."""

    __slots__ = ()

    double = _in_dtype("float64")
    float = _in_dtype("float32")
    half = _in_dtype("float16")
    bfloat16 = _in_dtype("bfloat16")
    long = _in_dtype("int64")
    int = _in_dtype("int32")
    bool = _in_dtype("bool")
    short = _in_dtype("int16")
    char = _in_dtype("int8")
    byte = _in_dtype("uint8")
    cfloat = _in_dtype("complex64")
    cdouble = _in_dtype("complex128")

    def type_as(self: Any, other: Any) -> Any:
        """Returns the value in the dtype of another. Differentiable between floats."""
        return self._in_dtype(other.dtype)

    def _in_dtype(self: Any, dtype: DTypeLike) -> Any:
        return self if as_dtype(dtype) == self.dtype else functions.cast(self, dtype)

    def dim(self: Any) -> builtins.int:
        """Returns the number of dimensions."""
        made: builtins.int = self.ndim
        return made

    ndimension = dim

    def element_size(self: Any) -> builtins.int:
        """Returns the number of bytes of an element."""
        return builtins.int(self.dtype.itemsize)

    def is_complex(self: Any) -> builtins.bool:
        """Returns whether the elements are complex numbers."""
        return builtins.bool(self.dtype.kind == "c")

    def is_integer(self: Any) -> builtins.bool:
        """Returns whether the elements are whole numbers."""
        return self.dtype.kind in "iu"

    def is_signed(self: Any) -> builtins.bool:
        """Returns whether the dtype has numbers below 0."""
        return self.dtype.kind not in "bu"

    def is_floating_point(self: Any) -> builtins.bool:
        """Returns whether the elements are floats."""
        return is_differentiable(self.dtype) and self.dtype.kind != "c"
