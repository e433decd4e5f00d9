"""All elements of an input moved together, which finds faults that single elements do not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradcheck.judge.measure import measure
from gradcheck.judge.outcome import Comparison, Directional, Outcome
from gradcheck.judge.second_look import accept_edges, accept_ties
from gradcheck.model.dtypes import FloatArray, IntArray
from gradcheck.model.perturb import perturb_within
from gradcheck.numeric.columns import derive
from gradcheck.numeric.kinks import Derivative, Kind
from gradcheck.numeric.ladder import Ladder, Neighbour, displacements
from gradcheck.numeric.tolerance import BARS, CLEAR, PERTURBED, SHARP, UNDERFLOW, UNITS

# Two, since along one a fault of several elements may cancel by chance.
_DIRECTIONS = 2
# What is asked of an element that only a direction led to.
_SINGLY = {"measure": measure, "edges": accept_edges, "ties": accept_ties}
# Units of what a step of one scale can move the outputs by, which terms of a backward may lose when they cancel.
_CANCELLED = 256.0
# Elements that a failing direction leads to: enough to name a place, as of those that are not finite.
_SUSPECTS = 8
# A fault of less than this share is none of a gradient of which rounding alone is left: that is off by its own size.
_GROSS = 1e-2
# Else it has to be the same, to a tenth, at four places so near that a smooth gradient is.
_REPEATS = 4
_REPEAT_DISTANCE = 2.0**-24
_STEADY = 0.1


def judge_together(outcome: Outcome) -> Outcome:
    """Checks all elements together, and measures singly those that a failing direction leads to.

    Along ones, and along random signs when not every element was measured. An elementwise function needs none of it:
    each of its elements moves outputs of its own.
    """
    outcome = replace(outcome, sensitivity=outcome.comparison.smallest_error_seen())
    if outcome.owner is not None:
        return outcome
    outcome, found = _project(outcome)
    if not found.size:
        return outcome
    single = replace(outcome, elements=found, facts=()).after(_SINGLY)
    both = Comparison.concat([outcome.comparison, single.comparison])  # of different elements
    return replace(single, comparison=both[np.argsort(both.elements)], facts=outcome.facts)


def _project(outcome: Outcome) -> tuple[Outcome, IntArray]:
    """Gives the outcome along the directions, and elements that are to be measured singly."""
    none = np.zeros(0, dtype=np.int64)
    directions = [np.ones(outcome.size)]
    if outcome.elements.size < outcome.size:
        directions += [outcome.generator.choice([-1.0, 1.0], outcome.size) for _ in range(_DIRECTIONS)]
    if outcome.comparison.wrong.any() or outcome.size == 1:
        return outcome, none
    usable = np.isfinite(outcome.point.values(outcome.k)).ravel() & np.isfinite(outcome.analytic).all(axis=0)
    directions = [np.where(usable, signs, 0.0) for signs in directions]
    for number, (signs, derivative) in enumerate(zip(directions, _derivatives(outcome, directions), strict=True)):
        judged = _along(outcome, signs, derivative)
        direction = "ones" if number == 0 else "random signs"
        said = "wrong" if judged.wrong else "right" if judged.sharp else "no verdict"
        text = f"all elements along {direction}, yours {{:.6g}}, derivative {{:.6g}} ± {{:.0e}}: {said}"
        numbers = [np.full(outcome.size, number) for number in (judged.analytic, judged.numeric, judged.bar)]
        outcome = outcome.saw(text, np.arange(outcome.size), *numbers)
        if judged.sharp:
            outcome = replace(outcome, sensitivity=min(outcome.sensitivity, judged.sensitivity))
        if judged.wrong:
            fresh = np.setdiff1d(_locate(outcome, signs), outcome.elements)
            if fresh.size:
                return outcome, fresh
            is_fault = number == 0 and _persists(outcome, signs, judged)
            return replace(outcome, shift=judged if is_fault else None), none
    return outcome, none


def _derivatives(outcome: Outcome, directions: Sequence[FloatArray]) -> list[Derivative]:
    """Gives the derivatives of all outputs along each direction, read off all ladders at once."""
    whole = derive(Ladder.concat([outcome.probe.along(_free(outcome, signs)) for signs in directions]))
    count = outcome.point.size
    return [whole[n * count : (n + 1) * count] for n in range(len(directions))]


def _along(outcome: Outcome, signs: FloatArray, derivative: Derivative) -> Directional:
    """Compares derivatives along a direction with entries -1, 0 and 1, shape (size,), in units of each scale."""
    probe, tolerance, move = outcome.probe, outcome.tolerance, _move(outcome, signs).ravel()
    defined = derivative.kind != Kind.UNDEFINED
    lost = np.isin(derivative.kind, (Kind.JUMP, Kind.STEEP)) | ~np.isfinite(derivative.bar)
    # An output that is finite itself, with nothing finite beside it, has no derivative to weigh.
    if (lost & defined).any() or probe.cotangents[:, ~defined].any():
        return Directional(False, False, np.inf, np.nan, np.nan, np.inf)
    weights, derivative = probe.cotangents[:, defined], derivative[defined]
    ends = weights * derivative.low, weights * derivative.high
    low, high = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
    bar = np.abs(weights) @ derivative.bar
    # A step of one scale moves an output by its size at most; terms as large may cancel in a backward.
    floor = _CANCELLED * tolerance.eps * np.abs(weights) @ np.abs(probe.point.center[defined])
    terms = np.where(move == 0, 0.0, outcome.analytic) * move
    analytic, spread = terms.sum(axis=1), np.sqrt((terms**2).sum(axis=1))
    numeric = np.clip(np.nan_to_num(analytic), low, high)
    perturbed = float(np.abs(move) @ tolerance.perturbed)
    relative = max(tolerance.floor, UNITS * tolerance.eps)
    allowance = BARS * bar + relative * np.maximum(spread, np.abs(numeric)) + PERTURBED * perturbed + floor
    allowance = allowance + UNDERFLOW * np.count_nonzero(move) + tolerance.declared * np.abs(move).sum()
    distance = np.abs(analytic - numeric)
    with np.errstate(all="ignore"):
        excess, seen = distance / allowance, allowance / np.abs(numeric)
    worst = int(np.argmax(np.nan_to_num(excess)))
    size = max(abs(analytic[worst]), abs(numeric[worst]), spread[worst])
    return Directional(
        wrong=bool(distance[worst] > allowance[worst]) and bool(bar[worst] < CLEAR * distance[worst]),
        sharp=bool(BARS * bar[worst] <= SHARP * size or size == 0.0),
        sensitivity=float(np.min(seen)),
        analytic=float(analytic[worst]),
        numeric=float(numeric[worst]),
        bar=float(bar[worst]),
    )


def _persists(outcome: Outcome, signs: FloatArray, judged: Directional) -> bool:
    """Says whether the subject's derivative stays what it was when all elements have moved on together.

    Elements that are counted too often at a tie still are. Where nothing but rounding is left of the gradient, as
    that of a deviation of equal numbers, it is another one each time. Numbers that move by one amount may round alike
    as well, as those of a normalization far from 0: moved a little, each by its own amount, they do not, while a tie
    that is broken leaves a gradient that is right.
    """
    distance = abs(judged.analytic - judged.numeric)
    if distance < _GROSS * max(abs(judged.analytic), abs(judged.numeric)):
        return True
    move, probe = _move(outcome, signs), outcome.probe
    before = (np.where(move.ravel() == 0, 0.0, outcome.analytic) * move.ravel()).sum(axis=1)
    row = int(np.argmin(np.abs(before - judged.analytic)))
    for _ in range(_REPEATS):
        near = probe.neighbour(_REPEAT_DISTANCE * float(outcome.generator.uniform(0.5, 1.0)) * move)
        if near is not None and not (np.abs(_summed(near, move) - before) <= _STEADY * distance).all():
            return False
        inputs = list(probe.point.inputs)
        values = perturb_within(probe.point.values(probe.k), _REPEAT_DISTANCE, outcome.generator)
        inputs[probe.k] = probe.point.moved(probe.k, values)
        near = probe.at(inputs)
        after = before if near is None else _summed(near, move)
        if not min(abs(after[row] - before[row]), abs(after[row] - judged.numeric)) <= _STEADY * distance:
            return False
    return True


def _summed(near: Neighbour, move: FloatArray) -> FloatArray:
    """Gives the subject's derivative along a move at a point near by, for each cotangent; nan where it gives none."""
    return np.array([np.nan if g is None else float((g * move).sum()) for g in near.gradients])


def _free(outcome: Outcome, signs: FloatArray) -> FloatArray:
    """Leaves out elements at a bound, which can not move both ways; they are left to single checks."""
    return signs.reshape(outcome.probe.room.scale.shape) * outcome.probe.free()


def _move(outcome: Outcome, signs: FloatArray) -> FloatArray:
    return np.asarray(displacements(outcome.probe.room, _free(outcome, signs))[0])


def _locate(outcome: Outcome, signs: FloatArray) -> IntArray:
    """Halves a direction that fails until single elements fail; gives up to 8 suspicious flat indices."""
    suspects: list[int] = []
    pending = [np.flatnonzero(signs)]
    while pending and len(suspects) < _SUSPECTS:
        part = pending.pop()
        if part.size == 1:
            suspects.append(int(part[0]))
            continue
        for half in (part[part.size // 2 :], part[: part.size // 2]):
            masked = np.zeros_like(signs)
            masked[half] = signs[half]
            if _along(outcome, masked, *_derivatives(outcome, [masked])).wrong:
                pending.append(half)
    return np.array(sorted(suspects), dtype=np.int64)
