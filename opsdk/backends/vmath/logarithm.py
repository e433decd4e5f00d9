"""Logarithms: log, log1p, log2, log10, logaddexp, and the inverse hyperbolic functions.

x = 2ⁿ m with √½ ≤ m < √2; with f = m − 1 and s = f/(2 + f), log m = f − f²/2 + s (f²/2 + R(s²)).
"""

from __future__ import annotations

from typing import Any

from opsdk.backends.vmath.exponential import LN2_HIGH, LN2_LOW, MANTISSA, SHIFTER, SHIFTER_BITS, decay, log1p_unit
from opsdk.backends.vmath.instructions import (
    from_bits,
    horner,
    inline,
    inline_exact,
    like,
    magnitude,
    narrow,
    pick,
    pick_integer,
    select,
    square_root,
    to_bits,
    upper_half,
    with_sign,
)

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type back.

INFINITY, NAN = float("inf"), float("nan")
LN2 = 0.6931471805599453
SQRT_HALF_BITS = (0x3F3504F3, 0x3FE6A09E667F3BCD)
MANTISSA_MASK = (0x007FFFFF, 0x000FFFFFFFFFFFFF)
LEAST_NORMAL = (2.0**-126, 2.0**-1022)
LIFT, LIFTED = (2.0**24, 2.0**54), (24.0, 54.0)  # brings subnormal numbers among the normal ones

# (2 artanh(s)/s − 2) / s², as a polynomial in s², for s ≤ 0.1716
LOG = (
    (0.6666666865348816, 0.4000036120414734, 0.28534582257270813, 0.2364652305841446),
    (
        0.6666666666666716, 0.3999999999945809, 0.28571428746079214, 0.222221971333847, 0.18183682424896797,
        0.15310150076850554, 0.1484203082783675,
    ),
)  # fmt: skip
# 1/log 2 and 1/log 10 in two parts, the first with so few bits that its product with half a mantissa is exact
LOG2_E_HIGH, LOG2_E_LOW = (1.4423828125, 1.4426950216293335), (0.00031222838896340733, 1.9259629911266175e-08)
LOG10_E_HIGH, LOG10_E_LOW = (0.4342041015625, 0.4342944771051407), (9.038034075182765e-05, 4.798111141615973e-09)
LOG10_2_HIGH, LOG10_2_LOW = (0.301025390625, 0.30102999566383914), (4.605038981195214e-06, 1.42050232272661e-13)
LARGE = (2.0**28, 2.0**57)  # log(x + √(x² ± 1)) rounds to log 2x from here


@inline
def split(x: Any) -> Any:
    """Returns n and m − 1 of a normal x > 0; anything, without a trap, for another x."""
    offset = narrow(x, to_bits(x) - pick_integer(x, SQRT_HALF_BITS))
    n = narrow(x, offset >> pick_integer(x, MANTISSA))
    m = from_bits(x, narrow(x, (offset & pick_integer(x, MANTISSA_MASK)) + pick_integer(x, SQRT_HALF_BITS)))
    whole = from_bits(x, narrow(x, n + pick_integer(x, SHIFTER_BITS))) - pick(x, SHIFTER)
    return whole, m - like(x, 1.0)


@inline
def split_any(x: Any) -> Any:
    """Returns n and m − 1 of any x > 0."""
    is_small = x < pick(x, LEAST_NORMAL)
    n, f = split(select(is_small, x * pick(x, LIFT), x))
    return n - select(is_small, pick(x, LIFTED), like(x, 0.0)), f


@inline
def tail(f: Any) -> Any:
    """Returns f²/2 and s (f²/2 + R): log(1 + f) = f − first + second."""
    half = like(f, 0.5) * f * f
    s = f / (f + like(f, 2.0))
    z = s * s
    return half, s * (half + z * horner(z, LOG))


@inline
def on_domain(x: Any, value: Any) -> Any:
    """Returns the value of a logarithm at x > 0, and what it is at the ends and outside."""
    value = select(x < like(x, INFINITY), value, x)
    value = select(x < like(x, 0.0), like(x, NAN), value)
    return select(x == like(x, 0.0), like(x, -INFINITY), value)


@inline
def log(x: Any) -> Any:
    """Returns log x."""
    n, f = split_any(x)
    half, rest = tail(f)
    return on_domain(x, n * pick(x, LN2_HIGH) - ((half - (rest + n * pick(x, LN2_LOW))) - f))


@inline
def log1p(x: Any) -> Any:
    """Returns log(1 + x); what rounding 1 + x lost is added again."""
    one = like(x, 1.0)
    u = one + x
    lost = select(x > one, one - (u - x), x - (u - one)) / u
    n, f = split(u)
    half, rest = tail(f)
    value = n * pick(x, LN2_HIGH) - ((half - (rest + (n * pick(x, LN2_LOW) + lost))) - f)
    return select(x == like(x, 0.0), x, on_domain(u, value))


@inline_exact
def log2(x: Any) -> Any:
    """Returns log₂ x; the product with 1/log 2 is computed in parts."""
    n, f = split_any(x)
    half, rest = tail(f)
    high = upper_half(f - half)
    low = ((f - high) - half) + rest
    small = low * like(x, 1.4426950408889634) + high * pick(x, LOG2_E_LOW)
    large = high * pick(x, LOG2_E_HIGH)
    total = n + large
    return on_domain(x, total + (((n - total) + large) + small))


@inline_exact
def log10(x: Any) -> Any:
    """Returns log₁₀ x."""
    n, f = split_any(x)
    half, rest = tail(f)
    high = upper_half(f - half)
    low = ((f - high) - half) + rest
    small = low * like(x, 0.4342944819032518) + high * pick(x, LOG10_E_LOW) + n * pick(x, LOG10_2_LOW)
    large = high * pick(x, LOG10_E_HIGH)
    whole = n * pick(x, LOG10_2_HIGH)
    total = whole + large
    return on_domain(x, total + (((whole - total) + large) + small))


@inline
def logaddexp(a: Any, b: Any) -> Any:
    """Returns log(eᵃ + eᵇ)."""
    larger = select(a < b, b, a)
    apart = select(a == b, like(a, 0.0), a - b)  # infinities are equal
    return larger + log1p_unit(decay(apart))


@inline
def arcsinh(x: Any) -> Any:
    """Returns arsinh x as log1p(|x| + x²/(1 + √(x² + 1)))."""
    a = magnitude(x)
    one = like(x, 1.0)
    is_large = a > pick(x, LARGE)
    square = a * a
    argument = select(is_large, a, a + square / (one + square_root(square + one)))
    return with_sign(log1p(argument) + select(is_large, like(x, LN2), like(x, 0.0)), x)


@inline
def arccosh(x: Any) -> Any:
    """Returns arcosh x, NaN below 1."""
    t = x - like(x, 1.0)
    is_large = x > pick(x, LARGE)
    argument = select(is_large, x, t + square_root(t + t + t * t))
    value = log1p(argument) + select(is_large, like(x, LN2), like(x, 0.0))
    return select(x < like(x, 1.0), like(x, NAN), value)


@inline
def arctanh(x: Any) -> Any:
    """Returns artanh x as log1p(2|x|/(1 − |x|))/2."""
    a = magnitude(x)
    return with_sign(like(x, 0.5) * log1p((a + a) / (like(x, 1.0) - a)), x)


FUNCTIONS = {made.__name__: made for made in (log, log1p, log2, log10, logaddexp, arcsinh, arccosh, arctanh)}
