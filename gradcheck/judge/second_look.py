"""A second look at elements found wrong: at edges and ties, beside rounding, and where the checker chose the values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gradcheck.judge.bends import has_slope, is_bent
from gradcheck.judge.outcome import Comparison, Outcome, Status
from gradcheck.model.dtypes import FLOAT64_EPS, BoolArray, FloatArray, IntArray, as_float64
from gradcheck.model.evaluation import GIVEN, Point
from gradcheck.model.perturb import perturb_inputs
from gradcheck.numeric.ladder import Ladder

# In shares of the element's scale; the function may live on a finer one, down to where steps drown in rounding.
_DISTANCES = (2.0**-24, 2.0**-34, 2.0**-44)
# The subject's gradient inside has to be so much nearer to the derivative than the one at the edge: it bends by 2**-24
# of itself on the way, so a thousandth leaves room for a second derivative ten thousand times as large.
_MUCH_NEARER = 1e-3

# Random orders of forty tied elements show an element in a given place, but for one time in a hundred.
_BROKEN_TIES = 192
# Breaks ties, and changes a smooth gradient by less than `_SLACK`, a thousandfold second derivative included.
_BREAKING = 2.0**-30
_SLACK = 1e-6
# Likewise where the slope beside the tie is looked at, by steps that do not cross another one.
_BENDING = 2.0**-24
_NEAR_TIES = 4
# What a vjp of a short dtype has to tell elements apart by, in its roundings; a gradient changes on the way by as many
# times that as its second derivative is large.
_SHORT_BREAKING, _SHORT_SLACK = 32.0, 16.0

# As many elements as a message has use for: each costs a ladder of steps.
_MOST = 64
# Inputs are known to half a unit; one or two units, three times, show more of what a rounding does than one did by
# chance. Two for all would leave a sum of two numbers as odd or even as it was, and so rounded alike.
_PERTURBATIONS = 3
_UNITS = FLOAT64_EPS * np.array([-2.0, -1.0, 1.0, 2.0])
# What three leave unexplained may be luck where forward moves by more than rounding: each hides a carry half the time.
_MORE = 9
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


def accept_edges(outcome: Outcome) -> Outcome:
    """Accepts finite gradients at an edge that differ from the derivative there, but not beside it.

    A clip whose bounds are also those of the domain has a kink at the edge, and only the inner side is ever seen. A
    subject that chooses the outer one is right; the same subject a little inside shows that its fault is no other.
    """
    comparison, room = outcome.comparison, outcome.probe.room
    closed = ~outcome.probe.free().ravel()[comparison.elements]
    suspects = np.flatnonzero(comparison.wrong & closed & np.isfinite(comparison.analytic).all(axis=0))
    if not suspects.size:
        return outcome
    edge = comparison[suspects]
    distance = np.abs(edge.analytic - np.clip(edge.analytic, edge.low, edge.high))
    far = distance > edge.allowance
    is_right: BoolArray = np.zeros(suspects.size, dtype=np.bool_)
    least = distance
    for share in _DISTANCES:
        shift = np.zeros(room.scale.shape)
        shift.flat[edge.elements] = (share * room.scale * (room.up - room.down)).ravel()[edge.elements]
        near = outcome.probe.neighbour(shift)
        if near is None:
            continue
        blank = np.full(suspects.size, np.nan)
        inside = np.array([blank if g is None else g.ravel()[edge.elements] for g in near.gradients])
        left = np.abs(inside - np.clip(inside, edge.low, edge.high))
        least = np.fmin(least, left)
        is_right |= ((left <= _MUCH_NEARER * distance) | ~far).all(axis=0)
    text = "here yours is {:.2g} away from the derivative, a little inside the domain {:.2g}"
    accepted = replace(
        comparison,
        low=np.minimum(comparison.low, comparison.analytic),
        high=np.maximum(comparison.high, comparison.analytic),
        status=np.full(comparison.status.shape, int(Status.RIGHT)),
        kink=np.ones(comparison.kink.shape, dtype=np.bool_),
    ).where(np.isin(comparison.elements, edge.elements[is_right]), comparison)
    return replace(outcome, comparison=accepted).saw(text, edge.elements, distance, least)


def accept_ties(outcome: Outcome) -> Outcome:
    """Accepts, where there is no derivative, gradients that lie between the subject's own gradients at nearby points.

    Of three equal elements, a stable sort sends the second to the middle place, which neither raising nor lowering it
    alone does; breaking the tie in random ways shows all places. The subject's gradients are taken there because at
    points without ties they are judged on their own. The sum over elements that move together is judged elsewhere. No
    element of an elementwise function is tied to another.

    Raising or lowering one of three equal elements leaves their median as it is: single elements seem to have a
    derivative, of 0, where their sum has another. That shows where an element is moved together with others. There
    the subject's gradients beside the tie count only where they have the slope that forward has. An element whose
    gradient is none of them, as of one that is greatest and least at once, has no right one and no wrong one.
    """
    comparison = outcome.comparison
    if outcome.owner is not None or not comparison.wrong.any():
        return outcome
    plain = np.flatnonzero(comparison.wrong & ~comparison.kink)[:_MOST]
    plain = plain[is_bent(outcome, comparison.elements[plain])]
    suspects = np.union1d(np.flatnonzero(comparison.wrong & comparison.kink), plain).astype(np.int64)
    if not suspects.size:
        return outcome
    tied, bent = comparison[suspects], np.isin(suspects, plain)
    point, sloping = outcome.point, 0
    breaking = max(_BENDING if bent.any() else _BREAKING, _SHORT_BREAKING * point.vjp_eps)
    values = point.values(outcome.k)
    low, high = tied.low, tied.high
    inside: BoolArray = np.zeros(suspects.size, dtype=np.bool_)
    probe, room = outcome.probe, outcome.probe.room
    for _ in range(_BROKEN_TIES):
        shift = breaking * room.scale * outcome.generator.uniform(-1.0, 1.0, room.scale.shape)
        shift = np.where(shift > 0, shift * room.up, shift * room.down)
        if point.vjp_eps > FLOAT64_EPS:
            shift = as_float64(point.given_to_vjp(outcome.k, values + shift)) - values
        near = probe.neighbour(shift)
        gradients = [] if near is None else [gradient for gradient in near.gradients if gradient is not None]
        if near is not None:  # so many neighbours would end a small budget before other values
            point.evaluations -= len(outcome.cotangents)
        if len(gradients) < len(outcome.cotangents):  # forward or vjp refuses the neighbour
            gradients = []
        if gradients and bent.any() and not has_slope(outcome, shift, gradients):
            sloping += 1
            if sloping <= _NEAR_TIES:  # two elements may be as near to each other as the step is long
                continue
            gradients = []
        for row, gradient in enumerate(gradients):
            low[row] = np.fmin(low[row], gradient.ravel()[tied.elements])
            high[row] = np.fmax(high[row], gradient.ravel()[tied.elements])
        slack = tied.allowance + max(_SLACK, _SHORT_SLACK * breaking) * np.maximum(np.abs(low), np.abs(high))
        inside = np.all((tied.analytic >= low - slack) & (tied.analytic <= high + slack), axis=0)
        if inside.all() or not gradients:
            break
    outcome = outcome.saw("with the tie broken, yours goes from {:.6g} to {:.6g}", tied.elements, low, high)
    outcome = outcome.called(Status.RIGHT, suspects[inside])
    known = np.isfinite(tied.analytic).all(axis=0) | (point.label != GIVEN)
    return outcome.called(Status.BENT, suspects[bent & known & ~inside]) if gradients else outcome


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
    return outcome.called(Status.UNSURE, np.append(suspects[moves], suspects[~moves][below]))


def _moves_with_rounding(outcome: Outcome, suspects: Comparison) -> tuple[Outcome, BoolArray]:
    probe, analytic = outcome.probe, suspects.analytic
    spread = np.zeros_like(analytic)
    forward_moves = False
    distance = np.abs(analytic - suspects.numeric)
    allowed = suspects.allowance
    for number in range(_PERTURBATIONS + _MORE):
        if number >= _PERTURBATIONS and (not forward_moves or (distance <= allowed).all()):
            break
        near = probe.at(jittered(probe.point, outcome.generator))
        if near is None:  # so near to the edge of what the subject accepts
            continue
        forward_moves |= _is_far(near.center, probe.point.center, _MOVES_UNITS * FLOAT64_EPS)
        for row, gradient in enumerate(near.gradients):
            if gradient is not None:
                moved = np.abs(gradient.ravel()[suspects.elements] - analytic[row])
                spread[row] = np.fmax(spread[row], moved)
        allowed = suspects.allowance + _SPREADS * spread
    forward = "far" if forward_moves else "by no more than rounding"
    text = f"a rounding of the inputs moves yours by {{:.0e}}, and forward {forward}"
    outcome = outcome.saw(text, suspects.elements, spread)
    return outcome, np.asarray((distance <= allowed).all(axis=0) & forward_moves)


def is_at_random(point: Point, generator: np.random.Generator) -> bool:
    """Says whether rounding of the inputs moves outputs by a share of their size, as next to a singular matrix."""
    for _ in range(_PERTURBATIONS):
        try:
            near = Point(point.subject, jittered(point, generator), point.label)
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


def jittered(point: Point, generator: np.random.Generator) -> tuple[object, ...]:
    """Changes every element of every floating input by a few units in the last place, up or down, inside its domain."""
    return perturb_inputs(point.inputs, _UNITS, generator, point.subject)


def _is_below_rounding(outcome: Outcome, suspects: Comparison) -> tuple[Outcome, BoolArray]:
    probe, room = outcome.probe, outcome.probe.room
    arrays = probe.point.values(probe.k), probe.point.center
    sizes = (float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array))) for array in arrays)
    rounding = _HIDDEN * probe.point.forward_eps * max(1.0, *sizes)
    found: BoolArray = np.zeros(suspects.elements.size, dtype=np.bool_)
    for place, (element, ladder, weights) in enumerate(_alone(outcome, suspects.elements)):
        plus, minus = ladder.plus, ladder.minus
        hidden = np.maximum(rounding, _grid(ladder))
        width = probe.steps * room.scale.flat[element] * float(room.up.flat[element] + room.down.flat[element])
        with np.errstate(all="ignore"):
            slopes = (np.nan_to_num(plus - minus) @ weights.T) / width[:, None]  # a step's estimate, shape (K, C)
        analytic, numeric = suspects.analytic[:, place], suspects.numeric[:, place]
        far = np.abs(analytic - numeric) > suspects.allowance[:, place]
        to_numeric, to_analytic = np.abs(slopes - numeric), np.abs(slopes - analytic)
        seen = np.abs(analytic - numeric) * width[:, None] > np.abs(weights) @ hidden
        favours, supports = to_analytic < _NEARER * to_numeric, to_numeric < _NEARER * to_analytic
        finer = slice(len(probe.steps) // 2, None)
        if (plus[finer] == ladder.center).all() and (minus[finer] == ladder.center).all():
            favours |= (slopes - numeric) / (analytic - numeric) > 1.0  # a stair is steeper than the slope in its place
        against = (_first(favours) < _first(supports)) & ~(supports & seen).any(axis=0)
        found[place] = bool(against[far].all()) if far.any() else False
    text = "all that speaks against yours lies below what forward may round on the way"
    return outcome.saw(text, suspects.elements[found]), found


def _alone(outcome: Outcome, elements: IntArray) -> Iterator[tuple[int, Ladder, FloatArray]]:
    """Gives each element, the ladder of the outputs that it moves, and the cotangents of these."""
    probe, owner, outputs = outcome.probe, outcome.owner, np.arange(outcome.point.size)
    if owner is not None and elements.size:
        outputs = np.flatnonzero(np.isin(owner, elements))
        together = probe.along(np.ones(probe.room.scale.shape), outputs)
    for element in elements.tolist():
        whole = probe.singly(element) if owner is None else together
        moving = ((whole.plus != whole.center) | (whole.minus != whole.center)).any(axis=0)
        if owner is not None:
            moving &= owner[outputs] == element
        yield element, whole[moving], outcome.cotangents[:, outputs[moving]]


def _first(where: BoolArray) -> IntArray:
    """Gives the first true row of each column, or the number of rows."""
    return np.where(where.any(axis=0), where.argmax(axis=0), len(where))


def _grid(ladder: Ladder) -> FloatArray:
    """Gives for each output the power of two that all its changes are multiples of, where it is small beside them.

    A large number that is added and taken away again leaves its last digit behind as such a grid; shape (outputs,).
    """
    changes = ladder.moves
    found = np.zeros(ladder.center.shape)
    with np.errstate(all="ignore"):
        for parts in _PARTS:
            unit = ladder.least_move / parts
            whole = (np.mod(changes, unit) == 0).all(axis=0) & (np.frexp(unit)[0] == 0.5)
            found = np.where((found == 0) & whole & (unit < _GRID_SHARE * changes.max(axis=0)), unit, found)
    return found


def withdraw_degenerate(outcome: Outcome) -> Outcome:
    """Takes a gradient that is not finite for none at all, at kinks and lengths of one that were not given.

    The deviation of a single number and the distance of two equal ones are 0 / 0 in most derivatives, and nobody who
    passes other values asks for them. At the given inputs the same is a fault, as it is where the derivative exists:
    a product that is divided by a factor of zero gives nothing for a number that is known.

    Where a rounding of the inputs moves forward by a share of its size, as the solution of a system that repeated
    values made singular, every number is chance, and nothing is wrong.
    """
    point, comparison = outcome.point, outcome.comparison
    asked = comparison.elements[comparison.wrong]
    if point.label == GIVEN or not asked.size:
        return outcome
    if is_at_random(point, outcome.generator):
        outcome = outcome.saw("a rounding of the inputs moves forward by a share of its size", asked)
        return outcome.called(Status.UNSURE, comparison.wrong)
    broken = comparison.wrong & ~np.isfinite(comparison.analytic).all(axis=0)
    is_chosen = comparison.kink | point.is_single
    outcome = outcome.saw("yours is not finite, at a place that the checker chose", comparison.elements[broken])
    return outcome.called(Status.UNDEFINED, broken & is_chosen)
