"""Formulas, element by element, of several ops: sums with factors, fractions, logarithms that stay finite.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.ops import complex as parts
from opsdk.ops import elementary, elementwise, joining, logical
from opsdk.ops import shape as moving
from opsdk.ops.activation import tanh
from opsdk.ops.creation import fill_any_like
from opsdk.ops.matmul import matmul

# Any, in this file: arrays, tensors or Program variables, and the same out.
_LOG_2 = math.log(2.0)
add, multiply, divide = elementwise.elementwise_add, elementwise.elementwise_mul, elementwise.elementwise_div
where = joining.where


def _scaled(x: Any, factor: float) -> Any:
    """Returns x times a number, x itself where that is 1."""
    return x if factor == 1 else multiply(x, factor)


def neg(x: Any) -> Any:
    """Returns -x."""
    return elementwise.scale(moving.as_value(x), scale=-1.0)


def positive(x: Any) -> Any:
    """Returns x itself, of numbers."""
    return moving.as_value(x)


def frac(x: Any) -> Any:
    """Returns x without its whole part, with the sign of x."""
    return elementwise.elementwise_sub(x, elementary.trunc(x))


def round(x: Any, decimals: int = 0) -> Any:
    """Returns the nearest whole numbers, of two equally near the even one; with decimals of x · 10ᵈ, over 10ᵈ."""
    if not decimals:
        return elementary.round(x)
    power = 10.0 ** abs(decimals)
    there, back = (multiply, divide) if decimals > 0 else (divide, multiply)
    return back(elementary.round(there(moving.as_value(x), power)), power)


def deg2rad(x: Any) -> Any:
    """Returns angles in degrees as radians."""
    return multiply(x, math.pi / 180.0)


def rad2deg(x: Any) -> Any:
    """Returns angles in radians as degrees."""
    return multiply(x, 180.0 / math.pi)


def logit(x: Any, eps: float | None = None) -> Any:
    """Returns log(x / (1 - x)), of x held inside [eps, 1 - eps] where that is given; nan outside of [0, 1]."""
    x = moving.as_value(x) if eps is None else elementary.clip(x, min=eps, max=1.0 - eps)
    return elementwise.elementwise_sub(elementary.log(x), elementary.log1p(neg(x)))


def xlogy(x: Any, y: Any) -> Any:
    """Returns x log(y), and 0 where x is, unless y is nan."""
    x, y = moving.as_value(x), moving.as_value(y)
    is_nothing = logical.logical_and(
        logical.equal(x, 0), logical.logical_or(logical.less_equal(y, 0), logical.isinf(y))
    )
    return multiply(x, elementary.log(where(is_nothing, 1.0, y)))


def logaddexp2(x: Any, y: Any) -> Any:
    """Returns log₂(2ˣ + 2ʸ), without overflow."""
    return divide(elementwise.logaddexp(multiply(x, _LOG_2), multiply(y, _LOG_2)), _LOG_2)


def ldexp(x: Any, y: Any) -> Any:
    """Returns x times 2 to the power y."""
    y = moving.as_value(y)
    return multiply(x, elementary.exp2(y if y.dtype.kind in "fV" else moving.cast(y, dtype=np.dtype("float32"))))


def float_power(x: Any, y: Any) -> Any:
    """Returns x to the power y, both taken as float64."""
    x, y = (moving.cast(moving.as_value(each), dtype=np.dtype("float64")) for each in (x, y))
    return elementwise.elementwise_pow(x, y)


def fmax(x: Any, y: Any) -> Any:
    """Returns the greater of x and y; where one of them is nan, the other."""
    return where(logical.isnan(y), x, where(logical.isnan(x), y, elementwise.elementwise_max(x, y)))


def fmin(x: Any, y: Any) -> Any:
    """Returns the lesser of x and y; where one of them is nan, the other."""
    return where(logical.isnan(y), x, where(logical.isnan(x), y, elementwise.elementwise_min(x, y)))


def heaviside(x: Any, y: Any) -> Any:
    """Returns 0 below 0, 1 above, y at 0, and nan at nan. Differentiable in y, at 0."""
    x = moving.as_value(x)
    step = where(logical.isnan(x), x, moving.cast(logical.greater_than(x, 0), dtype=x.dtype))
    return where(logical.equal(x, 0), y, step)


def nan_to_num(x: Any, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Returns x with numbers in place of nan and the infinities: the dtype's greatest and least unless given."""
    x = moving.as_value(x)
    if x.dtype.kind in "biu":
        return x
    most = float(np.finfo(x.dtype).max) if x.dtype.kind == "f" else 3.3895313892515355e38  # of bfloat16
    for test, number in (
        (isposinf, most if posinf is None else posinf),
        (isneginf, -most if neginf is None else neginf),
        (logical.isnan, 0.0 if nan is None else nan),
    ):
        x = where(test(x), fill_any_like(x, value=number), x)
    return x


