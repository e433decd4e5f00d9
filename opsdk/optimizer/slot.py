"""Slots: what an optimizer keeps for each parameter, and what a parameter says to its optimizer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

RATE = "learning_rate"


class Slot(NamedTuple):
    """One value that an optimizer keeps for each parameter.

    Attributes:
        name: unique in the optimizer.
        value: every element at first.
        is_scalar: whether it has one element, of float64; else it is of the parameter's shape and dtype.
    """

    name: str
    value: float = 0.0
    is_scalar: bool = False


# Any: a tensor or a Program variable.
def learning_rate_factor(param: Any) -> float:
    """Returns a parameter's own factor on the learning rate; 1 for plain tensors."""
    attr: dict[str, float] = getattr(param, "optimize_attr", None) or {}
    return float(attr.get(RATE, 1.0))


def rate_dtype(dtype: np.dtype[Any]) -> str:
    """Returns the dtype of the learning rate for parameters of a dtype."""
    return "float64" if dtype == np.float64 else "float32"
