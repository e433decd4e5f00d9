"""Numeric derivatives with error bars, by extrapolating a ladder of difference quotients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradcheck.model.dtypes import BoolArray, FloatArray
from gradcheck.numeric.ladder import RATIO, Ladder
from gradcheck.numeric.table import Table
from gradcheck.numeric.tolerance import BARS

# Errors of order 8 of the step, or 5 on one side; the next level gains nothing from an eighth of a scale downwards.
_CENTRAL_LEVELS = 3
_ONE_SIDED_LEVELS = 4
# Rounding of both ends of a difference, and its growth by extrapolation, in units of noise / step. The factors of all
# levels multiply to 1.14 for central quotients and to 1.96, of twice the noise, for one-sided ones.
_CENTRAL_NOISE = 2.0
_ONE_SIDED_NOISE = 4.0
# Right and left slopes that agree to this share of the slope, a quarter of `APART`, have no kink between them.
_STRAIGHT = 2.5e-10
# Noise this far above its measure is not noise.
_DOUBT = 8.0
# Measured noise so far above the least there can be may be structure, so slopes are read with both.
_NOISY = 4.0
# So many columns at once keep the table within a core's cache.
_COLUMNS = 128


@dataclass(frozen=True)
class Slope(Table):
    """A derivative and the half width of the interval it lies in, of shape (columns,); the bar is inf if unknown."""

    value: FloatArray
    bar: FloatArray


@dataclass(frozen=True)
class Slopes:
    """The central, right and left derivatives of each column of a ladder, per unit step."""

    central: Slope
    right: Slope
    left: Slope


def differentiate(ladder: Ladder) -> Slopes:
    """Estimates derivatives along the ladder's displacement.

    Central quotients have errors in even powers of the step, one-sided ones in all powers; each is extrapolated to
    step zero by Richardson's scheme. Of all entries of the table the one with the least error bar counts, where the
    bar is the spread over three neighbouring steps plus the measured noise divided by the step, and no less than what
    entries at smaller steps say against it.
    """
    steps = ladder.steps[:, None]
    both = ladder.has_plus & ladder.has_minus
    central = _mask(
        _estimate((ladder.plus - ladder.minus) / (2.0 * steps), ladder, 2, _CENTRAL_LEVELS, _CENTRAL_NOISE), both
    )
    sides = [(ladder.plus - ladder.center) / steps, (ladder.center - ladder.minus) / steps]
    bent = np.flatnonzero(~_is_straight(sides[0] - sides[1], central, ladder))
    part = ladder[bent]
    found = []
    for quotients, allowed in zip(sides, (ladder.has_plus, ladder.has_minus), strict=True):
        value, bar = central.value.copy(), central.bar.copy()
        if bent.size:
            slope = _estimate(quotients[:, bent], part, 1, _ONE_SIDED_LEVELS, _ONE_SIDED_NOISE)
            slope = _mask(slope, allowed[bent])
            value[bent], bar[bent] = slope.value, slope.bar
        found.append(Slope(value, bar))
    return Slopes(central, *found)


def _is_straight(gap: FloatArray, central: Slope, ladder: Ladder) -> BoolArray:
    """Finds columns without a kink, to far below what would be called one; their sides need no tables of their own.

    The gap between right and left quotients is the second derivative times the step, and a kink besides, if there is
    one. What one extrapolation leaves of it at its best step must be nothing.
    """
    left_over = (RATIO * gap[1:] - gap[:-1]) / (RATIO - 1.0)
    bar = np.abs(np.diff(left_over, axis=0))
    bar += _ONE_SIDED_NOISE * RATIO * ladder.noise / ladder.steps[2:, None]
    np.nan_to_num(bar, copy=False, nan=np.inf)
    best = np.argmin(bar, axis=0)
    columns = np.arange(gap.shape[1])
    size = np.abs(central.value)
    sharp = _STRAIGHT * size
    return np.asarray(
        (np.abs(left_over[best, columns]) <= sharp) & (bar[best, columns] <= sharp) & (central.bar <= sharp)
    )


def _estimate(quotients: FloatArray, ladder: Ladder, order: int, levels: int, noise_factor: float) -> Slope:
    """Estimates with the measured noise, and again with the least noise where the two differ.

    Where these disagree, either structure was mistaken for noise or noise for structure, and the bar covers both.
    """
    slope = extrapolate(quotients, ladder.steps, ladder.noise * noise_factor, order, levels)
    noisy = np.flatnonzero(ladder.noise > _NOISY * ladder.least_noise)
    if not noisy.size:
        return slope
    other = extrapolate(quotients[:, noisy], ladder.steps, ladder.least_noise[noisy] * noise_factor, order, levels)
    gap = np.abs(slope.value[noisy] - other.value)
    torn = gap > BARS * (slope.bar[noisy] + other.bar)
    bar = slope.bar.copy()
    bar[noisy] = np.where(torn, np.maximum(gap, bar[noisy]), bar[noisy])
    return Slope(slope.value, bar)


def extrapolate(quotients: FloatArray, steps: FloatArray, noise: FloatArray, order: int, levels: int) -> Slope:
    """Picks the best entry of the Richardson table of difference quotients.

    Args:
        quotients: shape (K, columns), with errors in powers of step**order.
        steps: shape (K,).
        noise: error of each column's differences, shape (columns,).
        order: 1 for one-sided, 2 for central quotients.
        levels: how many times to extrapolate.
    """
    if noise.size > _COLUMNS:
        parts = [slice(start, start + _COLUMNS) for start in range(0, noise.size, _COLUMNS)]
        return Slope.concat([extrapolate(quotients[:, part], steps, noise[part], order, levels) for part in parts])
    rows = len(steps) - 2
    table = np.full((levels + 1, rows + 2, noise.size), np.nan)
    table[0] = quotients
    for level in range(1, levels + 1):
        factor, coarser = RATIO ** (order * level), table[level - 1, : rows + 3 - level]
        table[level, : rows + 2 - level] = (factor * coarser[1:] - coarser[:-1]) / (factor - 1.0)
    # Each level is a row shorter than the one before, and of each the first and the last have one neighbour only.
    place = np.arange(levels + 1)[:, None] + np.arange(rows)
    error = noise / steps[1 + np.minimum(place, rows - 1), None]
    middle = np.where((place < rows)[..., None], table[:, 1:-1], np.nan)
    change = np.abs(np.diff(table, axis=1))
    bar = np.maximum(change[:, :-1], change[:, 1:])
    bar += error
    np.maximum(bar, _contradiction(middle, error), out=bar)
    bar[~np.isfinite(bar)] = np.inf
    every = bar.reshape((levels + 1) * rows, noise.size)
    best, columns = np.argmin(every, axis=0), np.arange(noise.size)
    value, least = middle.reshape(every.shape)[best, columns], every[best, columns]
    return Slope(np.where(np.isfinite(least), value, np.nan), least)


def _contradiction(values: FloatArray, noise: FloatArray) -> FloatArray:
    """Gives, for each entry of each level, how far entries at smaller steps are from it beyond their noise.

    Once a level has converged, smaller steps change it by noise only. A function with structure finer than the step,
    such as a square root next to zero or a fast oscillation, looks settled there while its limit is elsewhere. NaN says
    nothing; shape (levels, rows, columns).
    """
    doubt = _DOUBT * noise
    known = np.isfinite(values)
    above, below = (values - doubt)[:, 1:], (values + doubt)[:, 1:]
    np.copyto(above, -np.inf, where=~known[:, 1:])
    np.copyto(below, np.inf, where=~known[:, 1:])
    # The extremes of all later rows, by doubling: of 2, of 4, and so on; accumulate goes through columns one by one.
    reach = 1
    while reach < above.shape[1]:
        np.maximum(above[:, :-reach], above[:, reach:], out=above[:, :-reach])
        np.minimum(below[:, :-reach], below[:, reach:], out=below[:, :-reach])
        reach *= 2
    beyond = np.zeros_like(values)
    np.maximum(above - values[:, :-1], values[:, :-1] - below, out=beyond[:, :-1])
    return np.asarray(np.maximum(beyond, 0.0))


def _mask(slope: Slope, allowed: BoolArray) -> Slope:
    return Slope(np.where(allowed, slope.value, np.nan), np.where(allowed, slope.bar, np.inf))