def isposinf(x: Any) -> Any:
    """Returns True where x is inf. Not differentiable."""
    return logical.logical_and(logical.isinf(x), logical.greater_than(x, 0))


def isneginf(x: Any) -> Any:
    """Returns True where x is -inf. Not differentiable."""
    return logical.logical_and(logical.isinf(x), logical.less_than(x, 0))


def isreal(x: Any) -> Any:
    """Returns True where x has no imaginary part. Not differentiable."""
    return logical.equal(parts.imag(moving.as_value(x)), 0)


def sgn(x: Any) -> Any:
    """Returns the sign: -1, 0 or 1; of complex numbers x / |x|, 0 at 0."""
    x = moving.as_value(x)
    if x.dtype.kind != "c":
        return elementary.sign(x)
    size = elementary.abs(x)
    return divide(x, where(logical.equal(size, 0), 1.0, size))


def stanh(x: Any, scale_a: float = 0.67, scale_b: float = 1.7159) -> Any:
    """Returns scale_b · tanh(scale_a · x)."""
    return multiply(tanh(multiply(x, scale_a)), scale_b)


# -- sums with factors ------------------------------------------------------------------------------------------------


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: float = 1.0) -> Any:
    """Returns input + value · tensor1 · tensor2."""
    return add(input, _scaled(multiply(tensor1, tensor2), value))


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: float = 1.0) -> Any:
    """Returns input + value · tensor1 / tensor2."""
    return add(input, _scaled(divide(tensor1, tensor2), value))


def addmm(input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """Returns beta · input + alpha · (x @ y), of matrices; with beta 0 the input counts as zeros, whatever it holds."""
    made = _scaled(matmul(x, y), alpha)
    return add(made, _scaled(input, beta)) if beta else add(made, fill_any_like(moving.as_value(input)))


def baddbmm(input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """Returns beta · input + alpha · (x @ y), of stacks of matrices; as `addmm`."""
    return addmm(input, x, y, beta, alpha)


def addmv(input: Any, mat: Any, vec: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """Returns beta · input + alpha · (mat @ vec), of a matrix and a vector; as `addmm`."""
    return addmm(input, mat, vec, beta, alpha)


def addr(input: Any, vec1: Any, vec2: Any, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """Returns beta · input + alpha · the products of each element of vec1 with each of vec2; as `addmm`."""
    return addmm(input, moving.unsqueeze(vec1, axis=[1]), moving.unsqueeze(vec2, axis=[0]), beta, alpha)


# -- in PyTorch's words -----------------------------------------------------------------------------------------------


def div(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    """Returns x / y; rounded down for "floor", towards 0 for "trunc", with a derivative of 0.

    Raises:
        AttributeValueError: another mode.
    """
    if rounding_mode is None:
        return divide(x, y)
    if rounding_mode not in ("floor", "trunc"):
        raise AttributeValueError(f"div: rounding_mode expected None, 'floor' or 'trunc', got {rounding_mode!r}")
    if rounding_mode == "floor":
        return elementwise.floor_divide(x, y)
    x, y = moving.as_value(x), moving.as_value(y)
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        return elementwise.floor_divide(elementwise.elementwise_sub(x, elementwise.fmod(x, y)), y)
    return elementary.trunc(divide(x, y))


def clamp_min(x: Any, min: float) -> Any:
    """Returns x, held to be at least a number."""
    return elementary.clip(x, min=min)


def clamp_max(x: Any, max: float) -> Any:
    """Returns x, held to be at most a number."""
    return elementary.clip(x, max=max)


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
