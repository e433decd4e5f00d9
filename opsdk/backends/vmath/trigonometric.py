"""Circular functions: sin, cos, tan, and arcsin, arccos, arctan, arctan2."""

from __future__ import annotations

from typing import Any

from opsdk.backends.vmath.instructions import (
    horner,
    inline,
    like,
    magnitude,
    pick,
    select,
    square_root,
    to_bits,
    with_sign,
)
from opsdk.backends.vmath.quadrant import quadrant_double, quadrant_single

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type back.

# (sin r / r − 1) / r² and (cos r − 1 + r²/2) / r⁴, as polynomials in r², for |r| ≤ 1
SIN = (
    (-0.1666666716337204, 0.008333316072821617, -0.00019836019782815129, 2.6937598249787698e-06),
    (
        -0.16666666666666666, 0.008333333333333177, -0.0001984126984111783, 2.7557319158162865e-06,
        -2.5052093603987105e-08, 1.6057250678901714e-10, -7.535488064848769e-13,
    ),
)  # fmt: skip
COS = (
    (0.04166661575436592, -0.0013885662192478776, 2.4256272808997892e-05),
    (
        0.041666666666666664, -0.0013888888888888803, 2.4801587301502754e-05, -2.7557319187377204e-07,
        2.0876748767407933e-09, -1.146974847393023e-11, 4.717391974494513e-14,
    ),
)  # fmt: skip
# (arctan t / t − 1) / t², as a polynomial in t², for |t| ≤ tan π/8
ATAN = (
    (-0.33333319425582886, 0.19998522102832794, -0.142427459359169, 0.10579709708690643, -0.060285769402980804),
    (
        -0.3333333333333333, 0.1999999999999851, -0.1428571428546476, 0.11111111091567974, -0.09090908227403544,
        0.07692283925019278, -0.06666235613375135, 0.05877042363331868, -0.052181905166391276, 0.045015280450654005,
        -0.0334053496170769, 0.015106475751754346,
    ),
)  # fmt: skip
# (arcsin t / t − 1) / t², as a polynomial in t², for |t| ≤ 1/2
ASIN = (
    (0.16666731238365173, 0.07495668530464172, 0.04546570032835007, 0.024057045578956604, 0.042553599923849106),
    (
        0.16666666666666702, 0.07499999999984511, 0.04464285716363593, 0.03038194314457736, 0.022372204933023297,
        0.01735175662784521, 0.013979471032990154, 0.011407153981262925, 0.010748062988823233, 0.003780690309575659,
        0.021629906576031945, -0.021020609900535385, 0.03271610408772832,
    ),
)  # fmt: skip
# π/4 in two parts; the first times 1, 2, 3, 4 is exact
QUARTER_HIGH = (0.785398006439209, 0.7853981633974483)
QUARTER_LOW = (1.5695823932524066e-07, 3.061616997868383e-17)
TAN_EIGHTH = 0.4142135623730950488  # tan π/8


@inline
def sin_reduced(r: Any) -> Any:
    """Returns sin r, |r| ≤ 1."""
    z = r * r
    return r + r * (z * horner(z, SIN))


@inline
def cos_reduced(r: Any) -> Any:
    """Returns cos r, |r| ≤ 1; what rounding 1 − r²/2 lost is added again."""
    z = r * r
    half = like(r, 0.5) * z
    w = like(r, 1.0) - half
    return w + (((like(r, 1.0) - w) - half) + z * z * horner(z, COS))


@inline
def arctan_ratio(low: Any, high: Any) -> Any:
    """Returns arctan(low/high) for 0 ≤ low ≤ high, as a multiple of π/4 and a rest."""
    is_steep = low > high * like(low, TAN_EIGHTH)
    t = select(is_steep, low - high, low) / select(is_steep, low + high, high)
    z = t * t
    return select(is_steep, like(low, 1.0), like(low, 0.0)), t + t * z * horner(z, ATAN)


@inline
def angle(quarters: Any, rest: Any) -> Any:
    """Returns quarters · π/4 + rest."""
    return quarters * pick(rest, QUARTER_HIGH) + (quarters * pick(rest, QUARTER_LOW) + rest)


@inline
def arctan(x: Any) -> Any:
    """Returns arctan x."""
    one = like(x, 1.0)
    a = magnitude(x)
    is_large = a > one
    quarters, rest = arctan_ratio(select(is_large, one, a), select(is_large, a, one))
    value = angle(select(is_large, like(x, 2.0) - quarters, quarters), select(is_large, -rest, rest))
    return with_sign(value, x)


