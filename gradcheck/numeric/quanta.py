"""Outputs that rest under small steps and move in quanta: rounding hidden inside forward, and what it may swallow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.model.dtypes import FLOAT64_EPS, BoolArray, FloatArray
from gradcheck.numeric.ladder import Ladder

# A quantum this small beside the largest change is rounding; a larger one is the function itself, such as a floor.
_SHARE = 1e-4
# A power of two may be the last digit of a large number that was added and taken away again; then a zero gradient and
# the mean slope are both let be.
_BINARY_SHARE = 2e-3
# So many of the least changes are whole multiples of the quantum, to this accuracy; by chance one may be, not all.
_ROWS = 4
_WHOLE = 1e-6
# Steps of a staircase are this many times what rounding of inputs, outputs and numbers near one could be.
_STAIR = 64.0 * FLOAT64_EPS
# An output at rest stays the same at so many of the finest steps, over a factor of sixteen.
_RESTING = 3
# An output is at rest when it stays the same, to the bit, at this share of the steps, the smallest ones: one with
# a slope of its own size moves at all of them. With a quarter, numbers beside a large offset are left undecided.
_RESTING_SHARE = 0.5
# An output that the longest step takes so many times as far as rounding hides has a slope that rounding cannot hide.
_CLIMB = 2.0**12


def with_quanta(ladder: Ladder) -> Ladder:
    """Raises the noise of columns that rest at the finest steps and move in multiples of a tiny quantum above.

    A staircase of larger steps is no noise: the noise of its columns is lowered to the least, so that what they show
    between two steps counts.
    """
    found = quantum(ladder)
    height = quantisation(ladder)
    if not (found.any() or height.any()):
        return ladder
    noise = np.where((height > 0) & (height >= _share(ladder.least_move)), ladder.least_noise, ladder.noise)
    return replace(ladder, noise=np.maximum(noise, found), least_noise=np.maximum(ladder.least_noise, found))


def quantisation(ladder: Ladder, size: float = 0.0) -> FloatArray:
    """Gives the least change of a column beside its largest where it rests at the finest steps; shape (columns,).

    Zero where the column moves there, or where its least change may be rounding of numbers of magnitude `size`.
    """
    rests = ~(ladder.moves.reshape(2, len(ladder.steps), -1)[:, -_RESTING:] > 0).any(axis=(0, 1))
    if not rests.any():
        return np.zeros(rests.shape)
    least, most = ladder.least_move, ladder.moves.max(axis=0)
    scale = np.maximum(max(1.0, size), np.abs(np.nan_to_num(ladder.center, posinf=0.0, neginf=0.0)))
    found = rests & np.isfinite(least) & (least > _STAIR * scale)
    return np.where(found, least / np.where(found, most, 1.0), 0.0)


def _share(least: FloatArray) -> FloatArray:
    """Gives how large a quantum may be beside the largest change and still be rounding."""
    return np.where(np.frexp(least)[0] == 0.5, _BINARY_SHARE, _SHARE)


def quantum(ladder: Ladder) -> FloatArray:
    """Finds each column's quantum, shape (columns,); zero where there is none.

    The changes just above the flat core must all be whole multiples of the least of them.
    """
    moving, least = ladder.moves > 0, ladder.least_move
    flat = ~(moving[len(ladder.steps) - 1] | moving[-1])
    if not flat.any():
        return np.zeros(flat.shape)
    onset = np.sort(np.where(moving, ladder.moves, np.inf), axis=0)[:_ROWS]
    with np.errstate(all="ignore"):
        multiples = onset / least
        whole = (np.abs(multiples - np.round(multiples)) < _WHOLE) | ~np.isfinite(onset)
    found = flat & moving.any(axis=0) & whole.all(axis=0) & (least < _share(least) * ladder.moves.max(axis=0))
    return np.where(found, least, 0.0)


def hidden_change(ladder: Ladder, values: FloatArray, eps: float) -> float:
    """Gives the largest change of an output that rounding inside forward may swallow.

    What forward computes on the way is of unknown size: 1 + exp(x) rounds in units of `eps` although its logarithm may
    be 1e-16. So the size of the inputs, of the outputs, and one count; but an output seen to change by less shows that
    forward is finer than that.
    """
    sizes = (np.abs(array[np.isfinite(array)]).max(initial=0.0) for array in (values, ladder.center))
    return float(min(eps * max(1.0, *sizes), np.min(ladder.least_move, initial=np.inf)))


def flat_floor(ladder: Ladder, change: float) -> FloatArray:
    """Gives the derivative per unit step that a hidden `change` allows; shape (columns,).

    Zero where outputs move at small steps, or climb far at longer ones.
    """
    rests: BoolArray = (ladder.plus == ladder.center) & (ladder.minus == ladder.center)
    rungs = np.logical_and.accumulate(rests[::-1], axis=0).sum(axis=0)
    flat = rungs >= _RESTING_SHARE * len(ladder.steps)
    flat &= ladder.moves.max(axis=0) < _CLIMB * change  # else longer steps tell
    longest = ladder.steps[np.clip(len(ladder.steps) - rungs, 0, len(ladder.steps) - 1)]
    return np.where(flat, change / longest, 0.0)
