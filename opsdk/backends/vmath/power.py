"""Powers, roots and remainders: pow, cbrt, hypot, fmod.

For float32, pow, hypot and fmod are computed in float64. For float64, pow carries log₂ x in two parts, 68 bits
together, since xʸ is 2 to a power of up to 1074: the sums below are exact as written, and none of them may be
contracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.vmath.exponential import (
    BIAS,
    EXP2,
    LOG2_E,
    MANTISSA,
    SHIFTER,
    SHIFTER_BITS,
    nearest,
    power_of_two,
    scaled,
)
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
from opsdk.backends.vmath.logarithm import INFINITY, LEAST_NORMAL, LIFT, MANTISSA_MASK, NAN, split, split_any
from opsdk.backends.vmath.rounding import WHOLE

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type back.

POW_END = 1100.0  # 2 to this is infinite, and 2 to its negative rounds to 0
# (2 artanh(s)/s − 2) / s² and (2ʳ − 1) / r, as in log and exp2, for results that are rounded to float32
LOG_SHORT = (0.666666656813444, 0.4000036010172458, 0.2853458214043286, 0.23646523210732923)
EXP2_SHORT = (
    0.6931472281564615, 0.24022651108021967, 0.05550292696224095, 0.009618026785054676, 0.0013411541144796935,
    0.00015471065177780774,
)  # fmt: skip
# 3 (artanh(s)/s − 1 − s²/3) / s⁴, as a polynomial in s²
ARTANH = (
    0.5999999999999996, 0.4285714285717144, 0.3333333332539658, 0.27272728415942815, 0.23076827833459687,
    0.20004761243878505, 0.17506487730078257, 0.18030934617812233,
)  # fmt: skip
# 2/(3 log 2), the first part with 26 bits
SCALE, SCALE_HIGH, SCALE_LOW = 0.9617966939259756, 0.9617966860532761, 7.872699542894897e-09
# ∛m for 1 ≤ m ≤ 2, error 2⁻¹³ relative
CBRT = (0.552823116852408, 0.587114921610932, -0.1629700955338756, 0.02310505548618808)
CBRT_2, CBRT_4 = 1.2599210498948732, 1.5874010519681994
LIFT_ROOT = (2.0**-8, 2.0**-18)  # 1/∛LIFT
FMOD_STEPS = tuple(2.0**bits for bits in range(252, -1, -28))
EXPONENT_MASK, LEAST_FIELD, SCALE_FIELD = 2047 << 52, 1 << 52, 2047 << 52


@inline
def _power_with_sign(x: Any, y: Any, value: Any) -> Any:
    """Returns xʸ from |x|ʸ: the sign, and what holds for 0, 1, infinity and NaN."""
    one, zero, whole = like(x, 1.0), like(x, 0.0), pick(x, WHOLE)
    a = magnitude(y)
    half = a * like(y, 0.5)
    rounded = (a + whole) - whole
    is_fractional = (a < whole) & (rounded != a)
    is_odd = ((a >= whole) | (rounded == a)) & (half < whole) & ((half + whole) - whole != half)
    value = select(is_fractional & (x < zero) & (x > like(x, -INFINITY)), like(x, NAN), value)
    value = select(is_odd & (to_bits(x) < 0), -value, value)
    value = select((x == x) & (y == y), value, x + y)
    is_one = (x == one) | (y == zero) | ((x == -one) & (a == like(y, INFINITY)))
    return select(is_one, one, value)


@inline
def _limited(e: Any, end: Any) -> Any:
    """Returns an exponent held within limits; NaN, which infinite operands give and which is settled later, is 0."""
    e = select(e > end, end, e)
    e = select(e < -end, -end, e)
    return select(e == e, e, 0.0)


@inline
def pow_single(x: Any, y: Any) -> Any:
    """Returns xʸ for float32, as 2 to the y log₂ |x| in float64, where no float32 is subnormal."""
    a = np.float64(magnitude(x))
    n, f = split(a)
    s = f / (f + 2.0)
    z = s * s
    logarithm = n + (s + s + s * z * horner(z, (LOG_SHORT, LOG_SHORT))) * LOG2_E
    logarithm = select(a == 0.0, -INFINITY, select(a < INFINITY, logarithm, INFINITY))
    e = _limited(logarithm * np.float64(y), 200.0)
    whole, k = nearest(e)
    r = e - whole
    power = power_of_two(a, k)
    value = np.float32(power + power * (r * horner(r, (EXP2_SHORT, EXP2_SHORT))))
    return _power_with_sign(x, y, value)


@inline_exact
def _log2_in_parts(a: Any) -> Any:
    """Returns log₂ a in two parts, the first with 26 bits.

    log m = 2s/3 · c with c = 3 + s² + s⁴ A(s²); s, c and the constant are split into halves whose products are exact.
    """
    n, f = split_any(a)
    d = f + 2.0
    s = f / d
    s_high, d_high = upper_half(s), upper_half(d)
    d_low = f - (d_high - 2.0)
    s_low = ((f - s_high * d_high) - s_high * d_low) / d
    z = s * s
    rest = z * z * horner(z, (ARTANH, ARTANH)) + s_low * (s_high + s)
    square = s_high * s_high
    c_high = upper_half(3.0 + square + rest)
    c_low = rest - ((c_high - 3.0) - square)
    p = s_high * c_high
    p_rest = s_low * c_high + s * c_low
    p_high = upper_half(p + p_rest)
    p_low = p_rest - (p_high - p)
    large = SCALE_HIGH * p_high
    small = SCALE_LOW * p_high + SCALE * p_low
    high = upper_half((large + small) + n)
    return high, small - ((high - n) - large)


@inline_exact
def pow_double(x: Any, y: Any) -> Any:
    """Returns xʸ for float64."""
    a = magnitude(x)
    high, low = _log2_in_parts(a)
    is_finite = (a > 0.0) & (a < INFINITY)
    high = select(is_finite, high, select(a == 0.0, -INFINITY, INFINITY))
    low = select(is_finite, low, 0.0)
    y_high = upper_half(y)
    small = select(is_finite & (magnitude(y) < INFINITY), (y - y_high) * high + y * low, 0.0)
    large = select(is_finite, y_high, y) * high
    e = _limited(large + small, POW_END)
    is_inside = (e > -POW_END) & (e < POW_END) & is_finite
    whole, k = nearest(e)
    r = select(is_inside, (large - whole) + small, 0.0)
    return _power_with_sign(x, y, scaled(1.0 + r * horner(r, EXP2), k))


@inline
def _cbrt_parts(x: Any) -> Any:
    """Returns m in [1, 8), ∛m to 40 bits or what the type has, and ∛(|x|/m), which is a power of two."""
    a = magnitude(x)
    is_small = a < pick(x, LEAST_NORMAL)
    bits = to_bits(select(is_small, a * pick(x, LIFT), a))
    one_bits = narrow(x, pick_integer(x, BIAS) << pick_integer(x, MANTISSA))
    fraction = from_bits(x, narrow(x, (bits & pick_integer(x, MANTISSA_MASK)) | one_bits))
    exponent = narrow(x, (bits - one_bits) >> pick_integer(x, MANTISSA))
    whole = from_bits(x, narrow(x, exponent + pick_integer(x, SHIFTER_BITS))) - pick(x, SHIFTER)
    third, k = nearest((whole - like(x, 1.0)) * like(x, 1.0 / 3.0))
    left = whole - third * like(x, 3.0)  # 0, 1 or 2
    is_one, is_two = left == like(x, 1.0), left == like(x, 2.0)
    m = fraction * select(is_one, like(x, 2.0), select(is_two, like(x, 4.0), like(x, 1.0)))
    root = select(is_one, like(x, CBRT_2), select(is_two, like(x, CBRT_4), like(x, 1.0)))
    t = root * horner(fraction, (CBRT, CBRT))
    cube = t * t * t
    t = t - t * ((cube - m) / (cube + cube + m))  # Halley's step
    power = power_of_two(x, k)
    return m, t, select(is_small, power * pick(x, LIFT_ROOT), power)


@inline
def _cbrt_with_sign(x: Any, value: Any) -> Any:
    is_ordinary = (x != like(x, 0.0)) & (magnitude(x) < like(x, INFINITY))
    return select(is_ordinary, with_sign(value, x), x)


@inline
def cbrt_single(x: Any) -> Any:
    """Returns ∛x for float32."""
    _, t, power = _cbrt_parts(x)
    return _cbrt_with_sign(x, t * power)


@inline_exact
def cbrt_double(x: Any) -> Any:
    """Returns ∛x for float64: Newton's step from 26 bits, whose square is exact."""
    m, t, power = _cbrt_parts(x)
    t = upper_half(t)
    quotient = m / (t * t)
    return _cbrt_with_sign(x, (t + t * ((quotient - t) / (t + t + quotient))) * power)


