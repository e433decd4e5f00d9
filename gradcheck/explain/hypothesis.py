"""Hypotheses: words for a mistake beside the numbers that it would give, and the one loop that tries them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from gradcheck.model.dtypes import FloatArray

# Numbers agree that differ by so little beside the largest: ten times what is conceded to a gradient at values of the
# checker's choice, `VARIED_FLOOR`, so that what is right is never far, and far less than a mistake makes.
CLOSE = 1e-6
# Beside zeros alone only zeros agree.
_TINY = 1e-300

Hypothesis: TypeAlias = tuple[str, FloatArray]  # what is said of a gradient, and what the subject gives if it is so


def fitting(hypotheses: Iterable[Hypothesis], yours: FloatArray, right: FloatArray | None = None) -> str | None:
    """Gives the words of the first hypothesis that predicts what the subject gave, and not the right numbers too."""
    for words, predicted in hypotheses:
        if same(predicted, yours) and (right is None or not same(predicted, right)):
            return words
    return None


def same(first: FloatArray, second: FloatArray, size: float | None = None) -> bool:
    """Says whether finite numbers, one at least, agree beside the largest of `second`, or beside `size`."""
    if not first.size or not np.isfinite(second).all():
        return False
    return bool(np.all(np.abs(first - second) <= CLOSE * max(peak(second) if size is None else size, _TINY)))


def peak(values: FloatArray) -> float:
    """Gives the largest magnitude."""
    return float(np.max(np.abs(values), initial=0.0))
