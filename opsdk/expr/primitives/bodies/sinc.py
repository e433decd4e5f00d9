"""sinc and its derivatives of every order: near 0 by their series, elsewhere by what x sinc x = sin(πx)/π gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opsdk.expr import vmath
from opsdk.expr.primitives.bodies.polynomial import polynomial

# Any, in every signature: a symbol, and the same back.

PI = 3.141592653589793
TERMS = 24  # of a series, whose last one is below 2⁻⁶⁰ where it ends


def sinc(x: Any) -> Any:
    """Returns sin(πx)/(πx), and 1 at 0."""
    sine, _ = _turned(x)
    return vmath.where(x == 0.0, 1.0, sine / (PI * x))


def derivative(order: int) -> Callable[[Any], Any]:
    """Returns the function that gives the derivative of sinc of an order from 1 on."""
    odd = order % 2
    series = []
    for j in range(TERMS):  # of powers x²ʲ⁺ᵒᵈᵈ
        m = (order + odd) // 2 + j
        size = math.prod(range(2 * j + odd + 1, 2 * m + 1)) / math.factorial(2 * m + 1)
        series.append((-1.0) ** m * size * math.pi ** (2 * m))
    end = max(1.0, order / 4.0)

    def body(x: Any) -> Any:
        sine, cosine = _turned(x)
        turned = (sine, cosine, -sine, -cosine)
        value = sine / (PI * x)
        for n in range(1, order + 1):  # n times the derivative of x sinc x is that and x times the next one
            value = (PI ** (n - 1) * turned[n % 4] - float(n) * value) / x
        near = polynomial(x * x, series)
        return vmath.where(vmath.abs(x) < end, x * near if odd else near, value)

    return body


def _turned(x: Any) -> tuple[Any, Any]:
    """Returns the sine and the cosine of πx, of which the nearest whole number is taken away before."""
    whole = vmath.round(x)
    sign = 1.0 - 2.0 * (whole - 2.0 * vmath.floor(0.5 * whole))
    angle = PI * (x - whole)
    return sign * vmath.sin(angle), sign * vmath.cos(angle)
