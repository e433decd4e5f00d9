"""Bessel functions of order 0 and 1, and what their derivatives are made of: Jₙ(x)/xⁿ and e^−|x| Iₙ(x)/xⁿ.

Near 0 they are polynomials in x², far from it those in 1/x times 1/√x, of J with sine and cosine (DLMF 10.10, 10.17,
10.40). Orders from 2 on follow from those below by recurrence (DLMF 10.6.1, 10.29.1), and near 0 from their series
(DLMF 10.2.2, 10.25.2), where the recurrence would cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opsdk.expr import vmath
from opsdk.expr.primitives.bodies.polynomial import mapped, polynomial

# Any, in every signature: a symbol, and the same back.

# (J₀(x) − 1)/x² and J₁(x)/x as polynomials in x²/32 − 1, |x| ≤ 8
J_NEAR = (
    (
        -0.02981782297313082, 0.058889736951126356, -0.07915440204760084, 0.053901626807923125, -0.02145226864718184,
        0.005593892214459901, -0.0010317406967226283, 0.00014196824013295396, -1.515327172231364e-05,
        1.292461645041614e-06, -9.01742119981535e-08, 5.244551214790569e-09, -2.582671963111536e-10,
        1.091070660648597e-11, -3.9985708893231257e-13, 1.2835240398765974e-14, -3.639080702228998e-16,
        9.180651152803074e-18, -2.0782748099023398e-19, 4.229041705366784e-21,
    ),
    (
        -0.05814382795599107, 0.08105866038589796, 0.15151665143806634, -0.2595948652859303, 0.15858376432721938,
        -0.054745818212847276, 0.01245681439225544, -0.0020290394945702453, 0.0002494945813908964,
        -2.4045748660869218e-05, 1.8684525372339904e-06, -1.1967081644348947e-07, 6.43126873231046e-09,
        -2.943037865185982e-10, 1.1610655467503379e-11, -3.9908260820706373e-13, 1.2060725733399566e-14,
        -3.2303557186396214e-16, 7.738273635981404e-18, -1.660698366323867e-19,
    ),
)  # fmt: skip
# the modulus times the cosine and, times x, the sine of the phase as polynomials in 64/x², x ≥ 8
J_COSINE = (
    (
        1.0, -0.001098632812493221, 2.73808833641528e-05, -2.183913222306031e-06, 3.6197587573225314e-07,
        -1.0205645287585504e-07, 4.254628094823272e-08, -2.2200973342329162e-08, 1.1738384274197728e-08,
        -5.095553333977321e-09, 1.4750338008415762e-09, -2.0391408033332703e-10,
    ),
    (
        1.0, 0.0018310546874928109, -3.520399297101131e-05, 2.580989129547086e-06, -4.1024411066032235e-07,
        1.1281773626225927e-07, -4.629252887246952e-08, 2.3922997862982906e-08, -1.2580280989645218e-08,
        5.444918014666896e-09, -1.573564731864219e-09, 2.1732178703705486e-10,
    ),
)  # fmt: skip
J_SINE = (
    (
        -0.12499999999999999, 0.0011444091796844855, -5.5446289280078764e-05, 6.590752087194181e-06,
        -1.4531181922978543e-06, 5.128257330705736e-07, -2.619389413604512e-07, 1.7385976189504328e-07,
        -1.2947563132145896e-07, 9.19650181320971e-08, -5.407968212712422e-08, 2.3263179562137196e-08,
        -6.312719489546332e-09, 7.992151811881185e-10,
    ),
    (
        0.375, -0.0016021728515593263, 6.776768693172045e-05, -7.60471448273381e-06, 1.6240781428569502e-06,
        -5.616941261724079e-07, 2.830000270749296e-07, -1.8612709127914947e-07, 1.3782721065381796e-07,
        -9.757567673089654e-08, 5.7270812014558826e-08, -2.4608254375459966e-08, 6.673020032618346e-09,
        -8.444367817460285e-10,
    ),
)  # fmt: skip
# √x e⁻ˣ Iₙ(x) as a polynomial in 16/x − 1, x ≥ 8
I_FAR = (
    (
        0.4021765094450081, 0.0033605519836678913, 0.00013621607438951764, 1.1143033788425403e-05,
        1.4838476779656742e-06, 2.9735992156596496e-07, 8.872014792919072e-08, 3.93251141664098e-08,
        2.1567789377160627e-08, 7.559427186122421e-09, -6.856399597826492e-09, -1.3427779877468502e-08,
        -5.0178524411298585e-09, 7.6009866363302e-09, 6.522768920932243e-09, -3.587590608108499e-09,
        -4.5312017631234925e-09, 1.6100081168695155e-09, 2.164170576131736e-09, -6.338985560071447e-10,
        -6.496733377787778e-10, 1.774404425780705e-10, 9.118805124678376e-11, -2.450479063795916e-11,
    ),
    (
        0.38939845902587233, -0.009749577193235765, -0.00021923576383138082, -1.5038547198194426e-05,
        -1.8349102492705733e-06, -3.4838563538724394e-07, -1.0001075256519489e-07, -4.3128488678986876e-08,
        -2.3394105322401808e-08, -8.432234125126343e-09, 6.8474921245085465e-09, 1.4052023820420303e-08,
        5.572280524491222e-09, -7.688005937325226e-09, -6.9449299300273845e-09, 3.503111409375055e-09,
        4.764419799557193e-09, -1.5233850963982506e-09, -2.26293640508994e-09, 5.882054642259619e-10,
        6.774920690579385e-10, -1.6330498471647934e-10, -9.495993020544917e-11, 2.2506836881647293e-11,
    ),
)  # fmt: skip
END = 8.0
SERIES_END = 5.0  # of Jₙ, n ≥ 2
TERMS = 26  # of a series up to `END`
ROOT_PI = 1.7724538509055159


def j0(x: Any) -> Any:
    """Returns J₀(x)."""
    return vmath.where(vmath.abs(x) < END, _j_near(x, 0), _j_far(vmath.abs(x), 0))


def j1(x: Any) -> Any:
    """Returns J₁(x)."""
    far = vmath.copysign(1.0, x) * _j_far(vmath.abs(x), 1)
    return vmath.where(vmath.abs(x) < END, x * _j_near(x, 1), far)


def j_over_power(order: int) -> Callable[[Any], Any]:
    """Returns the function that gives Jₙ(x)/xⁿ, n ≥ 1."""
    series = [(-0.25) ** k / (math.factorial(k) * math.factorial(order + k) * 2.0**order) for k in range(TERMS)]

    def body(x: Any) -> Any:
        a = vmath.abs(x)
        made = [j0(x), vmath.where(a < END, _j_near(x, 1), _j_far(a, 1) / a)]
        inverse = 1.0 / (x * x)
        for n in range(1, order):
            made.append((2.0 * n * made[n] - made[n - 1]) * inverse)
        return made[1] if order == 1 else vmath.where(a < SERIES_END, polynomial(x * x, series), made[order])

    return body


def _j_near(x: Any, order: int) -> Any:
    square = x * x
    value = polynomial(mapped(square, 32.0, 32.0), J_NEAR[order])
    return value if order else 1.0 + square * value


def _j_far(a: Any, order: int) -> Any:
    """Returns Jₙ(a), a ≥ 8, from the cosine of a − π/4 or a − 3π/4, which is one of a sum of sin a and cos a."""
    inverse = END / a
    square = inverse * inverse
    cosine = polynomial(square, J_COSINE[order])
    sine = polynomial(square, J_SINE[order]) * (inverse * (1.0 / END))
    s, c = vmath.sin(a), vmath.cos(a)
    value = cosine * (s + c) - sine * (s - c) if order == 0 else cosine * (s - c) + sine * (s + c)
    return value / (ROOT_PI * vmath.sqrt(a))


def i0e(x: Any) -> Any:
    """Returns e^−|x| I₀(x)."""
    a = vmath.abs(x)
    return vmath.where(a < END, _i_near(x, 0), _i_far(a, 0))


def i1e(x: Any) -> Any:
    """Returns e^−|x| I₁(x)."""
    a = vmath.abs(x)
    return vmath.where(a < END, x * _i_near(x, 1), vmath.copysign(1.0, x) * _i_far(a, 1))


def i_over_power(order: int) -> Callable[[Any], Any]:
    """Returns the function that gives e^−|x| Iₙ(x)/xⁿ, n ≥ 1."""

    def body(x: Any) -> Any:
        a = vmath.abs(x)
        made = [_i_far(a, 0), _i_far(a, 1) / a]
        inverse = 1.0 / (x * x)
        for n in range(1, order):
            made.append((made[n - 1] - 2.0 * n * made[n]) * inverse)
        return vmath.where(a < END, _i_near(x, order), made[order])

    return body


def _i_near(x: Any, order: int) -> Any:
    series = [0.25**k / (math.factorial(k) * math.factorial(order + k) * 2.0**order) for k in range(TERMS)]
    return vmath.exp(-vmath.abs(x)) * polynomial(x * x, series)


def _i_far(a: Any, order: int) -> Any:
    return polynomial(mapped(END / a, 0.5, 0.5), I_FAR[order]) / vmath.sqrt(a)
