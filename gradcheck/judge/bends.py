"""Ties that no single element shows: places where a function bends, though each element alone seems to have a slope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.judge.outcome import Outcome
from gradcheck.model.dtypes import BoolArray, FloatArray, IntArray

# What two movements do together beside what each does alone is of second order where a function is smooth: of a
# sixteenth of the steps it leaves a 256th, and of a bend a sixteenth. Between the two lies half of the latter.
_STEPS = (2.0**-20, 2.0**-24)
_STAYS = 0.5
# A bend is no less than so small a share of what the function does along the way, and far above its rounding.
_SHARE = 2.0**-10
_ABOVE_NOISE = 64.0
# An element that ends above others whichever way it moves shows no tie in a draw, as one of three does in one of ten.
_DRAWS = 8
# Slopes are taken over steps that are a thousandth of the distances between elements whose tie is broken, and are
# known to five digits; a fault of a thousandth shows.
_SLOPE_STEP = 2.0**-36
_SLOPE_SHARE = 1e-3


def is_bent(outcome: Outcome, elements: IntArray) -> BoolArray:
    """Says of which elements moving them does something else alone than while others move; shape (elements,).

    Only equal numbers are tied so: where an input has none, nothing is asked.
    """
    values = outcome.point.values(outcome.k)
    none: BoolArray = np.zeros(elements.size, dtype=np.bool_)
    if np.unique(values).size == values.size or not np.isfinite(outcome.point.center).all():
        return none
    room = outcome.probe.room
    free = room.scale * outcome.probe.free()
    signs = [outcome.generator.uniform(-1.0, 1.0, values.shape) for _ in range(_DRAWS)]
    alone = np.zeros(values.shape)
    alone.flat[elements] = outcome.generator.uniform(0.5, 1.0, elements.size)
    if not any(_bends(outcome, side * alone * free, sign * free) for sign in signs for side in (1.0, -1.0)):
        return none
    for place, element in enumerate(elements.tolist()):
        single = np.zeros(values.shape)
        single.flat[element] = free.flat[element]
        none[place] = any(_bends(outcome, side * single, sign * free) for sign in signs for side in (1.0, -1.0))
    return none


def _bends(outcome: Outcome, first: FloatArray, second: FloatArray) -> bool:
    """Says whether two movements, short ones, do something else together than one after the other."""
    point, k, probe = outcome.point, outcome.k, outcome.probe
    values, weights = point.values(k), np.abs(probe.cotangents).max(axis=0)
    bends, moves = [], []
    for step in _STEPS:
        one, other, both = (point.forward_at(k, values + step * m) for m in (first, second, first + second))
        bends.append(float(weights @ np.abs(both - one - other + point.center)) / step)
        moves.append(float(weights @ np.maximum(np.abs(other - point.center), np.abs(one - point.center))) / step)
    noise = _ABOVE_NOISE * float(weights @ probe.noise) / _STEPS[-1]
    return bends[1] > max(_STAYS * bends[0], _SHARE * moves[1], noise)


def has_slope(outcome: Outcome, shift: FloatArray, gradients: Sequence[FloatArray]) -> bool:
    """Says whether the subject's gradients at shifted values have the slope of forward there, along a random line."""
    point, k, probe = outcome.point, outcome.k, outcome.probe
    line = probe.room.scale * probe.free() * outcome.generator.choice([-1.0, 1.0], shift.shape)
    there = point.values(k) + shift
    ahead, behind = (point.forward_at(k, there + side * _SLOPE_STEP * line) for side in (1.0, -1.0))
    slopes = probe.cotangents @ (ahead - behind) / (2.0 * _SLOPE_STEP)
    terms = np.array([(gradient * line).ravel() for gradient in gradients])
    size = np.maximum(np.abs(terms).max(axis=1, initial=0.0), np.abs(slopes))
    return bool((np.abs(terms.sum(axis=1) - slopes) <= _SLOPE_SHARE * size).all())
