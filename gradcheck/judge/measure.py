"""The first steps of a judgement: gradients beside derivatives, measured at each element's own scale and others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.outcome import Comparison, Outcome, Status
from gradcheck.model.domain import Reach, measure_room
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray
from gradcheck.numeric.columns import Columns, Entries, measure_elementwise, measure_singly
from gradcheck.numeric.kinks import LOST, Kind
from gradcheck.numeric.ladder import RATIO, Probe
from gradcheck.numeric.noise import measure_noise
from gradcheck.numeric.tolerance import APART, BARS, CLEAR, FLOOR, SHARP, SHARP_PEAK

# Bars wider than the relative error that every gradient is conceded are worth another ladder.
_WIDE = FLOOR
# A wide reach is at least 1, so below this it is at least one step of the ladder wider.
_SMALL = 1.0 / RATIO
# A narrow one is an element's own magnitude: worth it where that is three steps of the ladder below its scale.
_FAR_BELOW = RATIO**-3
# Leaps this small beside the largest change may be rounding hidden inside forward.
_LEAST_STAIR = 2.0**-20


def measure(outcome: Outcome) -> Outcome:
    """Measures the elements and compares."""
    columns = _columns(outcome, outcome.probe)
    measured = replace(outcome, measured=(*outcome.measured, columns), comparison=_compare(outcome, columns))
    scale, steps = outcome.probe.room.scale.ravel()[outcome.elements], outcome.probe.steps
    moved = np.bincount(columns.entries.owner, minlength=outcome.elements.size)
    text = "outputs that move with it: {:.0f}; steps from {:.0e} to {:.0e}"
    return measured.saw(text, outcome.elements, moved, steps[0] * scale, steps[-1] * scale)


def measure_at_other_scales(outcome: Outcome) -> Outcome:
    """Measures again where bars are wide, at steps of another scale, and takes each element from the sharper one."""
    probe, comparison = outcome.probe, outcome.comparison
    values, bounds = probe.point.values(probe.k), probe.point.subject.domain[probe.k]
    wanted = slice(None) if outcome.owner is None else np.flatnonzero(np.isin(outcome.owner, outcome.elements))
    for reach in _other_reaches(outcome):
        room = measure_room(values, bounds, reach)
        noise = measure_noise(probe.point, probe.k, room, outcome.generator, wanted)
        columns = _columns(outcome, replace(probe, room=room, noise=noise))
        other = _compare(outcome, columns)
        outcome = replace(outcome, measured=(*outcome.measured, columns)).saw(
            f"a {reach} scale gives a derivative of {{:.9g}} ± {{:.0e}}", other.elements, other.numeric, other.bar
        )
        comparison = _sharper(comparison, other)
    return replace(outcome, comparison=comparison)


def _columns(outcome: Outcome, probe: Probe) -> Columns:
    if outcome.owner is None:
        return measure_singly(probe, outcome.elements)
    return measure_elementwise(probe, outcome.owner, outcome.elements)


def _compare(outcome: Outcome, columns: Columns) -> Comparison:
    """Compares gradients with measured derivatives."""
    cotangents, analytic = outcome.cotangents, outcome.analytic[:, columns.elements]
    count, entry, element = columns.elements.size, columns.entries, columns.measured
    lost = np.isin(entry.kind, LOST)
    unknown = lost | ~np.isfinite(entry.low + entry.high)  # the bar of an entry without a value is infinite
    weights = cotangents[:, entry.output]

    def gather(values: FloatArray) -> FloatArray:
        rows = [np.bincount(entry.owner, weights=row, minlength=count) for row in values]
        return np.array(rows, dtype=np.float64).reshape(len(values), count)

    first, second = weights * np.where(unknown, 0.0, entry.low), weights * np.where(unknown, 0.0, entry.high)
    low, high = gather(np.minimum(first, second)), gather(np.maximum(first, second))
    largest = np.max(np.abs(cotangents), axis=1, initial=0.0)[:, None]
    entry_bar = np.where(lost | (weights == 0), 0.0, entry.bar)
    bar = gather(np.where(entry_bar > 0, np.abs(weights) * entry_bar, 0.0)) + largest * element.idle_bar
    own = gather(np.maximum(np.abs(first), np.abs(second)))
    peak = np.max(own, initial=0.0, keepdims=True)
    floor = BARS * (gather(np.abs(weights) * entry.floor) + largest * element.idle_floor)
    numeric = np.clip(np.nan_to_num(analytic), low, high)
    local = outcome.tolerance[columns.elements]
    allowance = local.allowance(numeric, bar, own, peak) + floor
    shared = np.broadcast_to(local.shared(peak), allowance.shape)
    status, kink = np.full(count, int(Status.RIGHT), dtype=np.int64), np.zeros(count, dtype=np.bool_)
    kink[entry.owner[entry.kind == Kind.KINK]] = True
    made = Comparison(columns.elements, analytic, low, high, bar, allowance, floor, shared, status, kink)
    decide(made, element.resolvable, peak)
    _mark_stairs(made, entry)
    _mark_lost(status, entry, analytic, np.any(weights != 0, axis=0))
    status[~np.isfinite(outcome.point.values(outcome.k).ravel()[columns.elements])] = Status.UNDEFINED
    return made


def decide(made: Comparison, resolvable: FloatArray, peak: FloatArray) -> None:
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


def _other_reaches(outcome: Outcome) -> list[Reach]:
    """Gives the other reaches worth trying: where bars are wide, the function may live on another scale than x."""
    comparison, scale = outcome.comparison, outcome.probe.room.scale
    wide = (comparison.bar > _WIDE * np.abs(comparison.numeric)) & (comparison.bar > 0)
    wide |= np.isin(comparison.status, (Status.WRONG, Status.UNSURE))
    wide |= (comparison.floor > 0) & (np.abs(comparison.analytic) > comparison.bar)
    if not wide.any():
        return []
    reaches: list[Reach] = []
    if (scale < _SMALL).any():
        reaches.append("wide")
    magnitude = np.abs(outcome.probe.point.values(outcome.k))
    if ((magnitude > 0) & (magnitude < _FAR_BELOW * scale)).any():
        reaches.append("narrow")
    return reaches


def _sharper(first: Comparison, second: Comparison) -> Comparison:
    """Takes each element from the comparison with the smaller bars; where the two contradict each other, neither."""
    # What rests on one ladder counts as blurred only by as much as the other ladder then shows.
    apart = np.abs(first.numeric - second.numeric)
    first_bar = first.bar + np.where(apart <= first.floor, first.floor, 0.0)
    second_bar = second.bar + np.where(apart <= second.floor, second.floor, 0.0)
    better = second_bar.max(axis=0, initial=0.0) < first_bar.max(axis=0, initial=0.0)
    better &= (second.status <= Status.UNSURE) & (first.status <= Status.UNSURE)
    better |= (second.status > Status.UNSURE) & (first.status == Status.UNSURE)
    gap = np.maximum(first.low - second.high, second.low - first.high)
    size = np.maximum(np.abs(first.numeric), np.abs(second.numeric))
    torn = (gap > BARS * (first_bar + second_bar) + APART * size).any(axis=0)
    torn &= (first.status <= Status.UNSURE) & (second.status <= Status.UNSURE)
    chosen = second.where(better, first)
    # A ladder that saw no change at all may be too fine to feel the function. Where an element is called wrong by that
    # alone, what the other one sees speaks against a fault, unless it is no more than a kink, which its steps crossed.
    flat_first, flat_second = ((one.low == 0).all(axis=0) & (one.high == 0).all(axis=0) for one in (first, second))
    first_alone = ~better & flat_first & first.wrong & ~second.wrong & ~second.kink
    second_alone = better & flat_second & second.wrong & ~first.wrong & ~first.kink
    unsure = torn | first_alone | second_alone
    return replace(
        chosen,
        bar=np.where(torn, np.maximum(chosen.bar, gap), chosen.bar),
        status=np.where(unsure, int(Status.UNSURE), chosen.status),
    )
