"""The judgement of one input's gradient at one point, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gradcheck.columns import Columns
from gradcheck.dtypes import BoolArray, FloatArray, IntArray
from gradcheck.kinks import Kind
from gradcheck.tolerance import Tolerance


class Status(IntEnum):
    """What is known about a gradient element; values above WRONG say why nothing is."""

    RIGHT = 0
    WRONG = 1
    UNSURE = 2
    JUMP = 3
    STEEP = 4
    UNDEFINED = 5


@dataclass(frozen=True)
class Comparison:
    """The outcome for E elements under C cotangents.

    Args:
        elements: flat indices, shape (E,).
        analytic: the subject's gradient, shape (C, E).
        low, high: the interval of right values, shape (C, E); equal except at kinks.
        bar: half width of the uncertainty around it, shape (C, E).
        allowance: the distance from the interval that is still accepted, shape (C, E).
        status: `Status` per element, shape (E,).
        kink: elements at a kink, shape (E,).
    """

    elements: IntArray
    analytic: FloatArray
    low: FloatArray
    high: FloatArray
    bar: FloatArray
    allowance: FloatArray
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
    count = columns.elements.size
    entry = columns.derivative
    lost = np.isin(entry.kind, (Kind.JUMP, Kind.STEEP, Kind.UNDEFINED))
    weights = cotangents[:, columns.output]
    first, second = weights * np.where(lost, 0.0, entry.low), weights * np.where(lost, 0.0, entry.high)
    low = _gather(np.minimum(first, second), columns.owner, count)
    high = _gather(np.maximum(first, second), columns.owner, count)
    idle = np.max(np.abs(cotangents), axis=1, initial=0.0)[:, None] * columns.idle_bar
    bar = _gather(np.abs(weights) * np.where(lost, 0.0, entry.bar), columns.owner, count) + idle
    numeric = np.clip(np.nan_to_num(analytic), low, high)
    peak = np.max(_gather(np.maximum(np.abs(first), np.abs(second)), columns.owner, count), initial=0.0, keepdims=True)
    allowance = tolerance.allowance(numeric, bar, peak)
    status = _decide(analytic, numeric, bar, allowance, columns.resolvable, peak)
    _mark_lost(status, columns, analytic)
    kink = np.zeros(count, dtype=np.bool_)
    kink[columns.owner[entry.kind == Kind.KINK]] = True
    return Comparison(columns.elements, analytic, low, high, bar, allowance, status, kink)


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
    sharp = 4.0 * bar <= np.maximum(0.05 * np.abs(numeric), 1e-6 * peak)
    clear = np.where(np.isfinite(analytic), bar < 0.3 * size, sharp | (4.0 * bar <= resolvable))
    zero = (np.abs(analytic) <= bar) & (np.abs(numeric) <= bar) & (4.0 * bar <= resolvable)
    status = np.full(analytic.shape[1], int(Status.RIGHT), dtype=np.int64)
    status[(far | ~(sharp | zero)).any(axis=0)] = Status.UNSURE
    status[(far & clear).any(axis=0)] = Status.WRONG
    return status


def _mark_lost(status: IntArray, columns: Columns, analytic: FloatArray) -> None:
    """Marks, in place, elements that have no derivative to compare with."""
    kind = columns.derivative.kind
    for lost, meaning in ((Kind.STEEP, Status.STEEP), (Kind.JUMP, Status.JUMP)):
        status[columns.owner[kind == lost]] = meaning
    defined = np.bincount(columns.owner[kind != Kind.UNDEFINED], minlength=status.size) > 0
    undefined = np.bincount(columns.owner[kind == Kind.UNDEFINED], minlength=status.size) > 0
    blank = undefined & (~defined | ~np.isfinite(analytic).all(axis=0))
    status[blank] = Status.UNDEFINED