@inline
def arctan2(y: Any, x: Any) -> Any:
    """Returns the angle of the point (x, y)."""
    one, zero = like(x, 1.0), like(x, 0.0)
    limit = pick(x, (1e37, 1e307))
    ax, ay = magnitude(x), magnitude(y)
    is_over = ay > ax
    low, high = select(is_over, ax, ay), select(is_over, ay, ax)
    is_huge = high > limit  # the sum of both may be infinite
    is_infinite = low == like(x, float("inf"))  # both are
    quarter = select(is_huge, like(x, 0.25), one)
    low, high = select(is_infinite, one, low * quarter), select(is_infinite, one, high * quarter)
    quarters, rest = arctan_ratio(low, select(high == zero, one, high))
    quarters, rest = select(is_over, like(x, 2.0) - quarters, quarters), select(is_over, -rest, rest)
    is_left = to_bits(x) < 0  # −0 is to the left of +0
    quarters, rest = select(is_left, like(x, 4.0) - quarters, quarters), select(is_left, -rest, rest)
    value = with_sign(angle(quarters, rest), y)
    return select((x == x) & (y == y), value, x + y)


@inline
def _arcsin_core(a: Any) -> Any:
    """Returns arcsin a for a ≤ 1/2, else arcsin √((1 − a)/2), and whether it is the latter."""
    half = like(a, 0.5)
    is_large = a > half
    z = select(is_large, half - half * a, a * a)
    s = select(is_large, square_root(z), a)
    return s + s * z * horner(z, ASIN), is_large


@inline
def arcsin(x: Any) -> Any:
    """Returns arcsin x, NaN outside [−1, 1]."""
    value, is_large = _arcsin_core(magnitude(x))
    return with_sign(select(is_large, angle(like(x, 2.0), like(x, -2.0) * value), value), x)


@inline
def arccos(x: Any) -> Any:
    """Returns arccos x, NaN outside [−1, 1]."""
    zero, two, four = like(x, 0.0), like(x, 2.0), like(x, 4.0)
    value, is_large = _arcsin_core(magnitude(x))
    is_negative = x < zero
    quarters = select(is_large, select(is_negative, four, zero), two)
    rest = select(is_large, value + value, -value)
    return angle(quarters, select(is_negative, -rest, rest))


@inline
def _sin(k: Any, r: Any) -> Any:
    value = select((k & 1) != 0, cos_reduced(r), sin_reduced(r))
    return select((k & 2) != 0, -value, value)


@inline
def _odd(x: Any, value: Any) -> Any:
    """Returns the value at x of an odd function from that at |x|."""
    return select(to_bits(x) < 0, -value, value)


@inline
def _tan(k: Any, r: Any) -> Any:
    s, c = sin_reduced(r), cos_reduced(r)
    is_odd = (k & 1) != 0
    return select(is_odd, -c, s) / select(is_odd, s, c)


@inline
def sin_single(x: Any) -> Any:
    """Returns sin x for float32."""
    k, r = quadrant_single(magnitude(x))
    return _odd(x, _sin(k, r))


@inline
def cos_single(x: Any) -> Any:
    """Returns cos x for float32."""
    k, r = quadrant_single(magnitude(x))
    return _sin(k + 1, r)


@inline
def tan_single(x: Any) -> Any:
    """Returns tan x for float32."""
    k, r = quadrant_single(magnitude(x))
    return _odd(x, _tan(k, r))


@inline
def sin_double(x: Any) -> Any:
    """Returns sin x for float64."""
    k, r = quadrant_double(magnitude(x))
    return _odd(x, _sin(k, r))


@inline
def cos_double(x: Any) -> Any:
    """Returns cos x for float64."""
    k, r = quadrant_double(magnitude(x))
    return _sin(k + 1, r)


@inline
def tan_double(x: Any) -> Any:
    """Returns tan x for float64."""
    k, r = quadrant_double(magnitude(x))
    return _odd(x, _tan(k, r))


FUNCTIONS = {"arcsin": arcsin, "arccos": arccos, "arctan": arctan, "arctan2": arctan2}
SINGLE = {"sin": sin_single, "cos": cos_single, "tan": tan_single}
DOUBLE = {"sin": sin_double, "cos": cos_double, "tan": tan_double}
