"""The gamma function's logarithm and the derivatives of that: lgamma, digamma, and polygamma of every order.

Near 1 and 2 lgamma is u Q(u), u = x − 2, less the logarithm of what leads there from below; from 5/2 on it is
Stirling's formula (DLMF 5.11.1), whose rest is a polynomial in 1/x². digamma is (x − x₀) P(x) in [1, 2], x₀ its zero,
and log x − 1/(2x) less a polynomial in 1/x² beyond (DLMF 5.11.2). polygamma is a sum of 1/(x + k)ⁿ⁺¹ and the asymptotic
series of what remains (DLMF 5.15.1, 5.15.8). What is negative is reflected (DLMF 5.5.3, 5.5.4, 5.15.6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opsdk.expr import vmath
from opsdk.expr.primitives.bodies.polynomial import mapped, polynomial

# Any, in every signature: a symbol, and the same back.

# lgamma(2 + u)/u, −3/4 ≤ u ≤ 1/2; relative error 2⁻⁵⁴
LGAMMA = (
    0.42278433509846713, 0.3224670334241132, -0.06735230105319803, 0.020580808427784605, -0.007385551028681512,
    0.002890510330735603, -0.0011927539113632116, 0.0005096695250613079, -0.00022315476626183224,
    9.94575037206372e-05, -4.492613417222439e-05, 2.050735916377729e-05, -9.440295643329289e-06,
    4.373455647232756e-06, -2.035450933367171e-06, 9.634073192949235e-07, -4.5855335925043413e-07,
    1.8327792622502426e-07, -9.423130042125474e-08, 1.0227175181175715e-07, -2.4687569244652835e-09,
    -3.150027782334188e-08, -3.9681207194105607e-08,
)  # fmt: skip
# x (lgamma(x) − (x − 1/2)(log x − 1) − (log 2π − 1)/2) as a polynomial in 1/x², x ≥ 5/2
STIRLING = (
    0.08333333333333333, -0.0027777777777693072, 0.0007936507901428913, -0.0005952375135507797, 0.0008416995178369364,
    -0.001914745144995309, 0.006309103471279608, -0.026921311933460836, 0.1279886095920441, -0.5761890106167786,
    2.136362020448868, -5.775766346642704, 9.831636946147183, -7.799035981906891,
)  # fmt: skip
HALF_LOG = 0.4189385332046727  # (log 2π − 1)/2
LOG_PI = 1.1447298858494002
# digamma(1 + u)/(1 + u − x₀) as a polynomial in 2u − 1, 0 ≤ u ≤ 1
DIGAMMA = (
    0.9510558760318328, -0.21181371064073024, 0.06013562106019684, -0.018550615381739702, 0.005936795278301875,
    -0.0019350666647392832, 0.0006368880303847901, -0.00021074841284590126, 6.99501882655044e-05,
    -2.325823275895313e-05, 7.741234441368395e-06, -2.578133701610713e-06, 8.589062683365892e-07,
    -2.8621216825577647e-07, 9.543261570760428e-08, -3.1807298477301726e-08, 1.0528133851878114e-08,
    -3.509235492410718e-09, 1.2466690231864029e-09, -4.1555064115551965e-10, 8.748420037436287e-11,
    -2.9161179626023815e-11, 2.916093601085364e-11, -9.720300404202244e-12,
)  # fmt: skip
# x₀ − 1 in three parts, of which float32 holds the first
ZERO = (0.4616321325302124, 1.2438149938918909e-08, 4.341643069426251e-25)
# x² (log x − 1/(2x) − digamma(x)) as a polynomial in 8/x² − 1, x ≥ 2
TAIL = (
    0.08234693724440534, -0.0009367704342562853, 4.4839052952935645e-05, -4.099379365254404e-06,
    5.576415301807196e-07, -9.975971125727396e-08, 2.1829710739744857e-08, -5.576366915921509e-09,
    1.6101292601528798e-09, -5.137862261192499e-10, 1.7976485998751223e-10, -6.717837461013018e-11,
    2.2940058633891155e-11, -9.01420694143271e-12, 8.930352611056212e-12, -4.5694715760978395e-12,
    -2.067320438661343e-12, 1.2793798455944545e-12, 1.3266037588032787e-12, -7.417135564492317e-13,
)  # fmt: skip
SHIFT = 9  # of polygamma: terms that are summed one by one
# B₂ₖ, k = 1 …
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def lgamma(x: Any) -> Any:
    """Returns log |Γ(x)|."""
    reflected = x < -0.5
    y = vmath.where(reflected, 1.0 - x, x)
    is_large, near_two, near_one = y >= 2.5, y > 1.25, y > 0.5
    u = vmath.where(near_two, y - 2.0, vmath.where(near_one, y - 1.0, y))
    below = vmath.where(near_two, 1.0, vmath.where(near_one, y, vmath.abs(y) * (1.0 + y)))
    log = vmath.log(vmath.where(is_large, y, below))
    inverse = 1.0 / y
    large = (y - 0.5) * (log - 1.0) + (HALF_LOG + inverse * polynomial(inverse * inverse, STIRLING))
    positive = vmath.where(is_large, large, u * polynomial(u, LGAMMA) - log)
    sine = vmath.abs(vmath.sin(vmath.pi * _fraction(x)))
    turned = vmath.where(sine == 0.0, vmath.inf, (LOG_PI - vmath.log(sine)) - positive)
    value = vmath.where(reflected, turned, positive)
    return vmath.where(vmath.isinf(x), x, value)


def digamma(x: Any) -> Any:
    """Returns (log Γ)′(x)."""
    reflected = x < 0.0
    y = vmath.where(reflected, 1.0 - x, x)
    inverse = 1.0 / y
    square = inverse * inverse
    large = vmath.log(y) - (0.5 * inverse + square * polynomial(mapped(square, 0.125, 0.125), TAIL))
    is_small = y < 1.0
    u = vmath.where(is_small, y, y - 1.0)
    near = (((u - ZERO[0]) - ZERO[1]) - ZERO[2]) * polynomial(mapped(u, 0.5, 0.5), DIGAMMA)
    near = vmath.where(is_small, near - inverse, near)
    value = vmath.where(y >= 2.0, large, near)
    fraction = _fraction(x)
    turn = vmath.where(fraction == 0.0, vmath.nan, vmath.pi / vmath.tan(vmath.pi * fraction))
    return vmath.where(reflected, value - turn, value)


def polygamma(order: int) -> Callable[[Any], Any]:
    """Returns the function that gives the derivative of digamma of an order from 1 on."""
    sign = -1.0 if order % 2 == 0 else 1.0
    factorial = float(math.factorial(order))
    series = [b * math.factorial(2 * k + order - 1) / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1)]
    turned = _cotangent(order)

    def body(x: Any) -> Any:
        reflected = x < 0.0
        y = vmath.where(reflected, 1.0 - x, x)
        total = 0.0
        for k in range(SHIFT):
            total = _power(1.0 / (y + float(k)), order + 1) + total
        inverse = 1.0 / (y + float(SHIFT))
        power = _power(inverse, order)
        first = math.factorial(order - 1) + inverse * (0.5 * factorial)
        rest = power * (first + inverse * inverse * polynomial(inverse * inverse, series))
        value = factorial * total + rest
        fraction = _fraction(x)
        cotangent = 1.0 / vmath.tan(vmath.pi * fraction)
        pole = vmath.inf if order % 2 else vmath.nan
        image = vmath.where(fraction == 0.0, pole, polynomial(cotangent, turned)) - value
        return vmath.where(reflected, image, sign * value)

    return body


def _fraction(x: Any) -> Any:
    """Returns what x differs by from the nearest whole number; infinity counts as one."""
    return vmath.where(vmath.isinf(x), 0.0, x - vmath.round(x))


def _power(x: Any, exponent: int) -> Any:
    """Returns a whole power as products."""
    total = x
    for _ in range(exponent - 1):
        total = total * x
    return total


def _cotangent(order: int) -> list[float]:
    """Returns −π dⁿ/dxⁿ cot πx as a polynomial in cot πx."""
    made = [0.0, 1.0]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(made)][1:]
        made = [0.0] * (len(slope) + 2)
        for k, c in enumerate(slope):  # −(1 + c²) times it
            made[k] -= c
            made[k + 2] -= c
    return [-c * math.pi ** (order + 1) for c in made]
