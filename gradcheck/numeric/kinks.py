"""Points without a derivative: kinks, which allow an interval, told from jumps and vertical tangents."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray
from gradcheck.numeric.ladder import Ladder
from gradcheck.numeric.slopes import Slopes
from gradcheck.numeric.table import Table
from gradcheck.numeric.tolerance import APART, BARS

# Outputs that change over the smallest steps by this share of what they change over the largest oscillate: steps shrink
# by 2**40, and so do the changes of any function with a slope, but for rounding.
_ROUGH = 2.0**-10
_ROUGH_LEAST = 2.0**-32  # beside the output, or beside one: far above rounding
_ROUGH_NOISE = 64.0
# Of so many finest steps; over six the sines of time stamps, and float32 inside, pass for oscillations.
_FINEST = 3
# Quotients at the finest steps that agree to three digits are those of a slope, however much the function swings above.
_AGREED = 1e-3
# At a jump the output stays, over the four finest steps, where a slope would fall to a 64th. Over two, a
# variance that cancels has twice as many jumps and is left undecided; over eight it has none.
_STAYED = 0.9
_STAYING = 4
# Quotients of |x|**p grow by 4**(1 - p) from step to step: p from 0.2 to 0.8 is a vertical tangent, a square root gives
# 2 and a cube root 2.5. Over five steps no smooth function does; over two, what rounding leaves of a polynomial may.
_GROWTH = (1.3, 3.0)
_GROWING = 5
# Of a function with a derivative, quotients change by half as much or less at each finer step; log(h) by as much.
_CREEPING = (0.8, 1.25)
_WINDOW = 4
# Changes so far above the least rounding, half a unit in the last place, are not rounding.
_LOUD = 16.0
# A slope whose bar is so small beside it is one, whatever its quotients do.
_KNOWN = 1e-3


class Kind(IntEnum):
    """What the function does at a point, along one displacement."""

    SMOOTH = 0
    KINK = 1
    JUMP = 2
    STEEP = 3
    UNDEFINED = 4


# Where there is no derivative: what was measured there means nothing.
LOST = (Kind.JUMP, Kind.STEEP, Kind.UNDEFINED)


@dataclass(frozen=True)
class Derivative(Table):
    """What each column's derivative can be: any value in [low, high], widened by bar. All of shape (columns,).

    low equals high except at kinks; at jumps, vertical tangents and undefined points the values mean nothing.
    """

    low: FloatArray
    high: FloatArray
    bar: FloatArray
    kind: IntArray


def judge(ladder: Ladder, slopes: Slopes) -> Derivative:
    """Decides for each column which derivative values are right.

    Where the one-sided derivatives differ by more than their bars, every value between them is right: that is what
    different, equally good conventions choose (Clarke's generalised derivative).
    """
    right, left = slopes.right, slopes.left
    gap = np.abs(right.value - left.value)
    size = np.maximum(np.abs(right.value), np.abs(left.value))
    kink = gap > BARS * (right.bar + left.bar) + APART * size  # False where a side is NaN
    side = right.where(right.bar <= left.bar, left)
    best = slopes.central.where(np.isfinite(slopes.central.bar), side)
    low = np.where(kink, np.minimum(left.value, right.value), best.value)
    high = np.where(kink, np.maximum(left.value, right.value), best.value)
    bar = np.where(kink, np.maximum(left.bar, right.bar), best.bar)
    bar = np.where(_is_rough(ladder), np.inf, bar)
    kind = np.where(kink, int(Kind.KINK), int(Kind.SMOOTH)).astype(np.int64)
    is_known = best.bar < _KNOWN * np.abs(best.value)
    sides = ladder.plus - ladder.center, ladder.minus - ladder.center
    for changes in sides:
        kind[(_diverges(ladder, changes) | _creeps(ladder, changes)) & ~is_known] = Kind.STEEP
    for changes in sides:
        kind[_jumps(ladder, changes)] = Kind.JUMP
    # Nothing may be finite at any of the finer steps, on the sides where the input may move.
    half = len(ladder.steps) // 2
    above = np.isfinite(ladder.plus[half:]).any(axis=0) & ladder.has_plus
    below = np.isfinite(ladder.minus[half:]).any(axis=0) & ladder.has_minus
    kind[~np.isfinite(ladder.center) | ~(above | below)] = Kind.UNDEFINED
    return Derivative(low, high, bar, kind)


def _is_rough(ladder: Ladder) -> BoolArray:
    """Finds columns that change as much over the smallest steps as over the largest: they oscillate unresolved."""
    changes = ladder.changes.reshape(2, *ladder.plus.shape)
    finest = changes[:, -_FINEST:].mean(axis=(0, 1))  # NaN where a value is not finite, which is not rough
    least = _ROUGH_LEAST * np.maximum(1.0, np.abs(ladder.center))
    least = np.maximum(least, _ROUGH_NOISE * ladder.least_noise)
    # Where central quotients agree at all of the finest steps those are short enough.
    quotients = (ladder.plus[-_FINEST:] - ladder.minus[-_FINEST:]) / (2.0 * ladder.steps[-_FINEST:, None])
    lowest, highest = quotients.min(axis=0), quotients.max(axis=0)
    agree = highest - lowest <= _AGREED * np.maximum(np.abs(lowest), np.abs(highest))
    return np.asarray((finest > _ROUGH * changes.max(axis=(0, 1))) & (finest > least) & ~agree)


def _jumps(ladder: Ladder, changes: FloatArray) -> BoolArray:
    """Finds columns whose output stays away from its central value however small the step."""
    size = np.abs(changes[-_STAYING:])
    least, most = size.min(axis=0), size.max(axis=0)
    stays = np.isfinite(most) & (least > _STAYED * most) & (least > _LOUD * ladder.least_noise) & (least > 0)
    return np.asarray(stays)


def _diverges(ladder: Ladder, changes: FloatArray) -> BoolArray:
    """Finds columns whose one-sided quotients grow steadily, without bound, as the step shrinks."""
    size = np.abs(changes[-_GROWING:])
    quotient = size / ladder.steps[-_GROWING:, None]
    with np.errstate(all="ignore"):  # a flat side gives 0 / 0, which is no growth
        growth = quotient[1:] / quotient[:-1]
    steady = (growth > _GROWTH[0]) & (growth < _GROWTH[1])
    return np.asarray(steady.all(axis=0) & (size[-1] > _LOUD * ladder.least_noise))


def _creeps(ladder: Ladder, changes: FloatArray) -> BoolArray:
    """Finds columns whose one-sided quotients change by the same amount from step to step, as of x log(x) at 0.

    They have no limit, or one far beyond the smallest step. The finest steps count at which rounding does not tell.
    """
    steps = ladder.steps[:, None]
    change = np.diff(changes / steps, axis=0)
    with np.errstate(all="ignore"):  # a flat side gives 0 / 0, which is no creeping
        ratio = change[1:] / change[:-1]
    steady = (ratio > _CREEPING[0]) & (ratio < _CREEPING[1])
    loud = np.abs(change[1:]) * steps[2:] > _LOUD * ladder.noise
    last = np.where(loud.any(axis=0), len(loud) - 1 - np.argmax(loud[::-1], axis=0), 0)
    run = np.ones(last.shape, dtype=np.bool_)
    for back in range(_WINDOW):
        run &= np.take_along_axis(steady, np.maximum(last - back, 0)[None], axis=0)[0]
    return np.asarray(run & (last >= _WINDOW))
