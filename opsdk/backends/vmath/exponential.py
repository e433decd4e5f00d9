"""Exponentials: exp, exp2, expm1, sigmoid, softplus, tanh, sinh, cosh.

With n the integer nearest to x / log 2 and r = x − n log 2, |r| ≤ 0.347: eˣ = 2ⁿ (1 + r + r² P(r)), P a minimax
polynomial. n comes from adding 1.5·2ᵐ, m the bits of the mantissa, which leaves n in the low bits of the sum: no
conversion that would be undefined for NaN and infinity, and no call where the machine cannot round.
"""

from __future__ import annotations

from typing import Any

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
    to_bits,
    with_sign,
)

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type back.

MANTISSA = (23, 52)  # bits of the mantissa
BIAS = (127, 1023)  # of the exponent
SHIFTER = (12582912.0, 6755399441055744.0)  # 1.5·2ᵐ
SHIFTER_BITS = (0x4B400000, 0x4338000000000000)
RAISE, LOWER = (32, 64), (2.0**-32, 2.0**-64)  # from the least exponents of eˣ to those of normal numbers, and back
POWER = (SHIFTER[0] + BIAS[0], SHIFTER[1] + BIAS[1])  # leaves n + bias in the low bits: shifted, they are 2ⁿ
RAISED = (POWER[0] + RAISE[0], POWER[1] + RAISE[1])
LOG2_E = 1.4426950408889634
# log 2 in two parts; the first has so few bits that n times it is exact
LN2_HIGH = (0.693115234375, 0.693147180559663)
LN2_LOW = (3.1946184945309415e-05, 2.8235290563031577e-13)

# (eʳ − 1 − r) / r² for |r| ≤ 0.35, error of eʳ at most 2⁻²⁷·⁹ and 2⁻⁶³
EXP = (
    (0.5, 0.16666528582572937, 0.04166724905371666, 0.008368171751499176, 0.0013864400098100305),
    (
        0.5, 0.16666666666666685, 0.04166666666666673, 0.008333333333315377, 0.0013888888888856053,
        0.00019841269900458907, 2.480158737793844e-05, 2.755723081752781e-06, 2.755723006358366e-07,
        2.5113437948995394e-08, 2.0927897447242376e-09,
    ),
)  # fmt: skip
EXP_WHOLE = ((1.0, 1.0, *EXP[0]), (1.0, 1.0, *EXP[1]))  # eʳ
EXP_TWICE = tuple(c * 2.0**i for i, c in enumerate(EXP_WHOLE[0]) if i)  # (e²ʳ − 1) / r, for float32
# (2ʳ − 1) / r for |r| ≤ 1/2
EXP2 = (
    (
        0.6931472420692444, 0.24022650718688965, 0.05550292879343033, 0.00961802713572979, 0.0013411541003733873,
        0.00015471065125893801,
    ),
    (
        0.6931471805599453, 0.24022650695910072, 0.05550410866482179, 0.009618129107628487, 0.0013333558146369736,
        0.0001540353039335255, 1.5252733875157252e-05, 1.3215486825336851e-06, 1.0178043642017334e-07,
        7.0548906489192844e-09, 4.4577744148305947e-10, 2.5739008296050677e-11,
    ),
)  # fmt: skip
# (2 artanh(s)/s − 2) / s², as a polynomial in s², for s ≤ 1/3
LOG1P_UNIT = (
    (0.6666667461395264, 0.3999895453453064, 0.2861688435077667, 0.21411146223545074, 0.24409402906894684),
    (
        0.6666666666666667, 0.3999999999999629, 0.2857142857223078, 0.22222222141840642, 0.18181822668785405,
        0.15384462161311113, 0.13336691937803843, 0.1171660635467906, 0.10971689496524904, 0.06985369802983267,
        0.16500461955186563,
    ),
)  # fmt: skip

# (tanh x / x − 1) / x² as a polynomial in x², for |x| ≤ 0.625
TANH = (
    -0.3333333134651184, 0.13333220779895782, -0.053947459906339645, 0.021700244396924973, -0.008168870583176613,
    0.0021303086541593075,
)  # fmt: skip
TANH_SMALL = 0.625

