"""The comparison of a subject's gradients with numeric derivatives at one point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status, compare
from gradcheck.judge.complex_step import sharpen
from gradcheck.judge.degenerate import excuse_degenerate
from gradcheck.judge.doubt import withdraw_doubtful
from gradcheck.judge.edges import excuse_edges
from gradcheck.judge.ties import excuse_ties
from gradcheck.model.cotangents import draw_cotangents, wiggle
from gradcheck.model.domain import Reach, Room, measure_room
from gradcheck.model.dtypes import FLOAT64_EPS, Array, BoolArray, FloatArray, IntArray, is_continuous, resolution
from gradcheck.model.evaluation import GIVEN, Point
from gradcheck.model.fitting import fit_gradient
from gradcheck.numeric.columns import Columns, measure_elementwise, measure_singly
from gradcheck.numeric.groups import is_elementwise, owners
from gradcheck.numeric.ladder import ladder_steps
from gradcheck.numeric.noise import measure_noise
from gradcheck.numeric.projection import Directional, Projector, locate
from gradcheck.numeric.sampling import sample_elements
from gradcheck.numeric.tolerance import FLOOR, VARIED_FLOOR, Tolerance

_MOST_BROKEN = 8


@dataclass(frozen=True)
class Gradients:
    """The subject's gradients at a point.

    Args:
        cotangents: shape (C, outputs).
        raw: for each cotangent, what vjp returned.
        wiggled: what vjp returned for the last cotangent changed by units in its last place.
    """

    cotangents: FloatArray
    raw: tuple[tuple[Array | None, ...], ...]
    wiggled: tuple[tuple[Array | None, ...], ...]


@dataclass(frozen=True)
class Limits:
    """How many elements of an input are judged.

    Args:
        singly: where each element needs a ladder of its own.
        together: where all elements share one ladder, as in elementwise functions.
    """

    singly: int
    together: int


@dataclass(frozen=True)
class Outcome:
    """What is known of one input's gradient at one point.

    Args:
        k: the input.
        comparison: element by element.
        size: number of elements of the input.
        owner: which element each output depends on, for elementwise functions; else None.
        shift: the judgement when all elements move together and no single element explains a fault; else None.
        sensitivity: smallest uniform relative error that would have been seen.
        missing: the subject returned None.
        measured: the entries of the Jacobian that it rests on, one or more measurements of each.
        tolerance: the rounding allowed to the subject.
        by_complex_step: how many elements the complex step judged, because finite differences could not.
    """

    k: int
    comparison: Comparison
    size: int
    owner: IntArray | None
    shift: Directional | None
    sensitivity: float
    missing: bool
    measured: tuple[Columns, ...]
    tolerance: Tolerance
    by_complex_step: int = 0


def take_gradients(point: Point, generator: np.random.Generator) -> Gradients:
    """Calls vjp for several cotangents.

    Raises:
        VjpError: the vjp raised.
    """
    is_short = max(point.vjp_eps, point.forward_eps) > FLOAT64_EPS
    cotangents = draw_cotangents(point.center, generator, is_short=is_short)
    raw = tuple(point.gradients(row) for row in cotangents)
    wiggled = [point.gradients(row) for row in wiggle(cotangents[-1], point.vjp_eps, generator)]
    return Gradients(cotangents, raw, tuple(wiggled))


def judge_input(point: Point, k: int, gradients: Gradients, limits: Limits, generator: np.random.Generator) -> Outcome:
    """Compares the gradient of input `k`, which must not be empty, with numeric derivatives.

    The limits bound how many elements are differentiated.
    """
    values = point.values(k)
    steps = ladder_steps(point.forward_eps)
    room = measure_room(values, point.subject.domain[k])
    owner = owners(point, k)
    if owner is not None and not is_elementwise(point, k, owner, room):
        owner = None
    elements = sample_elements(values.size, limits.singly if owner is None else limits.together, generator)
    analytic = _stack(gradients.raw, k, values)
    elements = _with_broken(elements, analytic, values)
    tolerance = _tolerance(point, k, gradients, analytic)
    wanted = slice(None) if owner is None else np.flatnonzero(np.isin(owner, elements))
    noise = measure_noise(point, k, room, generator, wanted)
    measured = [_measure(point, k, elements, owner, steps, noise, "typical")]
    comparison = _compare(measured[0], gradients, analytic, tolerance, values)
    for reach in _other_reaches(point, k, room, comparison):
        own_room = measure_room(values, point.subject.domain[k], reach)
        own_noise = measure_noise(point, k, own_room, generator, wanted)
        measured.append(_measure(point, k, elements, owner, steps, own_noise, reach))
        comparison = _sharper(comparison, _compare(measured[-1], gradients, analytic, tolerance, values))
    comparison, by_complex_step = sharpen(point, k, comparison, gradients.cotangents, tolerance, owner)
    comparison = excuse_edges(point, k, comparison, room, gradients.cotangents)
    sensitivity = comparison.smallest_error_seen()
    shift = None
    if owner is None:
        comparison = excuse_ties(point, k, comparison, room, gradients.cotangents, generator)
        projector = Projector(point, k, room, noise, steps, analytic, gradients.cotangents, tolerance)
        found, shift, seen = _project(projector, elements, comparison, generator)
        sensitivity = min(sensitivity, seen)
        if found.size:
            measured.append(_measure(point, k, found, None, steps, noise, "typical"))
            single = _compare(measured[-1], gradients, analytic, tolerance, values)
            single = excuse_edges(point, k, single, room, gradients.cotangents)
            single = excuse_ties(point, k, single, room, gradients.cotangents, generator)
            comparison = _joined(comparison, single)
    comparison = withdraw_doubtful(point, k, comparison, room, gradients.cotangents, steps, generator)
    comparison = excuse_degenerate(point, comparison, generator)
    missing = all(row[k] is None for row in gradients.raw)
    return Outcome(
        k, comparison, values.size, owner, shift, sensitivity, missing, tuple(measured), tolerance, by_complex_step
    )


def _stack(rows: Sequence[tuple[Array | None, ...]], k: int, values: FloatArray) -> FloatArray:
    fitted = [fit_gradient(row[k] if k < len(row) else None, values.shape) for row in rows]
    return np.array([np.full(values.size, np.nan) if row is None else row.ravel() for row in fitted])


def _tolerance(point: Point, k: int, gradients: Gradients, analytic: FloatArray) -> Tolerance:
    """Allows the rounding that the given dtypes and the forward function's own precision bring with them."""
    wiggled = _stack(gradients.wiggled, k, point.values(k))
    wiggle = np.max(np.abs(wiggled - analytic[-1]), axis=0, initial=0.0)
    eps = max(point.vjp_eps, point.forward_eps)
    gradient = gradients.raw[0][k]
    if point.is_short and gradient is not None and is_continuous(gradient.dtype):
        eps = max(eps, resolution(gradient.dtype))
    floor = FLOOR if point.label == GIVEN else VARIED_FLOOR
    return Tolerance(eps, np.nan_to_num(wiggle, nan=0.0, posinf=0.0), floor)


