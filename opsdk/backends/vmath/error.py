"""Error functions: erf and erfc."""

from __future__ import annotations

from typing import Any

from opsdk.backends.vmath.exponential import EXP, LN2_HIGH, LN2_LOW, LOG2_E, nearest, power_of_two, reduced, scaled
from opsdk.backends.vmath.instructions import horner, inline, like, magnitude, pick, select, upper_half, with_sign
from opsdk.expr.primitives.error_function import HALF_WAY, SCALED, SMALL, SMALL_END

# Any, in every signature: a scalar of Numba's float32 or float64, and the same type back.

# erf x / x − 1 as a polynomial in x², |x| ≤ 0.93
SMALL_SINGLE = (
    0.12837916612625122, -0.37612634897232056, 0.11283694207668304, -0.02685927040874958, 0.005200634244829416,
    -0.0008137437980622053, 8.345227251993492e-05,
)  # fmt: skip
# log(1 − erf x), 0.92 ≤ x ≤ 4
TAIL = (
    0.00016308040358126163, -1.129448652267456, -0.633509635925293, -0.10805602371692657, 0.024930303916335106,
    -0.004070934373885393, 0.0004020122578367591, -1.5212457583402283e-05, -4.564830646813789e-07,
)  # fmt: skip
TAIL_END = 4.0  # erf rounds to 1 from 3.92 on
# (1 + 2x) exp(x²) erfc x as a polynomial in (x − 2)/(x + 2), 0 ≤ x ≤ 10.2
SCALED_SINGLE = (
    1.2769783735275269, -0.09276389330625534, -0.1660313457250595, 0.16405297815799713, -0.05420525744557381,
    -0.008043215610086918, 0.008639036677777767, 0.0012693870812654495, -0.0012555429711937904,
    -0.0003606547543313354, 2.9333616112126037e-05,
)  # fmt: skip
CENTRE = (2.0, 4.0)  # of the two polynomials
ERFC_END = (10.2, 27.3)  # erfc rounds to 0 from here on


@inline
def _erf_small(x: Any) -> Any:
    return x + x * horner(x * x, (SMALL_SINGLE, SMALL))


@inline
def erf_single(x: Any) -> Any:
    """Returns erf x for float32: 1 − exp(polynomial) away from 0."""
    a = magnitude(x)
    end = like(x, TAIL_END)
    k, q = reduced(horner(select(a > end, end, a), (TAIL, TAIL)))
    power = power_of_two(x, k)
    large = like(x, 1.0) - (power + power * q)
    return select(a < like(x, SMALL_END), _erf_small(x), with_sign(large, x))


@inline
def _erfc_positive(x: Any) -> Any:
    """Returns erfc |x|; the exponent −x² is carried in two parts, of which the first is exact."""
    a, end = magnitude(x), pick(x, ERFC_END)
    a = select(a > end, end, a)
    centre = pick(x, CENTRE)
    factor = horner((a - centre) / (a + centre), (SCALED_SINGLE, SCALED)) / (like(x, 1.0) + (a + a))
    upper = upper_half(a)
    n, k = nearest(a * a * like(x, -LOG2_E))
    first = -(upper * upper) - n * pick(x, LN2_HIGH)
    r = (first - (a - upper) * (a + upper)) - n * pick(x, LN2_LOW)
    return scaled(factor + factor * (r + r * r * horner(r, EXP)), k)


@inline
def erf_double(x: Any) -> Any:
    """Returns erf x for float64: 1 − erfc x away from 0."""
    large = with_sign(like(x, 1.0) - _erfc_positive(x), x)
    return select(magnitude(x) < like(x, SMALL_END), _erf_small(x), large)


@inline
def erfc(x: Any) -> Any:
    """Returns 1 − erf x, also where erf x rounds to 1."""
    value = _erfc_positive(x)
    value = select(x < like(x, 0.0), like(x, 2.0) - value, value)
    return select(magnitude(x) < like(x, HALF_WAY), like(x, 1.0) - _erf_small(x), value)


SINGLE = {"erf": erf_single, "erfc": erfc}
DOUBLE = {"erf": erf_double, "erfc": erfc}
