"""The picture of a wrong gradient: what was judged, put into plain numbers, and what a closer look adds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.explain.wording import as_given, find_worst
from gradcheck.judge.outcome import Comparison, Outcome, Status
from gradcheck.model.budget import Budget
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray, as_float64, fit_gradient, is_complex
from gradcheck.model.evaluation import VjpError
from gradcheck.numeric.columns import Columns
from gradcheck.numeric.kinks import LOST, Derivative
from gradcheck.numeric.tolerance import BARS, CLEAR
from gradcheck.picture import GradientMap, JacobianMap, Picture, StepCurve

# As many as one sees at a glance, and as a report can hold.
_MOST_ELEMENTS = 1024
_MOST_OUTPUTS = 64
_MOST_COLUMNS = 64
# Of the forward calls, for vjp's of single outputs: a picture is worth less than what is still to be judged.
_SHARE = 0.02
# Of the rows and columns, for those around the worst element; the rest is spread over all others.
_LEADING = 0.75
_WORDS = {Status.RIGHT: "right", Status.WRONG: "wrong", Status.UNSURE: "unsure"}


def depict(outcome: Outcome, budget: Budget) -> Picture:
    """Takes the picture of a wrong gradient.

    Args:
        outcome: has at least one wrong element.
        budget: of the run; bounds how many outputs are looked at singly.
    """
    row, position = _clearest(outcome.comparison)
    return Picture(
        _map_gradient(outcome, row, position),
        _map_jacobian(outcome, position, budget.elements(_MOST_OUTPUTS, 1, _SHARE)),
        _draw_curve(outcome, row, position),
    )


def _clearest(comparison: Comparison) -> tuple[int, int]:
    """Gives the cotangent that shows the most faults, the one of the message if none shows more, and its worst element.

    Under ones, rows of a Jacobian often cancel: a gradient that is shifted by one is right all but at its ends.
    """
    row, position = find_worst(comparison)
    distance = np.abs(comparison.analytic - comparison.numeric)
    beyond = comparison.wrong & ~(distance <= comparison.allowance)
    counts = beyond.sum(axis=1)
    clearest = int(np.argmax(counts))
    if counts[clearest] == counts[row]:
        return row, position
    return clearest, int(np.argmax(np.where(beyond[clearest], np.nan_to_num(distance[clearest], nan=np.inf), -1.0)))


def _map_gradient(outcome: Outcome, row: int, position: int) -> GradientMap:
    comparison, shape = as_given(outcome), outcome.point.values(outcome.k).shape
    part = _window(comparison.elements, position, shape)
    return GradientMap(
        shape,
        is_complex(outcome.given.dtype),
        "ones" if row == 0 else "random numbers",
        comparison.elements.size,
        tuple(comparison.elements[part].tolist()),
        tuple(comparison.analytic[row, part].tolist()),
        tuple(comparison.numeric[row, part].tolist()),
        tuple(comparison.allowance[row, part].tolist()),
        _words(comparison.status[part]),
        int(comparison.elements[position]),
    )


def _words(status: IntArray) -> tuple[str, ...]:
    return tuple(_WORDS.get(Status(value), "skipped") for value in status)


def _window(elements: IntArray, position: int, shape: tuple[int, ...]) -> IntArray:
    """Gives the positions of all elements, or of those in a box of rows and columns around one of them."""
    if elements.size <= _MOST_ELEMENTS:
        return np.arange(elements.size)
    width = shape[-1]
    size = int(np.prod(shape)) // width, width
    inside = np.ones(elements.shape, dtype=np.bool_)
    for place, total, across in zip(np.divmod(elements, width), size, size[::-1], strict=True):
        most = max(int(_MOST_ELEMENTS**0.5), _MOST_ELEMENTS // across)
        start = int(np.clip(place[position] - most // 2, 0, max(0, total - most)))
        inside &= (place >= start) & (place < start + most)
    return np.flatnonzero(inside)


def _draw_curve(outcome: Outcome, row: int, position: int) -> StepCurve | None:
    """Follows the difference quotients of one element, under one cotangent, from large steps to small ones.

    Returns:
        The curve; None where a value is not finite, or no step gives a finite quotient.
    """
    probe, cotangent = outcome.probe, outcome.cotangents[row]
    analytic, numeric, *_ = outcome.comparison.numbers(row, position)
    element = int(outcome.comparison.elements[position])
    weighs = np.flatnonzero(cotangent)
    ladder = probe.along(probe.only(element), weighs)
    sides = float(probe.room.up.flat[element]), float(probe.room.down.flat[element])
    distance = probe.steps * float(probe.room.scale.flat[element])
    if not any(sides):
        return None
    quotients = (ladder.plus - ladder.minus) @ cotangent[weighs] / (sum(sides) * distance)
    usable = np.isfinite(quotients) & bool(np.isfinite([analytic, numeric]).all())
    if not usable.any():
        return None
    return StepCurve(
        "central" if all(sides) else "one-sided",
        tuple(distance[usable].tolist()),
        tuple(np.abs(quotients - analytic)[usable].tolist()),
        tuple(np.abs(quotients - numeric)[usable].tolist()),
    )


def _map_jacobian(outcome: Outcome, position: int, most_outputs: int) -> JacobianMap | None:
    """Compares vjp for single outputs with the measured entries.

    Args:
        outcome: the judgement of the input; its elements are the columns, above all the wrong ones if there are many.
        position: of the worst element; it is among the columns.
        most_outputs: how many rows there may be; vjp is called for each.

    Returns:
        The map; None where vjp raises, or gives no gradient of the input's shape, for a single output.
    """
    point, comparison = outcome.point, outcome.comparison
    worst = comparison.elements[[position]]
    elements = choose(comparison.elements, np.append(worst, comparison.elements[comparison.wrong]), _MOST_COLUMNS)
    finite = np.flatnonzero(np.isfinite(point.center))
    outputs = choose(finite, np.append(*(_touched(outcome, some, finite) for some in (worst, elements))), most_outputs)
    analytic = subject_rows(outcome, outputs)
    if analytic is None:
        return None
    analytic = analytic[:, elements]
    right, unknown = settle(outcome.measured, outputs, elements)
    numeric = np.clip(np.nan_to_num(analytic), right.low, right.high)
    peak = np.max(np.abs(numeric), initial=0.0, keepdims=True)
    allowed = outcome.tolerance[elements].allowance(numeric, right.bar, np.abs(numeric), peak)
    error = analytic - numeric
    judged = comparison.status[np.searchsorted(comparison.elements, elements)]
    status = entry_status(error, numeric, right.bar, allowed, judged, unknown)
    shown = (analytic != 0) | (numeric != 0) | (status > Status.WRONG)
    row, column = np.nonzero(shown)
    carried = [output for output, wanted in zip(point.outputs, point.floating, strict=True) if wanted]
    return JacobianMap(
        point.values(outcome.k).shape,
        is_complex(outcome.given.dtype),
        tuple(as_float64(output).shape for output in carried),
        tuple(is_complex(output.dtype) for output in carried),
        tuple(outputs.tolist()),
        tuple(elements.tolist()),
        tuple(row.tolist()),
        tuple(column.tolist()),
        _rounded(numeric[shown]),
        _rounded(error[shown]),
        _rounded(allowed[shown]),
        _words(status[shown]),
    )


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)


def choose(candidates: IntArray, first: IntArray, most: int) -> IntArray:
    """Chooses at most `most` of sorted candidates, evenly spread, three quarters of them among those in `first`."""
    if candidates.size <= most:
        return candidates
    _, order = np.unique(first, return_index=True)
    leading = first[np.sort(order)]
    limit = int(_LEADING * most)
    if leading.size > limit:
        leading = leading[np.linspace(0, leading.size - 1, limit).astype(np.int64)]
    others = np.setdiff1d(candidates, leading)
    spread = others[np.linspace(0, others.size - 1, most - leading.size).astype(np.int64)] if others.size else others
    return np.asarray(np.union1d(leading, spread), dtype=np.int64)


def _touched(outcome: Outcome, elements: IntArray, among: IntArray) -> IntArray:
    """Gives the outputs that move with any of `elements`."""
    found = [
        columns.entries.output[np.isin(columns.elements[columns.entries.owner], elements)]
        for columns in outcome.measured
    ]
    return np.intersect1d(np.concatenate(found), among)


def subject_rows(outcome: Outcome, outputs: IntArray) -> FloatArray | None:
    """Gives the subject's Jacobian, one output at a time."""
    point, k, rows = outcome.point, outcome.k, []
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


