"""Outputs that rest under small steps: what derivative may hide below the rounding inside forward."""

from __future__ import annotations

import numpy as np

from gradcheck.model.dtypes import BoolArray, FloatArray
from gradcheck.numeric.ladder import Ladder

# An output is at rest when it stays the same, to the bit, at this share of the steps, the smallest ones: one with
# a slope of its own size moves at all of them. With a quarter, numbers beside a large offset are left undecided.
_RESTING = 0.5


def hidden_change(ladder: Ladder, values: FloatArray, eps: float) -> float:
    """Gives the largest change of an output that rounding inside forward may swallow.

    What forward computes on the way is of unknown size: 1 + exp(x) rounds in units of `eps` although its logarithm may
    be 1e-16. So the size of the inputs, of the outputs, and one count; but an output seen to change by less shows that
    forward is finer than that.
    """
    sizes = (np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in (values, ladder.center))
    least = np.min(ladder.changes, initial=np.inf, where=np.isfinite(ladder.changes) & (ladder.changes > 0))
    return float(min(eps * max(1.0, *sizes), least))


def flat_floor(ladder: Ladder, change: float) -> FloatArray:
    """Gives the derivative per unit step that a hidden `change` allows, shape (columns,); zero where outputs move."""
    rungs = _resting_rungs(ladder)
    flat = rungs >= _RESTING * len(ladder.steps)
    longest = ladder.steps[np.clip(len(ladder.steps) - rungs, 0, len(ladder.steps) - 1)]
    return np.where(flat, change / longest, 0.0)


def _resting_rungs(ladder: Ladder) -> FloatArray:
    rests: BoolArray = (ladder.plus == ladder.center) & (ladder.minus == ladder.center)
    return np.asarray(np.logical_and.accumulate(rests[::-1], axis=0).sum(axis=0))
