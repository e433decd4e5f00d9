"""The judgement of one input's gradient at one point, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray
from gradcheck.numeric.columns import Columns, Entries
from gradcheck.numeric.kinks import LOST, Kind
from gradcheck.numeric.table import Table
from gradcheck.numeric.tolerance import BARS, CLEAR, SHARP, SHARP_PEAK, Tolerance

# Leaps this small beside the largest change may be rounding hidden inside forward.
_LEAST_STAIR = 2.0**-20


class Status(IntEnum):
    """What is known about a gradient element; values above WRONG say why nothing is."""

    RIGHT = 0
    WRONG = 1
    UNSURE = 2
    JUMP = 3
    STEEP = 4
    UNDEFINED = 5


@dataclass(frozen=True)
class Comparison(Table):
    """The outcome for E elements under C cotangents.

    Args:
        elements: flat indices, shape (E,).
        analytic: the subject's gradient, shape (C, E).
        low, high: the interval of right values, shape (C, E); equal except at kinks.
        bar: half width of the uncertainty around it, shape (C, E).
        allowance: the distance from the interval that is still accepted, shape (C, E).
        floor: the part of it that rounding inside forward may hide where outputs rest, shape (C, E).
        status: `Status` per element, shape (E,).
        kink: elements at a kink, shape (E,).
    """

    elements: IntArray
    analytic: FloatArray
    low: FloatArray
    high: FloatArray
    bar: FloatArray
    allowance: FloatArray
    floor: FloatArray
    status: IntArray
    kink: BoolArray

    @property
    def numeric(self) -> FloatArray:
        """The right value nearest to the subject's, shape (C, E)."""
        return np.clip(np.nan_to_num(self.analytic), self.low, self.high)

    @property
    def wrong(self) -> BoolArray:
        """The wrong elements, shape (E,)."""
        return np.asarray(self.status == Status.WRONG)

    def numbers(self, row: int, position: int) -> tuple[float, float, float, float, float]:
        """Gives the subject's value, the nearest right one, low, high and bar of one element under one cotangent."""
        parts = self.analytic, self.numeric, self.low, self.high, self.bar
        analytic, numeric, low, high, bar = (float(part[row, position]) for part in parts)
        return analytic, numeric, low, high, bar

    def smallest_error_seen(self) -> float:
        """The smallest uniform relative error of the gradient that would have made an element wrong; inf if none."""
        judged = self.status == Status.RIGHT
        size = np.abs(self.numeric[:, judged & ~self.kink])
        allowance = self.allowance[:, judged & ~self.kink]
        seen = allowance[size > 0] / size[size > 0]
        return float(seen.min()) if seen.size else float("inf")


def compare(columns: Columns, cotangents: FloatArray, analytic: FloatArray, tolerance: Tolerance) -> Comparison:
    """Compares gradients with measured derivatives.

    Args:
        columns: the measured entries of the Jacobian.
        cotangents: shape (C, outputs).
        analytic: the subject's gradients at `columns.elements`, shape (C, E).
        tolerance: the rounding allowed to the subject.
    """
    count, entry, element = columns.elements.size, columns.entries, columns.measured
    lost = np.isin(entry.kind, LOST)
    unknown = lost | ~np.isfinite(entry.low + entry.high)  # the bar of an entry without a value is infinite
    weights = cotangents[:, entry.output]

    def gather(values: FloatArray) -> FloatArray:
        rows = [np.bincount(entry.owner, weights=row, minlength=count) for row in values]
        return np.array(rows).reshape(len(values), count)

    first, second = weights * np.where(unknown, 0.0, entry.low), weights * np.where(unknown, 0.0, entry.high)
    low, high = gather(np.minimum(first, second)), gather(np.maximum(first, second))
    largest = np.max(np.abs(cotangents), axis=1, initial=0.0)[:, None]
    entry_bar = np.where(lost | (weights == 0), 0.0, entry.bar)
    bar = gather(np.where(entry_bar > 0, np.abs(weights) * entry_bar, 0.0)) + largest * element.idle_bar
    peak = np.max(gather(np.maximum(np.abs(first), np.abs(second))), initial=0.0, keepdims=True)
    floor = BARS * (gather(np.abs(weights) * entry.floor) + largest * element.idle_floor)
    allowance = tolerance.allowance(np.clip(np.nan_to_num(analytic), low, high), bar, peak) + floor
    status, kink = np.full(count, int(Status.RIGHT), dtype=np.int64), np.zeros(count, dtype=np.bool_)
    kink[entry.owner[entry.kind == Kind.KINK]] = True
    made = Comparison(columns.elements, analytic, low, high, bar, allowance, floor, status, kink)
    _decide(made, element.resolvable, peak)
    _mark_stairs(made, entry)
    _mark_lost(status, entry, analytic, np.any(weights != 0, axis=0))
    return made


