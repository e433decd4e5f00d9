"""Gradients at ties: at a kink where several branches meet, single elements do not show every right value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status
from gradcheck.model.domain import Room
from gradcheck.model.dtypes import BoolArray, FloatArray, from_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.fitting import fit_gradient
from gradcheck.model.protocol import copy_inputs

_NEIGHBOURS = 192
_DISTANCE = 2.0**-30


def excuse_ties(
    point: Point, k: int, comparison: Comparison, room: Room, cotangents: FloatArray, generator: np.random.Generator
) -> Comparison:
    """Accepts, at kinks, gradients that lie between the subject's own gradients at nearby points.

    Of three equal elements, a stable sort sends the second to the middle place, which neither raising nor lowering it
    alone does; breaking the tie in random ways shows all places. The subject's gradients are taken there because at
    points without ties they are judged on their own. The sum over elements that move together is judged elsewhere.
    """
    suspects = np.flatnonzero(comparison.wrong & comparison.kink)
    if not suspects.size:
        return comparison
    low, high = comparison.low[:, suspects], comparison.high[:, suspects]
    columns = comparison.elements[suspects]
    analytic = comparison.analytic[:, suspects]
    inside: BoolArray = np.zeros(suspects.size, dtype=np.bool_)
    for _ in range(_NEIGHBOURS):
        gradients = _nearby_gradients(point, k, room, cotangents, generator)
        for row, gradient in enumerate(gradients):
            low[row] = np.fmin(low[row], gradient.ravel()[columns])
            high[row] = np.fmax(high[row], gradient.ravel()[columns])
        slack = comparison.allowance[:, suspects] + 1e-6 * np.maximum(np.abs(low), np.abs(high))
        inside = np.all((analytic >= low - slack) & (analytic <= high + slack), axis=0)
        if inside.all() or not gradients:
            break
    excused = suspects[inside]
    status = comparison.status.copy()
    status[excused] = Status.RIGHT
    return replace(comparison, status=status)


def _nearby_gradients(
    point: Point, k: int, room: Room, cotangents: FloatArray, generator: np.random.Generator
) -> list[FloatArray]:
    """Gives the subject's gradients at a point with its ties broken; none where forward or vjp refuses it."""
    try:
        near = _nearby(point, k, room, generator)
        found = [fit_gradient(near.gradients(cotangent)[k], room.scale.shape) for cotangent in cotangents]
    except Exception:  # the neighbour may be outside what the subject accepts
        return []
    fitted = [gradient for gradient in found if gradient is not None]
    return fitted if len(fitted) == len(found) else []


def _nearby(point: Point, k: int, room: Room, generator: np.random.Generator) -> Point:
    shape = room.scale.shape
    shift = _DISTANCE * room.scale * generator.uniform(-1.0, 1.0, shape)
    shift = np.where(shift > 0, shift * room.up, shift * room.down)
    inputs = list(copy_inputs(point.inputs))
    target = inputs[k]
    assert isinstance(target, np.ndarray)
    inputs[k] = from_float64(point.values(k) + shift, target)
    near = Point(point.subject, inputs, point.label)
    point.evaluations += 1 + near.evaluations
    return near
