"""The picture of a wrong gradient: what was judged, put into plain numbers, and what a closer look adds."""

from __future__ import annotations

import numpy as np

from gradcheck.explain.jacobian import WORDS, map_jacobian
from gradcheck.explain.wording import as_given, find_worst
from gradcheck.judge.compare import Comparison, Status
from gradcheck.judge.outcome import Gradients, Outcome
from gradcheck.model.budget import Budget
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import FloatArray, IntArray, is_complex
from gradcheck.model.evaluation import Point
from gradcheck.numeric.ladder import climb, displacements, ladder_steps
from gradcheck.picture import GradientMap, Picture, StepCurve

# As many as one sees at a glance, and as a report can hold.
_MOST_ELEMENTS = 1024
_MOST_OUTPUTS = 64
_SHARE = 0.02  # of the forward calls, for vjp's of single outputs


def depict(point: Point, outcome: Outcome, gradients: Gradients, budget: Budget) -> Picture:
    """Takes the picture of a wrong gradient.

    Args:
        point: where.
        outcome: has at least one wrong element.
        gradients: the judged ones.
        budget: of the run; bounds how many outputs are looked at singly.
    """
    comparison = outcome.comparison
    row, position = _clearest(comparison)
    worst = int(comparison.elements[position])
    outputs = budget.elements(_MOST_OUTPUTS, 1, _SHARE)
    return Picture(
        _map_gradient(point, outcome, row, position),
        map_jacobian(point, outcome, worst, outputs),
        draw_curve(
            point,
            outcome.k,
            worst,
            gradients.cotangents[row],
            float(comparison.analytic[row, position]),
            float(comparison.numeric[row, position]),
        ),
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


def _map_gradient(point: Point, outcome: Outcome, row: int, position: int) -> GradientMap:
    comparison = as_given(outcome)
    shape = point.values(outcome.k).shape
    part = _window(comparison.elements, position, shape)
    return GradientMap(
        shape,
        is_complex(np.asarray(point.given[outcome.k]).dtype),
        "ones" if row == 0 else "random numbers",
        comparison.elements.size,
        tuple(comparison.elements[part].tolist()),
        tuple(comparison.analytic[row, part].tolist()),
        tuple(comparison.numeric[row, part].tolist()),
        tuple(comparison.allowance[row, part].tolist()),
        tuple(WORDS.get(Status(status), "skipped") for status in comparison.status[part]),
        int(comparison.elements[position]),
    )


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


def draw_curve(
    point: Point, k: int, element: int, cotangent: FloatArray, analytic: float, numeric: float
) -> StepCurve | None:
    """Follows the difference quotients of one element from large steps to small ones.

    Args:
        point: where.
        k: the input.
        element: flat index of the element that moves.
        cotangent: weights of the outputs, flat.
        analytic: the subject's value.
        numeric: the settled derivative.

    Returns:
        The curve; None where a value is not finite, or no step gives a finite quotient.
    """
    values = point.values(k)
    room = measure_room(values, point.subject.domain[k])
    signs = np.zeros(values.shape)
    signs.flat[element] = 1.0
    steps = ladder_steps(point.forward_eps)
    weighs = np.flatnonzero(cotangent)
    ahead, behind = climb(point, k, displacements(room, signs), steps, weighs)
    sides = float(room.up.flat[element]), float(room.down.flat[element])
    distance = steps * float(room.scale.flat[element])
    if not any(sides):
        return None
    quotients = (ahead - behind) @ cotangent[weighs] / (sum(sides) * distance)
    usable = np.isfinite(quotients) & bool(np.isfinite([analytic, numeric]).all())
    if not usable.any():
        return None
    return StepCurve(
        "central" if all(sides) else "one-sided",
        tuple(distance[usable].tolist()),
        tuple(np.abs(quotients - analytic)[usable].tolist()),
        tuple(np.abs(quotients - numeric)[usable].tolist()),
    )
