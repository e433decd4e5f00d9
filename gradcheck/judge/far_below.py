"""Elements far below the largest one, which its rounding alone excuses: how far rounding moves them is measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.outcome import Outcome, Status
from gradcheck.model.dtypes import FLOAT64_EPS
from gradcheck.model.evaluation import GIVEN
from gradcheck.model.perturb import perturb, perturb_inputs
from gradcheck.numeric.tolerance import CLEAR

# Inputs and cotangents change three times, each number by up to four units in its last place.
_REPEATS = 3
_UNITS = FLOAT64_EPS * np.arange(-4, 5)
# Three changes are few, and show a random part of what rounding can do to an element.
_SPREADS = 64.0
# An element this far below the steps that it was measured with, or below one, says little: of x**3 near 0 they leave 0.
_LEAST_SHARE = 2.0**-6
# What numbers near one leave where they cancel: 1 - tanh(x)**2 is a staircase, which no change of a large x shows.
_NEAR_ONE = 64.0 * FLOAT64_EPS
# A backward may lose digits of a small element in a way that no change of its arguments shows.
_COARSE = 0.01


def judge_far_below(outcome: Outcome) -> Outcome:
    """Calls wrong what is off by more than rounding moves it, though by no more than rounding of the largest element.

    A backward that adds and takes away terms of the size of the largest element may lose a small one in their rounding.
    If this one does, a change of its arguments in their last places moves the small element by as much. Only a coarse
    fault is held against an element, at values that the caller chose, in float64; one that answers no change at all, as
    a zero, says nothing about its rounding and is let be.
    """
    comparison, probe = outcome.comparison, outcome.probe
    if outcome.point.label != GIVEN or outcome.tolerance.eps > FLOAT64_EPS:
        return outcome
    distance = np.abs(comparison.analytic - comparison.numeric)
    size = np.maximum(np.abs(comparison.analytic), np.abs(comparison.numeric))
    own = comparison.allowance - comparison.shared
    least = np.maximum(np.maximum(own, _COARSE * size), _NEAR_ONE)
    excused = (distance > least) & (comparison.bar < CLEAR * size)  # False where one is NaN
    magnitude = np.abs(outcome.point.values(outcome.k)).ravel()[comparison.elements]
    is_seen = magnitude >= _LEAST_SHARE * np.maximum(probe.room.scale.ravel()[comparison.elements], 1.0)
    is_seen &= (comparison.status == Status.RIGHT) & ~comparison.kink & comparison.numeric.any(axis=0)
    suspects = np.flatnonzero(is_seen & excused.any(axis=0))
    if not suspects.size:
        return outcome
    elements, spread = comparison.elements[suspects], np.zeros((len(outcome.cotangents), suspects.size))
    for _ in range(_REPEATS):
        moved = replace(probe, cotangents=perturb(probe.cotangents, _UNITS, outcome.generator))
        near = moved.at(perturb_inputs(probe.point.inputs, _UNITS, outcome.generator, probe.point.subject))
        gradients = () if near is None else tuple(g for g in near.gradients if g is not None)
        if len(gradients) < len(spread):  # forward or vjp refuses so near a neighbour
            return outcome
        found = np.array([gradient.ravel()[elements] for gradient in gradients])
        spread = np.maximum(spread, np.abs(found - comparison.analytic[:, suspects]))
    allowance = own[:, suspects] + _SPREADS * spread
    wrong = (excused[:, suspects] & (spread > 0) & (distance[:, suspects] > allowance)).any(axis=0)
    accepted = comparison.allowance.copy()
    accepted[:, suspects[wrong]] = allowance[:, wrong]
    text = "accepted as rounding of the largest element, but a rounding moves yours by {:.0e}"
    outcome = replace(outcome, comparison=replace(comparison, allowance=accepted)).saw(text, elements, spread)
    return outcome.called(Status.WRONG, suspects[wrong])
