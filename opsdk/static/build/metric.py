"""Measures of a network, as operators of a Program."""

from __future__ import annotations

from typing import Any

from opsdk.ops import loss
from opsdk.static.ir.variable import Variable


def accuracy(input: Variable, label: Variable, k: int = 1) -> Any:
    """Appends the share of rows whose label is among the k greatest scores.

    Args:
        input: float Variable of shape (rows, classes).
        label: integer Variable of shape (rows,) or (rows, 1).
        k: how many of the greatest count, ≥ 1.

    Returns:
        A 0-d float32 Variable. Not differentiable.

    Raises:
        AttributeValueError: k below 1.
    """
    return loss.among_best(input, label, k)
