"""Gradients brought to the shape of their input."""

from __future__ import annotations

import numpy as np

from gradcheck.model.dtypes import Array, FloatArray, as_float64, is_complex, is_continuous, is_discrete


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