@inline
def hypot_single(x: Any, y: Any) -> Any:
    """Returns √(x² + y²) for float32; squares neither overflow nor vanish in float64."""
    a, b = np.float64(x), np.float64(y)
    is_infinite = (magnitude(x) == like(x, INFINITY)) | (magnitude(y) == like(x, INFINITY))
    return select(is_infinite, like(x, INFINITY), np.float32(square_root(a * a + b * b)))


@inline
def hypot_double(x: Any, y: Any) -> Any:
    """Returns √(x² + y²) for float64, both scaled by a power of two first."""
    a, b = magnitude(x), magnitude(y)
    is_infinite = (a == INFINITY) | (b == INFINITY)
    field = to_bits(select(a < b, b, a)) & EXPONENT_MASK
    field = select(field == 0, LEAST_FIELD, field)
    down = from_bits(x, SCALE_FIELD - field)
    a, b = a * down, b * down
    value = (square_root(a * a + b * b) * 0.5) * from_bits(x, field)
    return select(is_infinite, INFINITY, value)


@inline
def _without(r: Any, b: Any, inverse: Any, scale: Any, down: Any) -> Any:
    """Returns r less the multiple of b·scale that is nearest to it; |r| < 2²⁸ b·scale."""
    return r - nearest(r * (inverse * down))[0] * (b * scale)


