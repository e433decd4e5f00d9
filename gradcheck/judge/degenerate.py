"""Gradients that are not finite where the checker itself chose a degenerate point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison, Status
from gradcheck.judge.doubt import is_at_random
from gradcheck.judge.variation import SMALL
from gradcheck.model.evaluation import GIVEN, Point


def excuse_degenerate(point: Point, comparison: Comparison, generator: np.random.Generator) -> Comparison:
    """Takes a gradient that is not finite for none at all, at kinks, lengths of one and zeros that were not given.

    The deviation of a single number, the distance of two equal ones and a product divided by a factor of zero are 0 / 0
    in most derivatives, and nobody who passes other values asks for them. At the given inputs the same is a fault.

    Where a rounding of the inputs moves forward by a share of its size, as the solution of a system that repeated
    values made singular, every number is chance, and nothing is wrong.
    """
    if point.label == GIVEN or not comparison.wrong.any():
        return comparison
    if is_at_random(point, generator):
        return replace(comparison, status=np.where(comparison.wrong, int(Status.UNSURE), comparison.status))
    broken = comparison.wrong & ~np.isfinite(comparison.analytic).all(axis=0)
    is_chosen = comparison.kink | _is_single(point) | (point.label == SMALL)
    status = np.where(broken & is_chosen, int(Status.UNDEFINED), comparison.status)
    return replace(comparison, status=status)


def _is_single(point: Point) -> bool:
    shapes = (value.shape for value in point.given if isinstance(value, np.ndarray))
    return point.is_resized and any(1 in shape for shape in shapes)
