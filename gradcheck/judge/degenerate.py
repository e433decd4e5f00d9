"""Gradients that are not finite where the checker itself chose a degenerate point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Status
from gradcheck.judge.outcome import Outcome
from gradcheck.judge.rounding import is_at_random
from gradcheck.judge.variation import SMALL
from gradcheck.model.evaluation import GIVEN, Point


def withdraw_degenerate(outcome: Outcome) -> Outcome:
    """Takes a gradient that is not finite for none at all, at kinks, lengths of one and zeros that were not given.

    The deviation of a single number, the distance of two equal ones and a product divided by a factor of zero are 0 / 0
    in most derivatives, and nobody who passes other values asks for them. At the given inputs the same is a fault.

    Where a rounding of the inputs moves forward by a share of its size, as the solution of a system that repeated
    values made singular, every number is chance, and nothing is wrong.
    """
    point, comparison = outcome.probe.point, outcome.comparison
    asked = comparison.elements[comparison.wrong]
    if point.label == GIVEN or not asked.size:
        return outcome
    if is_at_random(point, outcome.generator):
        status = np.where(comparison.wrong, int(Status.UNSURE), comparison.status)
        outcome = outcome.saw("a rounding of the inputs moves forward by a share of its size", asked)
        return replace(outcome, comparison=replace(comparison, status=status))
    broken = comparison.wrong & ~np.isfinite(comparison.analytic).all(axis=0)
    is_chosen = comparison.kink | _is_single(point) | (point.label == SMALL)
    status = np.where(broken & is_chosen, int(Status.UNDEFINED), comparison.status)
    outcome = outcome.saw("yours is not finite, at a place that the checker chose", comparison.elements[broken])
    return replace(outcome, comparison=replace(comparison, status=status))


def _is_single(point: Point) -> bool:
    shapes = (value.shape for value in point.given if isinstance(value, np.ndarray))
    return point.is_resized and any(1 in shape for shape in shapes)