def _decide(made: Comparison, resolvable: FloatArray, peak: FloatArray) -> None:
    """Calls an element wrong if any cotangent shows it beyond doubt, unsure if the bars leave room for real faults.

    A gradient of zero is right where the measured one is zero as exactly as the arithmetic can tell. `peak` is the
    largest sum of magnitudes that any element's derivative is made of, before they cancel; shape (1, 1).
    """
    numeric, bars = made.numeric, BARS * made.bar
    yours, right = np.abs(made.analytic), np.abs(numeric)
    far = ~(np.abs(made.analytic - numeric) <= made.allowance)  # NaN counts as far
    sharp = bars <= np.maximum(SHARP * right, SHARP_PEAK * peak)
    clear = np.where(np.isfinite(yours), made.bar < CLEAR * np.maximum(yours, right), sharp | (bars <= resolvable))
    zero = (yours <= made.bar) & (right <= made.bar) & (bars <= resolvable)
    made.status[(far | ~(sharp | zero)).any(axis=0)] = Status.UNSURE
    made.status[(far & clear).any(axis=0)] = Status.WRONG


def _mark_stairs(made: Comparison, entry: Entries) -> None:
    """Withdraws, in place, what is held against an element where outputs rest under small steps.

    A staircase has derivative zero, but so fine a one as rounding makes also looks like a slope; then it is unsure
    whether a gradient of zero is wrong. So it is where the derivative is zero between two stairs as fine, as an
    iteration makes that ends at a given error.
    """
    moving = (entry.low != 0) | (entry.high != 0)
    least, most = np.full(made.status.shape, np.inf), np.zeros(made.status.shape)
    np.minimum.at(least, entry.owner[moving], entry.stairs[moving])
    np.maximum.at(most, entry.owner, entry.stairs)
    rests = made.wrong & (made.analytic == 0).all(axis=0) & np.isfinite(least) & (least > 0)
    made.status[rests] = np.where(least[rests] >= _LEAST_STAIR, int(Status.RIGHT), int(Status.UNSURE))
    made.status[made.wrong & (made.numeric == 0).all(axis=0) & (most > 0) & (most < _LEAST_STAIR)] = Status.UNSURE


def _mark_lost(status: IntArray, entry: Entries, analytic: FloatArray, weighs: BoolArray) -> None:
    """Marks, in place, elements that have no derivative to compare with.

    An output that is not finite has cotangent zero, so the others are judged without it; but zero times NaN is NaN,
    which a vjp may return then. `weighs` tells the entries whose output has another cotangent than zero.
    """
    kind = entry.kind
    for lost, meaning in ((Kind.STEEP, Status.STEEP), (Kind.JUMP, Status.JUMP)):
        status[entry.owner[kind == lost]] = meaning
    defined = np.bincount(entry.owner[kind != Kind.UNDEFINED], minlength=status.size) > 0
    undefined = np.bincount(entry.owner[kind == Kind.UNDEFINED], minlength=status.size) > 0
    blank = undefined & (~defined | ~np.isfinite(analytic).all(axis=0))
    blank[entry.owner[(kind == Kind.UNDEFINED) & weighs]] = True
    status[blank] = Status.UNDEFINED
