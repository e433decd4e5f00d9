"""Circular functions: sin, cos, tan, and arcsin, arccos, arctan, arctan2.

An angle is reduced first, x = k · π/2 + r with |r| ≤ π/4, for every finite x. The product x · 2/π is taken in integers,
from those bits of 2/π that matter at the exponent of x (Payne and Hanek): with x = m 2ᵉ, only the bits of 2ᵉ · 2/π
below 4 and a mantissa or two beyond the fraction have a say. The work is the same for every x, small or huge, so that a
loop over it has no branch and vectorises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.vmath.instructions import (
    funnel,
    horner,
    inline,
    inline_exact,
    like,
    magnitude,
    narrow,
    pick,
    select,
    square_root,
    to_bits,
    with_sign,
)

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

ONE, TWO, THREE, SIX, HALF = (np.uint64(n) for n in (1, 2, 3, 6, 32))
LOW = np.uint64(0xFFFFFFFF)
# A turn is a 64-bit fraction of a full one; without its two upper bits, and signed, it is a fraction of a quarter
HALF_PI = (1.5707963267948966, 6.123233995736766e-17)  # π/2 in two parts
FRACTION = 2.0**-64

# 2/π · 2¹⁹⁸ for float32 and 2/π · 2¹¹⁶¹ for float64, as words of 64 bits, the lowest first
W0, W1, W2, W3 = map(np.uint64, (0xD8A5664F10E4107F, 0x09D5F47D4D377036, 0xBE60DB9391054A7F, 0x28))
WORDS = np.array(
    [
        0xF6BF623F1ABA10AC, 0x0E73EF14A525D4D7, 0x4F758FD7CBE2F67A, 0x8C7ECD3CBFD45AEA, 0x6CFD9E4F96136E9E,
        0x5E2316B414DA3EDA, 0xF12FFFBC0B301FDE, 0x08BF177BF250763F, 0x23AC7306A673E939, 0x38E04D68BEFC8273,
        0x046BEA5D768909D3, 0x3BD63962534E7DD1, 0x925DD413A32439FC, 0x48DC74849BA5C00C, 0xA2C757BD778AC36E,
        0xC52B3278872083FC, 0x4EAFA3EA69BB81B6, 0xF306DC9C882A53F8, 0x145, 0, 0, 0,
    ],
    dtype=np.uint64,
)  # fmt: skip


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
def quadrant_single(a: Any) -> Any:
    """Returns k, of which two bits count, and r of a ≥ 0 for float32; below 1, k is 0 and r is a itself."""
    bits = to_bits(a)
    m = np.uint64(np.uint32((bits & 0x7FFFFF) | 0x800000))
    lowest = np.uint32(254 - (bits >> 23))  # of the bits of 2/π that matter; 127 where a is 1
    is_large = lowest < np.uint32(64)
    low, middle, high = select(is_large, W0, W1), select(is_large, W1, W2), select(is_large, W2, W3)
    shift = np.uint64(lowest)
    low, high = funnel(middle, low, shift), funnel(high, middle, shift)
    # m times 96 bits of 2/π, of which the upper 64
    turn = ((m * (high & LOW)) << HALF) + m * (low >> HALF) + ((m * (low & LOW)) >> HALF)
    k = (np.uint32(turn >> HALF) + np.uint32(1 << 29)) >> np.uint32(30)
    r = np.float32(np.float64(np.int64(turn << TWO)) * (HALF_PI[0] * FRACTION))
    return _chosen(a, np.int32(k), r)


@inline
def quadrant_double(a: Any) -> Any:
    """Returns k, of which two bits count, and r of a ≥ 0 for float64; below 1, k is 0 and r is a itself."""
    bits = to_bits(a)
    m = np.uint64((bits & 0xFFFFFFFFFFFFF) | 0x10000000000000)
    field = bits >> 52
    field = select(field < 1023, 1023, select(field > 2046, 2046, field))
    lowest = np.uint64(2046 - field)
    word = lowest >> SIX
    w0, w1, w2, w3 = WORDS[word], WORDS[word + ONE], WORDS[word + TWO], WORDS[word + THREE]
    w0, w1, w2 = funnel(w1, w0, lowest), funnel(w2, w1, lowest), funnel(w3, w2, lowest)
    upper, lower = _turn(m & LOW, m >> HALF, w0, w1, w2)
    k = (upper + (ONE << np.uint64(61))) >> np.uint64(62)
    rest = np.float64(np.int64(upper << TWO)) + np.float64(np.int64(lower >> ONE)) * 2.0**-61
    r = rest * (HALF_PI[0] * FRACTION) + rest * (HALF_PI[1] * FRACTION)
    return _chosen(a, np.int64(k), r)


@inline
def _chosen(a: Any, k: Any, r: Any) -> Any:
    is_small = a < like(a, 1.0)
    r = select(is_small, a, select(a < like(a, float("inf")), r, like(a, float("nan"))))
    return select(is_small, narrow(a, 0), k), r


@inline_exact
def _turn(m0: Any, m1: Any, w0: Any, w1: Any, w2: Any) -> Any:
    """Returns bits 64 to 191 of (m1 · 2³² + m0) times the words, as two words, the upper one first.

    Each product is of two halves of 32 bits; no column sum reaches 2⁶⁴.
    """
    a0, a1, a2, a3, a4, a5 = w0 & LOW, w0 >> HALF, w1 & LOW, w1 >> HALF, w2 & LOW, w2 >> HALF
    p1, p2, p3, p4 = m0 * a1, m0 * a2, m0 * a3, m0 * a4
    q0, q1, q2, q3 = m1 * a0, m1 * a1, m1 * a2, m1 * a3
    column = ((m0 * a0) >> HALF) + (p1 & LOW) + (q0 & LOW)
    column = (column >> HALF) + (p1 >> HALF) + (q0 >> HALF) + (p2 & LOW) + (q1 & LOW)
    lower = column & LOW
    column = (column >> HALF) + (p2 >> HALF) + (q1 >> HALF) + (p3 & LOW) + (q2 & LOW)
    lower = lower | (column << HALF)
    column = (column >> HALF) + (p3 >> HALF) + (q2 >> HALF) + (p4 & LOW) + (q3 & LOW)
    upper = column & LOW
    column = (column >> HALF) + (p4 >> HALF) + (q3 >> HALF) + m0 * a5 + m1 * a4
    return upper | (column << HALF), lower


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


def _circular(quadrant: Any) -> dict[str, Any]:
    """Returns sin, cos and tan of the type whose angles are reduced so."""

    @inline
    def sin(x: Any) -> Any:
        k, r = quadrant(magnitude(x))
        return _odd(x, _sin(k, r))

    @inline
    def cos(x: Any) -> Any:
        k, r = quadrant(magnitude(x))
        return _sin(k + 1, r)

    @inline
    def tan(x: Any) -> Any:
        k, r = quadrant(magnitude(x))
        return _odd(x, _tan(k, r))

    return {"sin": sin, "cos": cos, "tan": tan}


FUNCTIONS = {"arcsin": arcsin, "arccos": arccos, "arctan": arctan, "arctan2": arctan2}
SINGLE, DOUBLE = _circular(quadrant_single), _circular(quadrant_double)
