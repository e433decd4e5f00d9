"""Short precision hidden inside a forward function that takes float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from gradcheck.model.dtypes import FLOAT64_EPS, BoolArray, FloatArray
from gradcheck.model.evaluation import Point

# Values are drawn so near to the given ones that forward does the same there, and have all 53 digits.
_DIGITS = 1e-3
# A change of the input by some units of the short dtype; forward that moves with it is not constant.
_SHIFT = 4.0
# A change of outputs too large for an equal result after rounding the input to be chance: 128 units of float64.
_CLEAR = 2.0**-45
# Below this share of moving outputs the function is a staircase, whose steps look like rounding.
_MOST_STILL = 0.2
# Inputs are scaled by these to see outputs of several magnitudes; that many must be small to tell a grid.
_SHARES = (1.0, 0.61, 0.37, 0.23, 0.13)
_LEAST_SMALL = 12
# A quantiser twice as coarse as the dtype passes one draw of a few numbers by chance, but not forty around them.
_DRAWS = 40
_AROUND = 1e-2
# Of neighbours in the dtype that is rounded to, so many differ in their outputs; a coarser quantiser's seldom do.
_MOST_ALIKE = 0.5
# The dtypes that arithmetic is hidden in, by their resolution.
_SHORT = ((2.0**-23, np.float32), (2.0**-10, np.float16))


def hidden_eps(point: Point, generator: np.random.Generator) -> float:
    """Finds the resolution of the arithmetic inside forward, as far as rounding of inputs or outputs shows it."""
    if point.forward_eps > FLOAT64_EPS:
        return point.forward_eps
    moving = (*point.subject.differentiable, *point.subject.declared)
    return max(_input_eps(point, k, generator) for k in moving)


def _input_eps(point: Point, k: int, generator: np.random.Generator) -> float:
    """Finds the resolution of a forward function that rounds to a shorter dtype inside.

    The function is called at values that need all 53 bits and at the same values rounded to a short dtype. If every
    output agrees bit for bit although outputs do move under a somewhat larger change, input `k` is rounded inside; if
    every output already fits the short dtype, the output is.

    Returns:
        float64's own resolution, or that of the shortest dtype that explains the results.
    """
    if not point.size or not point.values(k).size:
        return FLOAT64_EPS
    values = point.values(k)
    bounds = point.subject.domain[k]
    full = bounds.fold(values * (1.0 + _DIGITS * generator.random(values.shape)))
    reference = point.forward_at(k, full)
    found = FLOAT64_EPS
    for eps, dtype in _SHORT:
        rounded = full.astype(dtype).astype(np.float64)
        lost = np.isfinite(full) & ~np.isfinite(rounded)
        if lost.any() or np.array_equal(rounded, full, equal_nan=True):
            continue
        shifted = point.forward_at(k, bounds.fold(full * (1.0 - _SHIFT * eps)))
        moved = np.isfinite(reference) & (np.abs(shifted - reference) > _CLEAR * np.abs(reference))
        # Whole numbers that the short dtype holds exactly are counts rather than rounded.
        moved &= (reference != np.round(reference)) | (np.abs(reference) >= 2.0 / eps)
        if moved.sum() <= _MOST_STILL * moved.size:
            continue
        fits = bool(np.all(reference[moved].astype(dtype).astype(np.float64) == reference[moved]))
        if fits:
            several = np.concatenate([point.forward_at(k, bounds.fold(full * share)) for share in _SHARES])
            if _is_grid(several[np.isfinite(several) & (several != 0)], eps):
                continue
        if fits or (
            np.array_equal(point.forward_at(k, rounded)[moved], reference[moved])
            and _always_rounds(point, k, dtype, generator, moved)
        ):
            found = eps
    return found


def _always_rounds(point: Point, k: int, dtype: DTypeLike, generator: np.random.Generator, moving: BoolArray) -> bool:
    """Says whether rounding the input leaves all outputs as they are at other values too.

    A quantiser whose steps are longer than the dtype's passes once by chance, but gives the same for most neighbours.
    """
    bounds, values = point.subject.domain[k], point.values(k)
    moved = 0.0
    for _ in range(_DRAWS):
        full = bounds.fold(values * (1.0 + _AROUND * generator.random(values.shape)))
        rounded = full.astype(dtype).astype(np.float64)
        outputs = point.forward_at(k, rounded)
        if not np.array_equal(outputs, point.forward_at(k, full), equal_nan=True):
            return False
        beside = np.nextafter(full.astype(dtype), np.asarray(np.inf, dtype)).astype(np.float64)
        changed = (point.forward_at(k, bounds.fold(beside)) != outputs)[moving]
        moved += float(np.mean(changed)) / _DRAWS
    return moved >= _MOST_ALIKE


def _is_grid(values: FloatArray, eps: float) -> bool:
    """Says whether values lie on one grid, as a quantiser makes it, rather than being rounded to so many digits.

    A short float rounds small numbers more finely than large ones; on a grid all are multiples of what is the last
    digit of the largest.
    """
    size = np.abs(values)
    most = float(np.max(size, initial=0.0))
    if (size < 0.5 * most).sum() < _LEAST_SMALL:
        return False
    unit = eps * 2.0 ** np.floor(np.log2(most))
    return bool(np.all(values / unit == np.round(values / unit)))
