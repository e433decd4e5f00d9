"""Gradients at ties: at a kink where several branches meet, single elements do not show every right value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Status
from gradcheck.judge.outcome import Outcome
from gradcheck.model.dtypes import BoolArray, FloatArray
from gradcheck.numeric.probe import Probe

# Random orders of forty tied elements show an element in a given place, but for one time in a hundred.
_NEIGHBOURS = 192
# Breaks ties, and changes a smooth gradient by less than `_SLACK`, a thousandfold second derivative included.
_DISTANCE = 2.0**-30
_SLACK = 1e-6


def accept_ties(outcome: Outcome) -> Outcome:
    """Accepts, at kinks, gradients that lie between the subject's own gradients at nearby points.

    Of three equal elements, a stable sort sends the second to the middle place, which neither raising nor lowering it
    alone does; breaking the tie in random ways shows all places. The subject's gradients are taken there because at
    points without ties they are judged on their own. The sum over elements that move together is judged elsewhere. No
    element of an elementwise function is tied to another.
    """
    comparison = outcome.comparison
    suspects = np.flatnonzero(comparison.wrong & comparison.kink)
    if outcome.owner is not None or not suspects.size:
        return outcome
    tied = comparison[suspects]
    low, high = tied.low, tied.high
    inside: BoolArray = np.zeros(suspects.size, dtype=np.bool_)
    for _ in range(_NEIGHBOURS):
        gradients = _nearby_gradients(outcome.probe, outcome.generator)
        for row, gradient in enumerate(gradients):
            low[row] = np.fmin(low[row], gradient.ravel()[tied.elements])
            high[row] = np.fmax(high[row], gradient.ravel()[tied.elements])
        slack = tied.allowance + _SLACK * np.maximum(np.abs(low), np.abs(high))
        inside = np.all((tied.analytic >= low - slack) & (tied.analytic <= high + slack), axis=0)
        if inside.all() or not gradients:
            break
    status = comparison.status.copy()
    status[suspects[inside]] = Status.RIGHT
    outcome = outcome.saw("with the tie broken, yours goes from {:.6g} to {:.6g}", tied.elements, low, high)
    return replace(outcome, comparison=replace(comparison, status=status))


def _nearby_gradients(probe: Probe, generator: np.random.Generator) -> list[FloatArray]:
    """Gives the subject's gradients at a point with its ties broken; none where forward or vjp refuses it."""
    room = probe.room
    shift = _DISTANCE * room.scale * generator.uniform(-1.0, 1.0, room.scale.shape)
    near = probe.neighbour(np.where(shift > 0, shift * room.up, shift * room.down))
    if near is None:
        return []
    probe.point.evaluations -= len(probe.cotangents)  # so many neighbours would end a small budget before other values
    fitted = [gradient for gradient in near.gradients if gradient is not None]
    return fitted if len(fitted) == len(near.gradients) else []
