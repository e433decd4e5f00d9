"""The map of a Jacobian's error: vjp for single outputs beside the measured entries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Status
from gradcheck.judge.outcome import Outcome
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray, as_float64, is_complex
from gradcheck.model.evaluation import Point, VjpError
from gradcheck.model.fitting import fit_gradient
from gradcheck.numeric.columns import Columns
from gradcheck.numeric.kinks import Kind
from gradcheck.picture import JacobianMap

MOST_ELEMENTS = 64
WORDS = {Status.RIGHT: "right", Status.WRONG: "wrong", Status.UNSURE: "unsure"}
# Error bars that leave more room than this share of an entry settle nothing.
_SHARP = 0.3
# Measurements further apart than this many error bars contradict each other.
_TORN = 4.0


def map_jacobian(point: Point, outcome: Outcome, worst: int, most_outputs: int) -> JacobianMap | None:
    """Compares entry by entry.

    Args:
        point: where.
        outcome: the judgement of the input; its elements are the columns, above all the wrong ones if there are many.
        worst: flat index of the worst element; it is among the columns.
        most_outputs: how many rows there may be; vjp is called for each.

    Returns:
        The map; None where vjp raises, or gives no gradient of the input's shape, for a single output.
    """
    comparison = outcome.comparison
    wrong = comparison.elements[comparison.wrong]
    elements = choose(comparison.elements, np.array([worst, *wrong]), MOST_ELEMENTS)
    finite = np.flatnonzero(np.isfinite(point.center))
    touched = [_touched(outcome.measured, np.array(some), finite) for some in ([worst], elements)]
    outputs = choose(finite, np.concatenate(touched), most_outputs)
    analytic = subject_rows(point, outcome.k, outputs)
    if analytic is None:
        return None
    analytic = analytic[:, elements]
    low, high, bar, unknown = settle(outcome.measured, outputs, elements)
    numeric = np.clip(np.nan_to_num(analytic), low, high)
    peak = np.max(np.abs(numeric), initial=0.0, keepdims=True)
    local = replace(outcome.tolerance, perturbed=outcome.tolerance.perturbed[elements])
    allowed = local.allowance(numeric, bar, peak)
    error = analytic - numeric
    judged = comparison.status[np.searchsorted(comparison.elements, elements)]
    status = entry_status(error, numeric, bar, allowed, judged, unknown)
    shown = (analytic != 0) | (numeric != 0) | (status > Status.WRONG)
    row, column = np.nonzero(shown)
    carried = [output for output, wanted in zip(point.outputs, point.floating, strict=True) if wanted]
    return JacobianMap(
        point.values(outcome.k).shape,
        is_complex(np.asarray(point.given[outcome.k]).dtype),
        tuple(as_float64(output).shape for output in carried),
        tuple(is_complex(output.dtype) for output in carried),
        tuple(outputs.tolist()),
        tuple(elements.tolist()),
        tuple(row.tolist()),
        tuple(column.tolist()),
        _rounded(numeric[shown]),
        _rounded(error[shown]),
        _rounded(allowed[shown]),
        tuple(WORDS.get(Status(value), "skipped") for value in status[shown]),
    )


def choose(candidates: IntArray, first: IntArray, most: int) -> IntArray:
    """Chooses at most `most` of sorted candidates, evenly spread, three quarters of them among those in `first`."""
    if candidates.size <= most:
        return candidates
    _, order = np.unique(first, return_index=True)
    leading = first[np.sort(order)]
    limit = most * 3 // 4
    if leading.size > limit:
        leading = leading[np.linspace(0, leading.size - 1, limit).astype(np.int64)]
    others = np.setdiff1d(candidates, leading)
    spread = others[np.linspace(0, others.size - 1, most - leading.size).astype(np.int64)] if others.size else others
    return np.asarray(np.union1d(leading, spread), dtype=np.int64)


def _touched(measured: tuple[Columns, ...], elements: IntArray, among: IntArray) -> IntArray:
    """Gives the outputs that move with any of `elements`."""
    found = [columns.entries.output[np.isin(columns.elements[columns.entries.owner], elements)] for columns in measured]
    return np.intersect1d(np.concatenate(found), among)


def subject_rows(point: Point, k: int, outputs: IntArray) -> FloatArray | None:
    """Gives the subject's Jacobian, one output at a time."""
    rows = []
    for output in outputs:
        basis = np.zeros(point.size)
        basis[output] = 1.0
        try:
            gradients = point.gradients(basis)
        except VjpError:
            return None
        fitted = fit_gradient(gradients[k], point.values(k).shape) if k < len(gradients) else None
        if fitted is None:
            return None
        rows.append(fitted.ravel())
    return np.array(rows).reshape(outputs.size, -1)


