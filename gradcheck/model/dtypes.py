"""Dtypes, bitwise equality, and arrays and gradients as float64 numbers: a complex one is two of them per element."""

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
    return issubclass(dtype.type, np.floating) or dtype.name in _EXTENSION_EPS


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Says whether `dtype` is complex."""
    return dtype.kind == "c"


def is_continuous(dtype: np.dtype[Any]) -> bool:
    """Says whether `dtype` is floating or complex: its values can have a derivative."""
    return is_floating(dtype) or is_complex(dtype)


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
    """Copies `array` into a C-contiguous float64 array of the same shape.

    A complex array gets one axis more, at the end: its real and its imaginary part.
    """
    if array.dtype.kind != "c":
        return np.array(array, dtype=np.float64, order="C")
    wide = widened(array)
    return wide.reshape(*wide.shape, 1).view(np.float64)


def from_float64(values: FloatArray, like: Array) -> Array:
    """Gives an array of the shape and dtype of `like` from as many numbers as `as_float64(like)` has."""
    if like.dtype.kind != "c":
        return np.array(values.reshape(like.shape), dtype=like.dtype)
    parts = np.array(values, dtype=np.float64, order="C").reshape(-1, 2)
    return parts.view(np.complex128).reshape(like.shape).astype(like.dtype)


def widened(array: Array) -> Array:
    """Copies `array` into a C-contiguous one of float64, or of complex128 if it is complex."""
    return np.array(array, dtype=np.complex128 if is_complex(array.dtype) else np.float64, order="C")


def name_number(index: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[tuple[int, ...], str]:
    """Splits an index into `as_float64(array)` into the element's and what to add to it in words: the part, if any."""
    if not is_complex(dtype):
        return index, ""
    return index[:-1], (", real part", ", imaginary part")[index[-1]]


def number_count(array: Array) -> int:
    """Gives how many real numbers the elements of `array` are."""
    return array.size * (2 if is_complex(array.dtype) else 1)


def fit_gradient(gradient: Array | None, shape: tuple[int, ...]) -> FloatArray | None:
    """Gives a gradient in its input's shape: None becomes zeros, an unsummed one is summed; else None.

    Where the input is complex, `shape` has its two parts as the last axis, and so has the result.
    """
    if gradient is None:
        return np.zeros(shape)
    if not (is_continuous(gradient.dtype) or is_discrete(gradient.dtype)):
        return None
    numbers = as_float64(gradient)
    axes = summed_axes(numbers.shape, shape)
    return None if axes is None else np.asarray(numbers.sum(axis=axes)).reshape(shape)


def match_kind(gradient: Array | None, value: object) -> Array | None:
    """Gives a gradient complex where its input is, else its real part; other checks say that it was not so."""
    if gradient is None or not isinstance(value, np.ndarray) or is_complex(gradient.dtype) == is_complex(value.dtype):
        return gradient
    if is_complex(gradient.dtype):
        return gradient.real
    known = is_continuous(gradient.dtype) or is_discrete(gradient.dtype)
    return as_float64(gradient).astype(np.complex128) if known else gradient


def summed_axes(given: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Gives the axes of `given` to sum over to undo a broadcast from `wanted`; None if it is no broadcast of it."""
    lead = len(given) - len(wanted)
    if lead < 0:
        return None
    pairs = list(zip(given[lead:], wanted, strict=True))
    if any(have != want and want != 1 for have, want in pairs):
        return None
    return tuple(range(lead)) + tuple(lead + axis for axis, (have, want) in enumerate(pairs) if have != want)
