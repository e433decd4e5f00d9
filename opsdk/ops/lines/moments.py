"""Moments and norms over axes: functions of several ops, in which 16-bit floats are computed in float32.

Each is differentiable as the ops are that it calls, in any runtime.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import computed_in, is_differentiable
from opsdk.core.errors import AttributeValueError
from opsdk.define.infer import normalize_axes
from opsdk.ops import elementary, elementwise, joining, logical, reduction
from opsdk.ops import shape as moving
from opsdk.ops.complex import imag, real
from opsdk.ops.creation import fill_any_like

# Any, in this file: arrays, tensors or Program variables, and the same out.
_Axis = int | Sequence[int] | None


def var(
    x: Any, axis: _Axis = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """Returns the mean square distance from the mean, over axes, a real number of complex ones too.

    Unbiased divides by one less than there are elements, and a correction by that much less. Of one element the
    unbiased variance is nan, without a warning. float16 and bfloat16 are computed in float32 and
    rounded once. Sizes have to be known.
    """
    x = moving.as_value(x)
    return _rounded(_variance(x, axis, unbiased, keepdim, correction), x)


def _variance(x: Any, axis: _Axis, unbiased: bool, keepdim: bool, correction: float | None) -> Any:
    x = _widened(x)
    axes = list(normalize_axes(moving.as_axes(axis), len(x.shape), "var"))
    count = math.prod(moving.known_size(x, at, "var") for at in axes)
    apart = x - reduction.reduce_mean(x, axis=axes, keepdim=True)
    if apart.dtype.kind == "c":
        squares = elementary.square(real(apart)) + elementary.square(imag(apart))
    else:
        squares = elementary.square(apart)
    total = reduction.reduce_sum(squares, axis=axes, keepdim=keepdim) if axes else squares
    over = count - (float(unbiased) if correction is None else correction)
    return total * (1.0 / over if over > 0 else math.nan)


def std(
    x: Any, axis: _Axis = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """Returns the square root of the variance, over axes."""
    x = moving.as_value(x)
    return _rounded(elementary.sqrt(_variance(x, axis, unbiased, keepdim, correction)), x)


def _widened(x: Any) -> Any:
    """Returns floats in the dtype that they are computed in, other numbers as they are."""
    wide = computed_in(x.dtype) if is_differentiable(x.dtype) else x.dtype
    return x if wide == x.dtype else moving.cast(x, dtype=wide)


def _rounded(made: Any, x: Any) -> Any:
    """Returns what was computed of floats in their dtype, of other numbers as it is."""
    is_short = is_differentiable(x.dtype) and computed_in(x.dtype) != x.dtype
    return moving.cast(made, dtype=x.dtype) if is_short else made


def norm(x: Any, p: float | str | None = None, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns the p-norm over axes: (Σ |x|ᵖ)^(1/p); the greatest |x| for inf, the least for -inf.

    Args:
        x: numbers, floats or complex ones.
        p: 2 unless given, which "fro" is too; 0 counts the elements other than 0.
        axis: of the elements, which count as one vector; all unless given.
        keepdim: whether the axes stay, with size 1.

    The gradient of p = 2 is 0 where all elements are. float16 and bfloat16 are computed in float32 and rounded once.

    Raises:
        AttributeValueError: another name than "fro".
    """
    order = 2.0 if p is None or p == "fro" else p
    if isinstance(order, str):
        raise AttributeValueError(f"norm: p expected a number or 'fro', got {p!r}")
    x = moving.as_value(x)
    size = elementary.abs(_widened(x))
    return _rounded(_norm(size, order, moving.as_axes(axis), keepdim), x)


def _norm(size: Any, order: float, axes: Any, keepdim: bool) -> Any:
    if math.isinf(order):
        extreme = reduction.reduce_max if order > 0 else reduction.reduce_min
        return extreme(size, axis=axes, keepdim=keepdim)
    if order == 0:
        kept = moving.cast(logical.not_equal(size, 0), dtype=size.dtype)
        return reduction.reduce_sum(kept, axis=axes, keepdim=keepdim)
    if order == 1:
        return reduction.reduce_sum(size, axis=axes, keepdim=keepdim)
    powers = elementary.square(size) if order == 2 else elementwise.elementwise_pow(size, order)
    total = reduction.reduce_sum(powers, axis=axes, keepdim=keepdim)
    nothing = logical.equal(total, 0)  # where the root has no derivative, and 0 is one of the norm's
    root = elementwise.elementwise_pow(joining.where(nothing, fill_any_like(total, value=1.0), total), 1.0 / order)
    return joining.where(nothing, total, root)


__all__ = ["norm", "std", "var"]
