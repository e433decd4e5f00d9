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
    first, second = weights * np.where(unknown, 0.0, entry.low), weights * np.where(unknown, 0.0, entry.high)
    low = _gather(np.minimum(first, second), entry.owner, count)
    high = _gather(np.maximum(first, second), entry.owner, count)
    largest = np.max(np.abs(cotangents), axis=1, initial=0.0)[:, None]
    entry_bar = np.where(lost | (weights == 0), 0.0, entry.bar)
    weighed_bar = np.where(entry_bar > 0, np.abs(weights) * entry_bar, 0.0)
    bar = _gather(weighed_bar, entry.owner, count) + largest * element.idle_bar
    numeric = np.clip(np.nan_to_num(analytic), low, high)
    peak = np.max(_gather(np.maximum(np.abs(first), np.abs(second)), entry.owner, count), initial=0.0, keepdims=True)
    floor = BARS * (_gather(np.abs(weights) * entry.floor, entry.owner, count) + largest * element.idle_floor)
    allowance = tolerance.allowance(numeric, bar, peak) + floor
    status = _decide(analytic, numeric, bar, allowance, element.resolvable, peak)
    _mark_resting(status, entry, analytic)
    _mark_fine_quantisation(status, entry, numeric)
    _mark_lost(status, entry, analytic, np.any(weights != 0, axis=0))
    kink = np.zeros(count, dtype=np.bool_)
    kink[entry.owner[entry.kind == Kind.KINK]] = True
    return Comparison(columns.elements, analytic, low, high, bar, allowance, floor, status, kink)


def _gather(values: FloatArray, owner: IntArray, count: int) -> FloatArray:
    return np.array([np.bincount(owner, weights=row, minlength=count) for row in values]).reshape(len(values), count)


def _decide(
    analytic: FloatArray,
    numeric: FloatArray,
    bar: FloatArray,
    allowance: FloatArray,
    resolvable: FloatArray,
    peak: FloatArray,
) -> IntArray:
    """Calls an element wrong if any cotangent shows it beyond doubt, unsure if the bars leave room for real faults.

    A gradient of zero is right where the measured one is zero as exactly as the arithmetic can tell. `peak` is the
    largest sum of magnitudes that any element's derivative is made of, before they cancel; shape (1, 1).
    """
    distance = np.abs(analytic - numeric)
    size = np.maximum(np.abs(analytic), np.abs(numeric))
    far = ~(distance <= allowance)  # NaN counts as far
    sharp = BARS * bar <= np.maximum(SHARP * np.abs(numeric), SHARP_PEAK * peak)
    clear = np.where(np.isfinite(analytic), bar < CLEAR * size, sharp | (BARS * bar <= resolvable))
    zero = (np.abs(analytic) <= bar) & (np.abs(numeric) <= bar) & (BARS * bar <= resolvable)
    status = np.full(analytic.shape[1], int(Status.RIGHT), dtype=np.int64)
    status[(far | ~(sharp | zero)).any(axis=0)] = Status.UNSURE
    status[(far & clear).any(axis=0)] = Status.WRONG
    return status


def _mark_resting(status: IntArray, entry: Entries, analytic: FloatArray) -> None:
    """Withdraws, in place, the reproach against a zero gradient where outputs rest under small steps.

    A staircase has derivative zero, but so fine a one as rounding makes also looks like a slope; then it is unsure.
    """
    moving = (entry.low != 0) | (entry.high != 0)
    least = np.full(status.shape, np.inf)
    np.minimum.at(least, entry.owner[moving], entry.stairs[moving])
    rests = (status == Status.WRONG) & (analytic == 0).all(axis=0) & np.isfinite(least) & (least > 0)
    status[rests] = np.where(least[rests] >= _LEAST_STAIR, int(Status.RIGHT), int(Status.UNSURE))


def _mark_fine_quantisation(status: IntArray, entry: Entries, numeric: FloatArray) -> None:
    """Withdraws, in place, the reproach that rests on a derivative of zero between two stairs as fine as rounding.

    An iteration that ends at a given error makes such stairs.
    """
    stairs = np.zeros(status.shape)
    np.maximum.at(stairs, entry.owner, entry.stairs)
    fine = (status == Status.WRONG) & (numeric == 0).all(axis=0) & (stairs > 0) & (stairs < _LEAST_STAIR)
    status[fine] = Status.UNSURE


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
