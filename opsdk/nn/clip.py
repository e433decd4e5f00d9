"""Gradient clipping: what an optimizer does to gradients before its step, in either runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import computed_in
from opsdk.core.errors import AttributeValueError
from opsdk.ops.functions import cast, clip, divide, maximum, multiply, sqrt, square, sum

Pairs = Sequence[tuple[Any, Any]]  # any: a parameter and its gradient, tensors or Program variables


class _Clip:
    """Changes pairs of parameter and gradient; those of parameters with `need_clip=False` stay as they are."""

    def __call__(self, params_grads: Pairs) -> list[tuple[Any, Any]]:
        """Returns the pairs with clipped gradients."""
        counted = [(param, grad) for param, grad in params_grads if getattr(param, "need_clip", True)]
        if not counted:
            return list(params_grads)
        clipped = iter(self._clipped([grad for _, grad in counted]))
        return [(p, next(clipped) if getattr(p, "need_clip", True) else grad) for p, grad in params_grads]

    def _clipped(self, grads: list[Any]) -> list[Any]:
        raise NotImplementedError


class ClipGradByValue(_Clip):
    """Brings every element into [min, max].

    Args:
        max: the greatest value.
        min: the least; -max unless given.

    Raises:
        AttributeValueError: min above max, or no numbers.
    """

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = _number(max, "ClipGradByValue: max")
        self.min = -self.max if min is None else _number(min, "ClipGradByValue: min")
        if self.min > self.max:
            raise AttributeValueError(f"ClipGradByValue: expected min ≤ max, got {self.min} and {self.max}")

    def _clipped(self, grads: list[Any]) -> list[Any]:
        return [clip(grad, self.min, self.max) for grad in grads]

    def __repr__(self) -> str:
        return f"ClipGradByValue(min={self.min}, max={self.max})"


class ClipGradByNorm(_Clip):
    """Scales each gradient whose L2 norm is above `clip_norm` down to it.

    Args:
        clip_norm: > 0.

    Raises:
        AttributeValueError: no number > 0.
    """

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = _number(clip_norm, f"{type(self).__name__}: clip_norm")
        if self.clip_norm <= 0:
            raise AttributeValueError(f"{type(self).__name__}: clip_norm expected a number > 0, got {clip_norm}")

    def _clipped(self, grads: list[Any]) -> list[Any]:
        return [_scaled(grad, _squares(grad), self.clip_norm) for grad in grads]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(clip_norm={self.clip_norm})"


class ClipGradByGlobalNorm(ClipGradByNorm):
    """Scales all gradients by one number where the L2 norm of all of them together is above `clip_norm`.

    Args:
        clip_norm: > 0.
        group_name: without meaning; accepted as in Paddle.

    Raises:
        AttributeValueError: no number > 0.
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group") -> None:
        super().__init__(clip_norm)

    def _clipped(self, grads: list[Any]) -> list[Any]:
        total = _squares(grads[0])
        for grad in grads[1:]:
            total = total + _squares(grad)
        return [_scaled(grad, total, self.clip_norm) for grad in grads]


def _squares(grad: Any) -> Any:
    wide = computed_in(grad.dtype)  # squares of 16-bit floats leave their range
    return sum(square(grad if wide == grad.dtype else cast(grad, wide)))


def _scaled(grad: Any, squares: Any, limit: float) -> Any:
    factor = divide(limit, maximum(sqrt(squares), limit))
    return multiply(grad, factor if factor.dtype == grad.dtype else cast(factor, grad.dtype))


def _number(value: Any, subject: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value:
        raise AttributeValueError(f"{subject} expected a number, got {value!r}")
    return float(value)
