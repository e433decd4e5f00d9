"""Rounding, signs and choices: floor, ceil, round, trunc, abs, sign, copysign, minimum, maximum, tests, operators.

Rounding adds 2ᵐ, m the bits of the mantissa, and takes it away again, since the machine's own instruction is a call of
libm where the target does not have it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.vmath.instructions import (
    inline,
    like,
    magnitude,
    pick,
    select,
    square_root,
    with_sign,
)

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
def reciprocal(x: Any) -> Any:
    """Returns 1/x."""
    return like(x, 1.0) / x


@inline
def rsqrt_single(x: Any) -> Any:
    """Returns 1/√x for float32: Newton's step in float64, so that it is rounded once."""
    y = like(x, 1.0) / square_root(x)
    a, b = np.float64(x), np.float64(y)
    better = np.float32(b + b * (0.5 - 0.5 * a * b * b))
    return select((y > like(x, 0.0)) & (y < like(x, INFINITY)), better, y)


@inline
def rsqrt_double(x: Any) -> Any:
    """Returns 1/√x for float64."""
    return like(x, 1.0) / square_root(x)


@inline
def sqrt(x: Any) -> Any:
    """Returns √x."""
    return square_root(x)


@inline
def absolute(x: Any) -> Any:
    """Returns |x|."""
    return magnitude(x)


@inline
def copysign(x: Any, y: Any) -> Any:
    """Returns |x| with the sign of y."""
    return with_sign(x, y)


@inline
def square(x: Any) -> Any:
    """Returns x²."""
    return x * x


@inline
def isnan(x: Any) -> Any:
    """Returns whether x is NaN."""
    return x != x


@inline
def isinf(x: Any) -> Any:
    """Returns whether x is infinite."""
    return magnitude(x) == like(x, INFINITY)


@inline
def isfinite(x: Any) -> Any:
    """Returns whether x is neither infinite nor NaN."""
    return magnitude(x) < like(x, INFINITY)


@inline
def where(condition: Any, a: Any, b: Any) -> Any:
    """Returns a where the condition holds, else b."""
    return select(condition, a, b)


@inline
def add(a: Any, b: Any) -> Any:
    """Returns a + b."""
    return a + b


@inline
def sub(a: Any, b: Any) -> Any:
    """Returns a − b."""
    return a - b


@inline
def mul(a: Any, b: Any) -> Any:
    """Returns a·b."""
    return a * b


@inline
def div(a: Any, b: Any) -> Any:
    """Returns a/b."""
    return a / b


@inline
def neg(a: Any) -> Any:
    """Returns −a."""
    return -a


@inline
def lt(a: Any, b: Any) -> Any:
    """Returns whether a < b."""
    return a < b


@inline
def le(a: Any, b: Any) -> Any:
    """Returns whether a ≤ b."""
    return a <= b


@inline
def gt(a: Any, b: Any) -> Any:
    """Returns whether a > b."""
    return a > b


@inline
def ge(a: Any, b: Any) -> Any:
    """Returns whether a ≥ b."""
    return a >= b


@inline
def eq(a: Any, b: Any) -> Any:
    """Returns whether a = b."""
    return a == b


@inline
def ne(a: Any, b: Any) -> Any:
    """Returns whether a ≠ b."""
    return a != b


@inline
def both(a: Any, b: Any) -> Any:
    """Returns whether both conditions hold."""
    return a & b


@inline
def either(a: Any, b: Any) -> Any:
    """Returns whether at least one condition holds."""
    return a | b


@inline
def opposite(a: Any) -> Any:
    """Returns whether the condition does not hold."""
    return a ^ True


FUNCTIONS = {
    "floor": floor, "ceil": ceil, "round": round_even, "trunc": trunc, "sign": sign, "abs": absolute,
    "copysign": copysign, "minimum": minimum, "maximum": maximum, "reciprocal": reciprocal, "sqrt": sqrt,
    "square": square, "isnan": isnan, "isinf": isinf, "isfinite": isfinite, "where": where,
    "add": add, "sub": sub, "mul": mul, "div": div, "neg": neg,
    "lt": lt, "le": le, "gt": gt, "ge": ge, "eq": eq, "ne": ne,
    "and": both, "or": either, "not": opposite,
}  # fmt: skip
SINGLE = {"rsqrt": rsqrt_single}
DOUBLE = {"rsqrt": rsqrt_double}
