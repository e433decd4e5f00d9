"""Outputs that move in quanta: rounding hidden inside a forward function, which a fine step does not even feel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.dtypes import FloatArray
from gradcheck.ladder import Ladder

# A quantum this small beside the largest change is rounding; a larger one is the function itself, such as a floor.
_SHARE = 1e-4
_ROWS = 4


def with_quanta(ladder: Ladder) -> Ladder:
    """Raises the noise of columns that rest at the finest steps and move in multiples of a tiny quantum above."""
    found = quantum(ladder)
    return replace(ladder, noise=np.maximum(ladder.noise, found), least_noise=np.maximum(ladder.least_noise, found))


def quantum(ladder: Ladder) -> FloatArray:
    """Finds each column's quantum, shape (columns,); zero where there is none.

    The changes just above the flat core must all be whole multiples of the least of them.
    """
    changes = np.abs(np.concatenate([ladder.plus, ladder.minus]) - ladder.center)
    changes = np.where(np.isfinite(changes), changes, 0.0)
    moving = changes > 0
    flat = ~(moving[len(ladder.steps) - 1] | moving[-1])
    least = np.min(np.where(moving, changes, np.inf), axis=0)
    onset = np.sort(np.where(moving, changes, np.inf), axis=0)[:_ROWS]
    with np.errstate(all="ignore"):
        multiples = onset / least
        whole = (np.abs(multiples - np.round(multiples)) < 1e-6) | ~np.isfinite(onset)
    found = flat & moving.any(axis=0) & whole.all(axis=0) & (least < _SHARE * changes.max(axis=0))
    return np.where(found, least, 0.0)
