"""A second look at elements found wrong: whether rounding, of the inputs or inside forward, could be all of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status
from gradcheck.judge.outcome import Outcome
from gradcheck.model.dtypes import FLOAT64_EPS, BoolArray, FloatArray, IntArray
from gradcheck.model.evaluation import Point
from gradcheck.model.perturb import SIGNS, perturb_inputs
from gradcheck.numeric.ladder import Ladder

# As many elements as a message has use for: each costs a ladder of steps.
_MOST = 64
# Inputs are known to half a unit; two units, three times, show more of what a rounding does than one did by chance.
_PERTURBATIONS = 3
_UNITS = 2
# Four times what the draws showed is conceded: they are few, and each shows a random part of what a rounding can do.
_SPREADS = 4.0
# Outputs that a rounding of the inputs moves by less are computed soundly, as their gradients can be then.
_MOVES_UNITS = 256.0
# By a thousandth of their size: no digit but the first three means anything, and no gradient is judged by three.
_RANDOM_SHARE = 1e-3
# Rounding units that numbers on the way, of the size of the inputs, the outputs or one, may have lost together.
_HIDDEN = 8.0
# As `_BINARY_SHARE` of `numeric/quanta.py`: a larger power of two is a quantiser's step, and the function itself.
_GRID_SHARE = 2e-3
# The least change seen may be several units of a grid; more than eight of one are never the least of forty changes.
_PARTS = (1, 2, 3, 4, 5, 6, 7, 8)
# A step speaks for one of two values where it is nearer to it by this factor; else it speaks for none.
_NEARER = 0.5


def withdraw_rounding(outcome: Outcome) -> Outcome:
    """Calls wrong elements unsure where one of two things explains the difference.

    The inputs are known to half a unit in their last place only. Where a change of so little moves the subject's own
    gradient as far as it is wrong, and forward by more than rounding too, as next to a singular matrix, neither value
    means anything.

    A forward function may round on the way, in units of numbers near one: log(1 + exp(x)) at -34 is a staircase, and
    between two of its steps has a slope of its own. That slope shows only in changes below such units, and longer
    steps, which climb many stairs, support the subject.
    """
    comparison = outcome.comparison
    suspects = np.flatnonzero(comparison.wrong & ~comparison.kink)[:_MOST]
    if not suspects.size:
        return outcome
    outcome, moves = _moves_with_rounding(outcome, comparison[suspects])
    outcome, below = _is_below_rounding(outcome, comparison[suspects[~moves]])
    status = comparison.status.copy()
    status[suspects[moves]] = Status.UNSURE
    status[suspects[~moves][below]] = Status.UNSURE
    return replace(outcome, comparison=replace(comparison, status=status))


def _moves_with_rounding(outcome: Outcome, suspects: Comparison) -> tuple[Outcome, BoolArray]:
    probe, analytic = outcome.probe, suspects.analytic
    spread = np.zeros_like(analytic)
    forward_moves = False
    for _ in range(_PERTURBATIONS):
        near = probe.at(_perturbed(probe.point, outcome.generator))
        if near is None:  # so near to the edge of what the subject accepts
            continue
        forward_moves |= _is_far(near.center, probe.point.center, _MOVES_UNITS * FLOAT64_EPS)
        for row, gradient in enumerate(near.gradients):
            if gradient is not None:
                moved = np.abs(gradient.ravel()[suspects.elements] - analytic[row])
                spread[row] = np.fmax(spread[row], moved)
    distance = np.abs(analytic - suspects.numeric)
    allowed = suspects.allowance + _SPREADS * spread
    forward = "far" if forward_moves else "by no more than rounding"
    text = f"a rounding of the inputs moves yours by {{:.0e}}, and forward {forward}"
    outcome = outcome.saw(text, suspects.elements, spread)
    return outcome, np.asarray((distance <= allowed).all(axis=0) & forward_moves)


def is_at_random(point: Point, generator: np.random.Generator) -> bool:
    """Says whether rounding of the inputs moves outputs by a share of their size, as next to a singular matrix."""
    for _ in range(_PERTURBATIONS):
        try:
            near = Point(point.subject, _perturbed(point, generator), point.label)
        except Exception:  # forward itself is at the edge of what it accepts
            return True
        point.evaluations += 1
        if _is_far(near.center, point.center, _RANDOM_SHARE):
            return True
    return False


def _is_far(first: FloatArray, second: FloatArray, share: float) -> bool:
    """Says whether two sets of outputs differ by more than a share of the largest."""
    if first.size != second.size:
        return True
    moved = np.abs(first - second)
    return not np.isfinite(moved).all() or bool((moved > share * np.max(np.abs(second), initial=0.0)).any())


def _perturbed(point: Point, generator: np.random.Generator) -> tuple[object, ...]:
    """Changes every element of every floating input by a few units in the last place, up or down, inside its domain."""
    return perturb_inputs(point.inputs, FLOAT64_EPS * _UNITS * SIGNS, generator, point.subject.domain)


def _is_below_rounding(outcome: Outcome, suspects: Comparison) -> tuple[Outcome, BoolArray]:
    probe, room, cotangents = outcome.probe, outcome.probe.room, outcome.probe.cotangents
    rounding = _HIDDEN * probe.point.forward_eps * max(1.0, *_sizes(probe.point, probe.k))
    found: BoolArray = np.zeros(suspects.elements.size, dtype=np.bool_)
    for place, element in enumerate(suspects.elements.tolist()):
        ladder = probe.along(probe.only(element))
        plus, minus = ladder.plus, ladder.minus
        hidden = np.maximum(rounding, _grid(ladder))
        width = probe.steps * room.scale.flat[element] * float(room.up.flat[element] + room.down.flat[element])
        with np.errstate(all="ignore"):
            slopes = (np.nan_to_num(plus - minus) @ cotangents.T) / width[:, None]  # a step's estimate, shape (K, C)
        analytic, numeric = suspects.analytic[:, place], suspects.numeric[:, place]
        far = np.abs(analytic - numeric) > suspects.allowance[:, place]
        to_numeric, to_analytic = np.abs(slopes - numeric), np.abs(slopes - analytic)
        moves = (plus != ladder.center).any(axis=0) | (minus != ladder.center).any(axis=0)
        seen = np.abs(analytic - numeric) * width[:, None] > np.abs(cotangents[:, moves]) @ hidden[moves]
        favours, supports = to_analytic < _NEARER * to_numeric, to_numeric < _NEARER * to_analytic
        against = (_first(favours) < _first(supports)) & ~(supports & seen).any(axis=0)
        found[place] = bool(against[far].all()) if far.any() else False
    text = "all that speaks against yours lies below what forward may round on the way"
    return outcome.saw(text, suspects.elements[found]), found


def _first(where: BoolArray) -> IntArray:
    """Gives the first true row of each column, or the number of rows."""
    return np.where(where.any(axis=0), where.argmax(axis=0), len(where))


def _sizes(point: Point, k: int) -> list[float]:
    return [float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))) for a in (point.values(k), point.center)]


def _grid(ladder: Ladder) -> FloatArray:
    """Gives for each output the power of two that all its changes are multiples of, where it is small beside them.

    A large number that is added and taken away again leaves its last digit behind as such a grid; shape (outputs,).
    """
    changes = np.nan_to_num(ladder.changes, posinf=0.0)
    least = np.min(np.where(changes > 0, changes, np.inf), axis=0)
    found = np.zeros(ladder.center.shape)
    with np.errstate(all="ignore"):
        for parts in _PARTS:
            unit = least / parts
            whole = (np.mod(changes, unit) == 0).all(axis=0) & (np.frexp(unit)[0] == 0.5)
            found = np.where((found == 0) & whole & (unit < _GRID_SHARE * changes.max(axis=0)), unit, found)
    return found