def settle(
    measured: tuple[Columns, ...], outputs: IntArray, elements: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Takes each entry from its sharpest measurement; one that another contradicts is unknown."""
    shape = (outputs.size, elements.size)
    low, high, bar = np.zeros(shape), np.zeros(shape), np.full(shape, np.inf)
    torn, lost = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for entries in measured:
        other_low, other_high, other_bar, other_lost = _dense(entries, outputs, elements)
        gap = np.maximum(low - other_high, other_low - high)
        both = np.isfinite(bar) & np.isfinite(other_bar)
        torn |= both & (gap > _TORN * (np.where(both, bar, 0.0) + np.where(both, other_bar, 0.0)))
        better = other_bar < bar
        low, high = np.where(better, other_low, low), np.where(better, other_high, high)
        bar, lost = np.where(better, other_bar, bar), np.where(better, other_lost, lost)
    return low, high, np.where(np.isfinite(bar), bar, 0.0), torn | lost | ~np.isfinite(bar)


def _dense(
    columns: Columns, outputs: IntArray, elements: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Spreads listed entries over the map; an output that is not listed did not move, an element may be missing."""
    shape = (outputs.size, elements.size)
    low, high, lost = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    bar = np.full(shape, np.inf)
    entries, place = columns.entries, _places(columns.elements, elements)
    bar[:, place[place >= 0]] = 0.0
    column, row = place[entries.owner], _places(entries.output, outputs)
    kept = (column >= 0) & (row >= 0)
    at = row[kept], column[kept]
    known = np.isfinite(entries.low + entries.high)[kept]
    low[at] = np.where(known, entries.low[kept], 0.0)
    high[at] = np.where(known, entries.high[kept], 0.0)
    meaningless = np.isin(entries.kind[kept], (Kind.JUMP, Kind.STEEP, Kind.UNDEFINED))
    lost[at] = meaningless
    bar[at] = np.where(meaningless, 0.0, np.where(known, entries.bar[kept], np.inf))
    return low, high, bar, lost


def _places(values: IntArray, among: IntArray) -> IntArray:
    """Gives the position of each value in the sorted array `among`, -1 where it is not there."""
    if not among.size:
        return np.full(values.shape, -1, dtype=np.int64)
    position = np.minimum(np.searchsorted(among, values), among.size - 1)
    return np.asarray(np.where(among[position] == values, position, -1))


def entry_status(
    error: FloatArray, numeric: FloatArray, bar: FloatArray, allowed: FloatArray, judged: IntArray, unknown: BoolArray
) -> IntArray:
    """Calls an entry wrong only where its element is: what the judge excused, such as a tie, is not blamed here.

    Args:
        error: the subject's entries minus the right ones, shape (O, E).
        numeric: the right ones.
        bar: their uncertainty.
        allowed: the size of an error that is accepted.
        judged: `Status` of the elements, shape (E,).
        unknown: entries that have no value, or two.

    Returns:
        `Status` per entry.
    """
    far = ~(np.abs(error) <= allowed)
    size = np.maximum(np.abs(numeric), np.abs(numeric + error))
    clear = (bar < _SHARP * size) | ~np.isfinite(error)
    status = np.where(far, np.where(clear & (judged == Status.WRONG), Status.WRONG, Status.UNSURE), Status.RIGHT)
    return np.asarray(np.where(unknown, Status.UNDEFINED, status))


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)