def _measure(
    point: Point, k: int, elements: IntArray, owner: IntArray | None, steps: FloatArray, noise: FloatArray, reach: Reach
) -> Columns:
    room = measure_room(point.values(k), point.subject.domain[k], reach)
    if owner is None:
        return measure_singly(point, k, room, noise, steps, elements)
    return measure_elementwise(point, k, room, noise, steps, owner, elements)


def _compare(
    columns: Columns, gradients: Gradients, analytic: FloatArray, tolerance: Tolerance, values: FloatArray
) -> Comparison:
    local = replace(tolerance, wiggle=tolerance.wiggle[columns.elements])
    comparison = compare(columns, gradients.cotangents, analytic[:, columns.elements], local)
    moves = np.isfinite(values.ravel()[columns.elements])
    return replace(comparison, status=np.where(moves, comparison.status, int(Status.UNDEFINED)))


def _with_broken(elements: IntArray, analytic: FloatArray, values: FloatArray) -> IntArray:
    """Adds some elements whose gradient is not finite: sums over directions leave them out, so they need a look."""
    broken = ~np.isfinite(analytic).all(axis=0) & np.isfinite(values.ravel())
    fresh = np.setdiff1d(np.flatnonzero(broken), elements)[:_MOST_BROKEN]
    return np.asarray(np.union1d(elements, fresh), dtype=np.int64)


def _other_reaches(point: Point, k: int, room: Room, comparison: Comparison) -> list[Reach]:
    """Gives the other reaches worth trying: where bars are wide, the function may live on another scale than x."""
    wide = (comparison.bar > 1e-9 * np.abs(comparison.numeric)) & (comparison.bar > 0)
    wide |= np.isin(comparison.status, (Status.WRONG, Status.UNSURE))
    wide |= (comparison.floor > 0) & (np.abs(comparison.analytic) > comparison.bar)
    if not wide.any():
        return []
    reaches: list[Reach] = []
    if (room.scale < 0.25).any():
        reaches.append("wide")
    magnitude = np.abs(point.values(k))
    if ((magnitude > 0) & (magnitude < 2.0**-6 * room.scale)).any():
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
    torn = (gap > 4.0 * (first_bar + second_bar) + 1e-9 * size).any(axis=0)
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


def _joined(first: Comparison, second: Comparison) -> Comparison:
    """Puts two comparisons together, in order of the elements; the second wins where both have one."""
    old = ~np.isin(first.elements, second.elements)
    both = Comparison.concat([first[old], second])
    return both[np.argsort(both.elements)]


def _project(
    projector: Projector, elements: IntArray, comparison: Comparison, generator: np.random.Generator
) -> tuple[IntArray, Directional | None, float]:
    """Checks all elements together: along ones, and along random signs when not every element was checked singly.

    Returns:
        Elements that are to be checked singly, the failing judgement along ones if no element explains it, and the
        smallest relative error seen.
    """
    size = projector.room.scale.size
    none = np.zeros(0, dtype=np.int64)
    seen = np.inf
    directions = [np.ones(size)]
    if elements.size < size:
        directions += [generator.choice([-1.0, 1.0], size) for _ in range(2)]
    if comparison.wrong.any() or size == 1:
        return none, None, seen
    usable = projector.usable()
    for number, signs in enumerate(directions):
        signs = signs * usable
        judged = projector.along(signs)
        if judged.sharp:
            seen = min(seen, judged.sensitivity)
        if judged.wrong:
            suspects = locate(projector, signs)
            fresh = np.setdiff1d(suspects, elements)
            if fresh.size:
                return fresh, None, seen
            is_fault = number == 0 and projector.persists(signs, judged, generator)
            return none, judged if is_fault else None, seen
    return none, None, seen
