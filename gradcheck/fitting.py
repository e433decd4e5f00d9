"""Gradients brought to the shape of their input."""

from __future__ import annotations

import numpy as np

from gradcheck.dtypes import Array, FloatArray, as_float64, is_floating


def fit_gradient(gradient: Array | None, shape: tuple[int, ...]) -> FloatArray | None:
    """Gives a gradient in its input's shape: None becomes zeros, an unsummed one is summed; else None."""
    if gradient is None:
        return np.zeros(shape)
    axes = summed_axes(gradient.shape, shape)
    if axes is None or not (is_floating(gradient.dtype) or gradient.dtype.kind in "iub"):
        return None
    return np.asarray(as_float64(gradient).sum(axis=axes)).reshape(shape)


def summed_axes(given: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Gives the axes of `given` to sum over to undo a broadcast from `wanted`; None if it is no broadcast of it."""
    lead = len(given) - len(wanted)
    if lead < 0:
        return None
    pairs = list(zip(given[lead:], wanted, strict=True))
    if any(have != want and want != 1 for have, want in pairs):
        return None
    return tuple(range(lead)) + tuple(lead + axis for axis, (have, want) in enumerate(pairs) if have != want)
