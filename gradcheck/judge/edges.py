"""Gradients at the edge of a domain, where one side of a kink may lie out of reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Status
from gradcheck.judge.outcome import Outcome
from gradcheck.model.dtypes import BoolArray

# In shares of the element's scale; the function may live on a finer one, down to where steps drown in rounding.
_DISTANCES = (2.0**-24, 2.0**-34, 2.0**-44)
# The subject's gradient inside has to be so much nearer to the derivative than the one at the edge: it bends by 2**-24
# of itself on the way, so a thousandth leaves room for a second derivative ten thousand times as large.
_NEARER = 1e-3


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
        is_right |= ((left <= _NEARER * distance) | ~far).all(axis=0)
    text = "here yours is {:.2g} away from the derivative, a little inside the domain {:.2g}"
    accepted = replace(
        comparison,
        low=np.minimum(comparison.low, comparison.analytic),
        high=np.maximum(comparison.high, comparison.analytic),
        status=np.full(comparison.status.shape, int(Status.RIGHT)),
        kink=np.ones(comparison.kink.shape, dtype=np.bool_),
    ).where(np.isin(comparison.elements, edge.elements[is_right]), comparison)
    return replace(outcome, comparison=accepted).saw(text, edge.elements, distance, least)