# Beyond these eˣ is infinite, or rounds to zero: the limits keep n in range, and 2ⁿ does the rest
EXP_MOST, EXP_LEAST = (89.0, 710.0), (-104.5, -746.0)
EXP2_MOST, EXP2_LEAST = (128.5, 1024.5), (-151.0, -1076.0)
EXPM1_LEAST = (-20.0, -40.0)  # eˣ − 1 rounds to −1 there
SINH_MOST = (89.5, 710.5)  # infinite from a little below
TANH_MOST = (10.0, 20.0)  # 1 from a little below
SMALL = (2.0**-25, 2.0**-54)  # below this f(x) = x + O(x²) rounds to x


@inline
def power_of_two(x: Any, k: Any) -> Any:
    """Returns 2ᵏ in the type of x; k within the normal exponents."""
    return from_bits(x, narrow(x, (k + pick_integer(x, BIAS)) << pick_integer(x, MANTISSA)))


@inline_exact  # fused with a sum that follows, the product would not overflow
def scaled(x: Any, k: Any) -> Any:
    """Returns x·2ᵏ, rounded once where the result is subnormal, infinite where it is too large."""
    half = narrow(x, k >> 1)
    return x * power_of_two(x, half) * power_of_two(x, narrow(x, k - half))


@inline
def nearest(x: Any) -> Any:
    """Returns the integer nearest to x, |x| < 2ᵐ⁻², as a float and as an integer."""
    shifted = x + pick(x, SHIFTER)
    return shifted - pick(x, SHIFTER), narrow(x, to_bits(shifted) - pick_integer(x, SHIFTER_BITS))


@inline
def nearest_power(x: Any, shifter: Any) -> Any:
    """Returns the integer n nearest to x, as a float, and 2ⁿ, or 2ⁿ⁺ᵏ where the shifter is k above `POWER`.

    The sum's low bits are the exponent, so that 2ⁿ takes one shift; n + k within the normal exponents.
    """
    shifted = x + pick(x, shifter)
    return shifted - pick(x, shifter), from_bits(x, narrow(x, to_bits(shifted) << pick_integer(x, MANTISSA)))


@inline
def reduced(x: Any) -> Any:
    """Returns n and eʳ − 1, where x = n log 2 + r; what rounding r lost is added at the end."""
    n, k = nearest(x * like(x, LOG2_E))
    first, second = x - n * pick(x, LN2_HIGH), n * pick(x, LN2_LOW)
    r = first - second
    return k, r + (r * r * horner(r, EXP) + ((first - r) - second))


@inline
def at_most(x: Any, most: Any) -> Any:
    """Returns the smaller one; NaN stays."""
    return select(x > most, most, x)


@inline
def at_least(x: Any, least: Any) -> Any:
    """Returns the larger one; NaN stays."""
    return select(x < least, least, x)


@inline
def exp(x: Any) -> Any:
    """Returns eˣ."""
    k, q = reduced(at_least(at_most(x, pick(x, EXP_MOST)), pick(x, EXP_LEAST)))
    return scaled(like(x, 1.0) + q, k)


@inline
def exp2(x: Any) -> Any:
    """Returns 2ˣ."""
    limited = at_least(at_most(x, pick(x, EXP2_MOST)), pick(x, EXP2_LEAST))
    n, k = nearest(limited)
    r = limited - n
    return scaled(like(x, 1.0) + r * horner(r, EXP2), k)


@inline
def expm1(x: Any) -> Any:
    """Returns eˣ − 1."""
    k, q = reduced(at_least(at_most(x, pick(x, EXP_MOST)), pick(x, EXPM1_LEAST)))
    half = power_of_two(x, narrow(x, k - 1))  # half of 2ⁿ, which itself may overflow
    value = (half * q + (half - like(x, 0.5))) * like(x, 2.0)
    return select(magnitude(x) < pick(x, SMALL), x, value)


@inline
def decay(x: Any) -> Any:
    """Returns exp(−|x|); 2ⁿ is taken where it is a normal number, and lowered at the end."""
    limited = at_least(-magnitude(x), pick(x, EXP_LEAST))
    n, raised = nearest_power(limited * like(x, LOG2_E), RAISED)
    r = (limited - n * pick(x, LN2_HIGH)) - n * pick(x, LN2_LOW)
    return horner(r, EXP_WHOLE) * raised * pick(x, LOWER)


