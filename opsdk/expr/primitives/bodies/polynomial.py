"""Polynomials of symbols, whose chains of products and sums compiled code computes in one go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


# Any: a symbol, and the same back.
def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Returns c₀ + c₁x + c₂x² and so on."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def mapped(x: Any, centre: float, width: float) -> Any:
    """Returns where x lies between centre − width, which is −1, and centre + width, which is 1."""
    return (x - centre) * (1.0 / width)
