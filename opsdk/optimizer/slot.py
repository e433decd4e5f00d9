"""Slots: what an optimizer keeps for each parameter, and what a parameter says to its optimizer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from opsdk.core.dtype import computed_in

RATE = "learning_rate"
WEIGHT_DECAY = "weight_decay"


# Any, in this file: a tensor or a Program variable.
class Slot(NamedTuple):
    """One value that an optimizer keeps for each parameter.

    Attributes:
        name: unique in the optimizer.
        value: every element at first.
        is_scalar: whether it has one element, of float64; else it is of the parameter's shape and of the dtype that is
            computed with, float32 for float16 and bfloat16: moments of the gradient do not fit into 16 bits.
    """

    name: str
    value: float = 0.0
    is_scalar: bool = False

    def dtype(self, param: Any) -> np.dtype[Any]:
        """Returns the dtype of the slot of a parameter."""
        return np.dtype("float64") if self.is_scalar else computed_in(param.dtype)


def learning_rate_factor(param: Any) -> float:
    """Returns a parameter's own factor on the learning rate; 1 for plain tensors."""
    attr: dict[str, float] = getattr(param, "optimize_attr", None) or {}
    return float(attr.get(RATE, 1.0))


def rate_dtype(dtype: np.dtype[Any]) -> str:
    """Returns the dtype of the learning rate for parameters of a dtype."""
    return "float64" if dtype in (np.float64, np.complex128) else "float32"