def settle(measured: tuple[Columns, ...], outputs: IntArray, elements: IntArray) -> tuple[Derivative, BoolArray]:
    """Takes each entry from its sharpest measurement; says of which nothing is known, as where another contradicts."""
    none = np.zeros((outputs.size, elements.size))
    best = Derivative(none, none, np.full(none.shape, np.inf), none.astype(np.int64))
    torn = none > 0
    for columns in measured:
        other = _dense(columns, outputs, elements)
        gap = np.maximum(best.low - other.high, other.low - best.high)
        both = np.isfinite(best.bar) & np.isfinite(other.bar)
        torn |= both & (gap > BARS * (np.where(both, best.bar, 0.0) + np.where(both, other.bar, 0.0)))
        best = other.where(other.bar < best.bar, best)
    known = np.isfinite(best.bar)
    best = replace(best, bar=np.where(known, best.bar, 0.0))
    return best, np.asarray(torn | np.isin(best.kind, LOST) | ~known)


def _dense(columns: Columns, outputs: IntArray, elements: IntArray) -> Derivative:
    """Spreads listed entries over the map; an output that is not listed did not move, an element may be missing."""
    low, high, bar = np.zeros((3, outputs.size, elements.size))
    kind = low.astype(np.int64)
    bar[:, np.isin(elements, columns.elements, invert=True)] = np.inf
    moved = columns.elements[columns.entries.owner]
    listed = np.isin(moved, elements) & np.isin(columns.entries.output, outputs)
    entries = columns.entries[listed]
    at = np.searchsorted(outputs, entries.output), np.searchsorted(elements, moved[listed])
    known, lost = np.isfinite(entries.low + entries.high), np.isin(entries.kind, LOST)
    low[at], high[at] = np.where(known, entries.low, 0.0), np.where(known, entries.high, 0.0)
    bar[at] = np.where(lost, 0.0, np.where(known, entries.bar, np.inf))
    kind[at] = entries.kind
    return Derivative(low, high, bar, kind)


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
    clear = (bar < CLEAR * size) | ~np.isfinite(error)
    status = np.where(far, np.where(clear & (judged == Status.WRONG), Status.WRONG, Status.UNSURE), Status.RIGHT)
    return np.asarray(np.where(unknown, Status.UNDEFINED, status))
