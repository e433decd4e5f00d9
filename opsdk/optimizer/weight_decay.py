"""L2Decay: weight decay as a term of the gradient."""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import AttributeValueError


class L2Decay:
    """Adds `coeff` times the parameter to its gradient.

    Args:
        coeff: ≥ 0.
    """

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = float(coeff)

    def __repr__(self) -> str:
        return f"L2Decay({self.coeff})"


# Any: a number, an object with `coeff`, or what a user passed instead.
def decay_coefficient(value: Any, subject: str) -> float:
    """Returns the coefficient of a weight decay; 0 for None.

    Raises:
        AttributeValueError: no number ≥ 0, and no object with one in `coeff`.
    """
    if value is None:
        return 0.0
    number = getattr(value, "coeff", value)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not number >= 0:
        raise AttributeValueError(f"{subject}: weight_decay expected a number ≥ 0 or an L2Decay, got {value!r}")
    return float(number)
