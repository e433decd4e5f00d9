"""The first steps of a judgement: gradients beside derivatives, measured at each element's own scale and others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status, compare
from gradcheck.judge.outcome import Outcome
from gradcheck.model.domain import Reach, measure_room
from gradcheck.model.dtypes import BoolArray
from gradcheck.numeric.columns import Columns, measure_elementwise, measure_singly
from gradcheck.numeric.ladder import RATIO, Probe
from gradcheck.numeric.noise import measure_noise
from gradcheck.numeric.tolerance import APART, BARS, FLOOR

# Bars wider than the relative error that every gradient is conceded are worth another ladder.
_WIDE = FLOOR
# A wide reach is at least 1, so below this it is at least one step of the ladder wider.
_SMALL = 1.0 / RATIO
# A narrow one is an element's own magnitude: worth it where that is three steps of the ladder below its scale.
_FAR_BELOW = RATIO**-3


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
    local = outcome.tolerance[columns.elements]
    comparison = compare(columns, outcome.probe.cotangents, outcome.analytic[:, columns.elements], local)
    moves = np.isfinite(outcome.probe.point.values(outcome.k).ravel()[columns.elements])
    return replace(comparison, status=np.where(moves, comparison.status, int(Status.UNDEFINED)))


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
    unsure = torn | _flat_only(better, first, second)
    return replace(
        chosen,
        bar=np.where(torn, np.maximum(chosen.bar, gap), chosen.bar),
        status=np.where(unsure, int(Status.UNSURE), chosen.status),
    )


def _flat_only(better: BoolArray, first: Comparison, second: Comparison) -> BoolArray:
    """Finds elements called wrong only because the chosen ladder saw no change at all.

    Such a ladder may be too fine to feel the function; what the other one sees then speaks against a fault, unless it
    sees no more than a kink, which its own steps crossed.
    """
    flat_first = (first.low == 0).all(axis=0) & (first.high == 0).all(axis=0)
    flat_second = (second.low == 0).all(axis=0) & (second.high == 0).all(axis=0)
    first_alone = ~better & flat_first & first.wrong & ~second.wrong & ~second.kink
    return np.asarray(first_alone | (better & flat_second & second.wrong & ~first.wrong & ~first.kink))