@inline
def log1p_unit(d: Any) -> Any:
    """Returns log(1 + d) for 0 ≤ d ≤ 1: d − s(d − R), with s = d/(2 + d) and log(1 + d) = 2 artanh s."""
    s = d / (d + like(d, 2.0))
    z = s * s
    return d - s * (d - z * horner(z, LOG1P_UNIT))


@inline
def sigmoid(x: Any) -> Any:
    """Returns 1/(1 + e⁻ˣ). Of σ(x) and σ(−x), asked for together, the compiler makes all but a choice once."""
    d = decay(x)
    one = like(x, 1.0)
    total = one + d
    rounded = one / total
    lost = d - (total - one)
    inverse = rounded + rounded * ((one - rounded * total) - rounded * lost)
    return select(x < like(x, 0.0), d * inverse, inverse)


@inline
def gated(x: Any, y: Any) -> Any:
    """Returns x·σ(y) as one quotient; where y < 0 as x·eʸ/(1 + eʸ), which vanishes no sooner than the product does."""
    d = decay(y)
    one = like(x, 1.0)
    return select(y < like(y, 0.0), x * d, x) / (one + d)


@inline
def softplus(x: Any) -> Any:
    """Returns log(1 + eˣ)."""
    return select(x < like(x, 0.0), like(x, 0.0), x) + log1p_unit(decay(x))


@inline
def tanh_single(x: Any) -> Any:
    """Returns tanh x for float32, as 1 − 2/(e²ˣ + 1) and near 0 as a polynomial."""
    a = magnitude(x)
    limited = at_most(a, pick(x, TANH_MOST))
    n, power = nearest_power(limited * like(x, 2.0 * LOG2_E), POWER)
    r = (limited - n * like(x, LN2_HIGH[0] / 2.0)) - n * like(x, LN2_LOW[0] / 2.0)
    q = r * horner(r, (EXP_TWICE, EXP_TWICE))
    large = like(x, 1.0) - like(x, 2.0) / (power * q + (power + like(x, 1.0)))
    z = a * a
    return with_sign(select(a < like(x, TANH_SMALL), a + a * (z * horner(z, (TANH, TANH))), large), x)


@inline
def tanh_double(x: Any) -> Any:
    """Returns tanh x for float64, as e/(e + 2) with e = exp(2|x|) − 1."""
    two = like(x, 2.0)
    k, q = reduced(two * at_most(magnitude(x), pick(x, TANH_MOST)))
    power = power_of_two(x, k)
    e = power * q + (power - like(x, 1.0))
    return with_sign(e / (e + two), x)


@inline
def _quarter_exponential(x: Any) -> Any:
    """Returns 2ⁿ/4 and eʳ − 1 for |x|; a quarter, since the whole may be infinite where sinh x is not."""
    k, q = reduced(at_most(magnitude(x), pick(x, SINH_MOST)))
    return power_of_two(x, narrow(x, k - 2)), q


@inline
def sinh(x: Any) -> Any:
    """Returns sinh x as h + h/(2h + 1), h = (e^|x| − 1)/2; near 0, where a quarter of x has lost digits, as x."""
    quarter, q = _quarter_exponential(x)
    h = (quarter * q + (quarter - like(x, 0.25))) * like(x, 2.0)
    alone = h > pick(x, (3e38, 1.7e308))  # the other share would be infinite
    value = select(alone, h, h + h / (like(x, 2.0) * h + like(x, 1.0)))
    a = magnitude(x)
    return with_sign(select(a < pick(x, (1e-30, 1e-300)), a, value), x)


@inline
def cosh(x: Any) -> Any:
    """Returns cosh x as h + 1/(4h), h = e^|x|/2."""
    quarter, q = _quarter_exponential(x)
    h = (quarter * q + quarter) * like(x, 2.0)
    return h + like(x, 0.25) / h


# `gated` is of compiled expressions alone, see `expr/simplify.py`
FUNCTIONS = {made.__name__: made for made in (exp, exp2, expm1, sigmoid, gated, softplus, sinh, cosh)}
SINGLE = {"tanh": tanh_single}
DOUBLE = {"tanh": tanh_double}
