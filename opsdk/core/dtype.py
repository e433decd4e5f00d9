"""Names of the element types, their conversion to `numpy.dtype`, and how they are promoted: `promote_types`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from opsdk.core.errors import DTypeError
from opsdk.core.lazy import optional

DTypeLike: TypeAlias = "str | type | np.dtype[np.generic]"

_WORDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NATIVE = tuple(map(np.dtype, (*_WORDS, "float16", "float32", "float64", "complex64", "complex128")))
bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64 = NATIVE[:9]
float16, float32, float64, complex64, complex128 = NATIVE[9:]
DEFAULT = float32  # of numbers with a fraction that have no dtype of their own, and of what integers give
NAMES = (*(dtype.name for dtype in NATIVE), "bfloat16")

_BY_NAME: dict[str, np.dtype[np.generic]] = {dtype.name: dtype for dtype in NATIVE}
_ALIASES = {"float": "float64", "double": "float64", "half": "float16", "int": "int64", "long": "int64"}
_PYTHON = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}


def bfloat16() -> np.dtype[np.generic]:
    """Returns the bfloat16 dtype; ml_dtypes is imported on first use, since most programs never ask."""
    if "bfloat16" not in _BY_NAME:
        ml_dtypes = optional("ml_dtypes", extra="test", subject="dtype bfloat16")
        _BY_NAME["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
    return _BY_NAME["bfloat16"]


_OWN = {dtype: dtype for dtype in NATIVE}  # asked first, since the specs of arrays are made in calls


def as_dtype(value: DTypeLike, subject: str = "dtype") -> np.dtype[np.generic]:
    """Returns the `numpy.dtype` that a name, a NumPy type or a Python type stands for.

    Python's own `float` and `complex` mean float64 and complex128, as in NumPy, PyTorch and Paddle, and "float" too;
    numbers that are given without a dtype are float32 all the same.

    Raises:
        DTypeError: the value names no supported element type.
    """
    if isinstance(value, np.dtype) and value in _OWN:
        return _OWN[value]
    if isinstance(value, str):
        name = _ALIASES.get(value, value)
        if name == "bfloat16":
            return bfloat16()
        if name in _BY_NAME:
            return _BY_NAME[name]
    elif isinstance(value, type) and value in _PYTHON:
        return _BY_NAME[_PYTHON[value]]
    elif value is not None:
        try:
            dtype = np.dtype(value)
        except TypeError:
            dtype = None  # not a NumPy type: reported below with the alternatives
        if dtype is not None and dtype.name in NAMES:
            return dtype if dtype.isnative else dtype.newbyteorder("=")
    raise DTypeError(f"{subject}: expected one of {', '.join(NAMES)}, got {value!r}", details={"got": value})


def as_native(array: np.ndarray) -> np.ndarray:
    """Returns an array in the byte order of this machine, the only one that tensors and Variables have."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def is_differentiable(dtype: np.dtype[np.generic]) -> bool:
    """Whether values of this dtype can carry a gradient (floating or complex)."""
    return dtype.kind in "fc" or dtype.name == "bfloat16"


# What a schema may say of a tensor's elements, in the words that it has for attributes; of each how a message names it,
# and the dtype that a number without one of its own takes there, which is also the remedy.
KINDS: dict[str, tuple[str, np.dtype[Any]]] = {
    "int": ("integers", int64),
    "float": ("floats", float32),
    "bool": ("bools", bool_),
    "complex": ("complex numbers", complex64),
}


def word_of(dtype: np.dtype[Any]) -> str:
    """Returns the word of `KINDS` for a dtype; "" for a dtype that tensors do not have."""
    found = {"i": "int", "u": "int", "f": "float", "b": "bool", "c": "complex"}.get(dtype.kind, "")
    return "float" if dtype.name == "bfloat16" else found


def computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype that numbers of a dtype are computed with: float32 for those that are stored in 16 bits."""
    return float32 if dtype.itemsize == 2 and dtype.kind in "fV" else dtype  # bfloat16 is of kind V to NumPy


@lru_cache(maxsize=4096)
def promote_types(*dtypes: DTypeLike) -> np.dtype[Any]:
    """Returns the dtype that values of several dtypes have together, whatever their ranks and values are.

    Bools give way to integers, these to floats, and floats to complex numbers: of the highest of these kinds the dtype
    is, so int64 beside float16 is float16, as in PyTorch. Within a kind it is the array API's: the least that holds the
    numbers of all, float32 for float16 and bfloat16. Complex numbers have the precision of the widest part, 32 bits at
    least. The array API leaves uint64 beside signed integers open: they are float64, as in NumPy.

    Args:
        dtypes: one or several, as `as_dtype` takes them.

    Raises:
        DTypeError: one is no supported element type.

    Example:
        >>> promote_types("int64", "float32"), promote_types("uint8", "int8")
        (dtype('float32'), dtype('int16'))
    """
    given = [as_dtype(dtype) for dtype in dtypes]
    floating = list({dtype for dtype in given if is_differentiable(dtype)})
    if len(floating) == 1:
        return floating[0]
    if not floating:
        return np.result_type(*given)
    is_double = any(dtype in (float64, complex128) for dtype in floating)
    if any(dtype.kind == "c" for dtype in floating):
        return complex128 if is_double else complex64
    return float64 if is_double else float32


def as_floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of what a quotient, a mean or an elementary function gives: of whole numbers the default."""
    return DEFAULT if dtype.kind in "biu" else dtype
