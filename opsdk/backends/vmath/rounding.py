"""Rounding, signs and choices: floor, ceil, round, trunc, abs, sign, copysign, minimum, maximum, tests, operators.

Rounding adds 2ᵐ, m the bits of the mantissa, and takes it away again, since the machine's own instruction is a call of
libm where the target does not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.backends.vmath.instructions import inline, like, magnitude, pick, select, square_root, with_sign

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type or a bool back.

WHOLE = (2.0**23, 2.0**52)  # every float from here on is an integer
INFINITY = float("inf")


@inline
def round_even(x: Any) -> Any:
    """Returns the nearest integer, the even one of two."""
    a = magnitude(x)
    whole = pick(x, WHOLE)
    return select(a < whole, with_sign((a + whole) - whole, x), x)


@inline
def floor(x: Any) -> Any:
    """Returns the largest integer that is not above x."""
    r = round_even(x)
    return select(r > x, r - like(x, 1.0), r)


@inline
def ceil(x: Any) -> Any:
    """Returns the smallest integer that is not below x."""
    r = round_even(x)
    return with_sign(select(r < x, r + like(x, 1.0), r), x)


@inline
def trunc(x: Any) -> Any:
    """Returns x without its fraction."""
    a = magnitude(x)
    r = round_even(a)
    return with_sign(select(r > a, r - like(x, 1.0), r), x)


@inline
def sign(x: Any) -> Any:
    """Returns −1, 0 or 1; NaN for NaN."""
    zero, one = like(x, 0.0), like(x, 1.0)
    return select(x > zero, one, select(x < zero, -one, select(x == zero, zero, x)))


@inline
def minimum(a: Any, b: Any) -> Any:
    """Returns the smaller one, NaN if either is."""
    return select((a < b) | (a != a), a, b)


@inline
def maximum(a: Any, b: Any) -> Any:
    """Returns the larger one, NaN if either is."""
    return select((a > b) | (a != a), a, b)


@inline
def rsqrt_single(x: Any) -> Any:
    """Returns 1/√x for float32: Newton's step in float64, so that it is rounded once."""
    y = like(x, 1.0) / square_root(x)
    a, b = np.float64(x), np.float64(y)
    better = np.float32(b + b * (0.5 - 0.5 * a * b * b))
    return select((y > like(x, 0.0)) & (y < like(x, INFINITY)), better, y)


# What is one instruction, or an operator of Python
SHORT: dict[str, Callable[..., Any]] = {
    "abs": lambda x: magnitude(x),
    "copysign": lambda x, y: with_sign(x, y),
    "sqrt": lambda x: square_root(x),
    "square": lambda x: x * x,
    "reciprocal": lambda x: like(x, 1.0) / x,
    "isnan": lambda x: x != x,
    "isinf": lambda x: magnitude(x) == like(x, INFINITY),
    "isfinite": lambda x: magnitude(x) < like(x, INFINITY),
    "where": lambda condition, a, b: select(condition, a, b),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: a ^ True,
}
FUNCTIONS = {
    "floor": floor, "ceil": ceil, "round": round_even, "trunc": trunc, "sign": sign,
    "minimum": minimum, "maximum": maximum,
    **{name: inline(function) for name, function in SHORT.items()},
}  # fmt: skip
SINGLE = {"rsqrt": rsqrt_single}
DOUBLE = {"rsqrt": inline(lambda x: like(x, 1.0) / square_root(x))}
