"""Cotangents for the outputs: ones, then random signs and magnitudes, short ones and one of full length."""

from __future__ import annotations

import numpy as np

from gradcheck.model.dtypes import FloatArray
from gradcheck.model.perturb import perturb

COUNT = 4
_WIGGLES = 3
_UNITS = 32


def draw_cotangents(
    center: FloatArray, generator: np.random.Generator, count: int = COUNT, *, is_short: bool = False
) -> FloatArray:
    """Draws flat cotangents.

    The first is all ones, whose gradients are the easiest to read in a message. The others have random signs and
    magnitudes between 0.5 and 1.5, in eighths, which every float dtype holds exactly; the last one takes all 53 bits,
    unless an output is shorter than that: only such a cotangent shows what a linear backward rounds. Where an output is
    not finite the cotangent is zero.

    Returns:
        Shape (count, outputs).
    """
    signs = generator.choice([-1.0, 1.0], size=(count, center.size))
    drawn = signs * generator.integers(4, 13, size=(count, center.size)) / 8.0
    if count > 1 and not is_short:
        drawn[-1] = signs[-1] * generator.uniform(0.5, 1.5, center.size)
    drawn[0] = 1.0
    return np.where(np.isfinite(center), drawn, 0.0)


def perturb_cotangent(cotangent: FloatArray, eps: float, generator: np.random.Generator) -> list[FloatArray]:
    """Gives copies of a flat cotangent changed in the last few bits that resolution `eps` can hold.

    A gradient answers such a change with little more than its own rounding, even where large terms cancel in it; the
    change is of some dozen units, as one unit often cancels along with the terms.
    """
    units = eps * np.arange(-_UNITS, _UNITS + 1)
    return [perturb(cotangent, units, generator) for _ in range(_WIGGLES)]
