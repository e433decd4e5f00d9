"""Gradients at the edge of a domain, where one side of a kink may lie out of reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status
from gradcheck.model.domain import Room
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray, from_float64
from gradcheck.model.evaluation import Point
from gradcheck.model.fitting import fit_gradient
from gradcheck.model.protocol import copy_inputs

# In shares of the element's scale; the function may live on a finer one.
_DISTANCES = (2.0**-24, 2.0**-34, 2.0**-44)
# The subject's gradient inside has to be so much nearer to the derivative than the one at the edge.
_NEARER = 1e-3


def excuse_edges(point: Point, k: int, comparison: Comparison, room: Room, cotangents: FloatArray) -> Comparison:
    """Accepts finite gradients at an edge that differ from the derivative there, but not beside it.

    A clip whose bounds are also those of the domain has a kink at the edge, and only the inner side is ever seen. A
    subject that chooses the outer one is right; the same subject a little inside shows that its fault is no other.
    """
    closed = (room.up * room.down == 0).ravel()[comparison.elements]
    suspects = np.flatnonzero(comparison.wrong & closed & np.isfinite(comparison.analytic).all(axis=0))
    if not suspects.size:
        return comparison
    columns = comparison.elements[suspects]
    analytic = comparison.analytic[:, suspects]
    low, high = comparison.low[:, suspects], comparison.high[:, suspects]
    distance = np.abs(analytic - np.clip(analytic, low, high))
    far = distance > comparison.allowance[:, suspects]
    is_right: BoolArray = np.zeros(suspects.size, dtype=np.bool_)
    for share in _DISTANCES:
        try:
            near = _moved_inside(point, k, columns, share * room.scale * (room.up - room.down))
            found = [fit_gradient(near.gradients(cotangent)[k], room.scale.shape) for cotangent in cotangents]
        except Exception:  # the neighbour may be outside what the subject accepts
            continue
        point.evaluations += 1 + near.evaluations
        inside = np.array([np.full(suspects.size, np.nan) if g is None else g.ravel()[columns] for g in found])
        left = np.abs(inside - np.clip(inside, low, high))
        is_right |= ((left <= _NEARER * distance) | ~far).all(axis=0)
    excused = suspects[is_right]
    status, kink = comparison.status.copy(), comparison.kink.copy()
    status[excused], kink[excused] = int(Status.RIGHT), True
    lows, highs = comparison.low.copy(), comparison.high.copy()
    lows[:, excused] = np.minimum(lows[:, excused], comparison.analytic[:, excused])
    highs[:, excused] = np.maximum(highs[:, excused], comparison.analytic[:, excused])
    return replace(comparison, status=status, kink=kink, low=lows, high=highs)


def _moved_inside(point: Point, k: int, columns: IntArray, shift: FloatArray) -> Point:
    moves = np.zeros(shift.size)
    moves[columns] = shift.ravel()[columns]
    inputs = list(copy_inputs(point.inputs))
    target = inputs[k]
    assert isinstance(target, np.ndarray)
    inputs[k] = from_float64(point.values(k) + moves.reshape(shift.shape), target)
    return Point(point.subject, inputs, point.label)