@inline
def fmod_single(x: Any, y: Any) -> Any:
    """Returns the remainder of x/y, with the sign of x, for float32.

    The quotient has up to 277 bits; each of ten steps takes 28 of them away, exactly in float64.
    """
    a, b = np.float64(magnitude(x)), np.float64(magnitude(y))
    inverse = 1.0 / b
    r = a
    for scale in FMOD_STEPS:
        r = _without(r, b, inverse, scale, 1.0 / scale)
    r = select(r < 0.0, r + b, r)
    value = with_sign(np.float32(r), x)
    value = select((a < INFINITY) & (b == INFINITY), x, value)
    return select((a < INFINITY) & (b > 0.0), value, like(x, NAN))


@inline
def fmod_double(x: Any, y: Any) -> Any:
    """Returns the remainder of x/y, with the sign of x, for float64: a loop over the bits of the quotient."""
    a, b = magnitude(x), magnitude(y)
    if not (a < INFINITY and b > 0.0):
        return like(x, NAN) if a == a and b == b else x + y
    if a < b:
        return x
    m, e = _whole_mantissa(a)
    divisor, f = _whole_mantissa(b)
    m = m % divisor
    while e > f:
        shift = min(e - f, np.int64(11))
        m = (m << np.uint64(shift)) % divisor
        e -= shift
    value = np.float64(m)
    # divisor < 2^53, f ≥ −1074: two factors, so that neither vanishes
    half = f >> np.int64(1)
    return with_sign(value * power_of_two(x, half) * power_of_two(x, f - half), x)


@inline
def _whole_mantissa(a: Any) -> Any:
    """Returns m and e of a = m 2ᵉ, m an integer below 2⁵³."""
    bits = to_bits(a)
    field = bits >> 52
    m = bits & 0x000FFFFFFFFFFFFF
    if field == 0:
        return np.uint64(m), np.int64(-1074)
    return np.uint64(m | 0x0010000000000000), np.int64(field - 1075)


SINGLE = {"pow": pow_single, "cbrt": cbrt_single, "hypot": hypot_single, "fmod": fmod_single}
DOUBLE = {"pow": pow_double, "cbrt": cbrt_double, "hypot": hypot_double, "fmod": fmod_double}
