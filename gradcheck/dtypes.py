"""Questions about dtypes: which are floating, how fine they are, and bitwise equality of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]  # any dtype: the subject chooses it
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

FLOAT64_EPS = 2.0**-52
# Unit roundoff doubled, for the extension dtypes (ml_dtypes) that np.finfo does not know.
_EXTENSION_EPS = {
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e4m3": 2.0**-3,
    "float8_e5m2": 2.0**-2,
}


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Says whether `dtype` is a real floating dtype, including bfloat16 and the float8 family."""
    return np.issubdtype(dtype, np.floating) or dtype.name in _EXTENSION_EPS


def is_discrete(dtype: np.dtype[Any]) -> bool:
    """Says whether `dtype` is an integer or bool dtype, which has no derivative."""
    return dtype.kind in "iub"


def resolution(dtype: np.dtype[Any]) -> float:
    """Gives the spacing of floats after 1 in `dtype`, never finer than float64's."""
    if dtype.name in _EXTENSION_EPS:
        return _EXTENSION_EPS[dtype.name]
    return max(float(np.finfo(dtype).eps), FLOAT64_EPS)


def same_bits(first: Array, second: Array) -> bool:
    """Says whether two arrays agree in shape, dtype and every byte: NaN equals itself, and 0.0 differs from -0.0."""
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    return first.tobytes() == second.tobytes()


def as_float64(array: Array) -> FloatArray:
    """Copies `array` into a C-contiguous float64 array of the same shape."""
    return np.array(array, dtype=np.float64, order="C")
