"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from functools import partial

from opsdk.expr.primitives.entry import HOLOMORPHIC, REAL_ONLY, WHOLE, primitive
from opsdk.expr.symbol import Symbol, apply

_holomorphic = partial(primitive, floats=WHOLE, complex=HOLOMORPHIC)


def _around(y: Symbol, a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    """The partials of an angle; the square of the radius may overflow, and underflow, where they are numbers."""
    radius = apply("hypot", a, b)
    return b / radius / radius, -(a / radius / radius)


# What each operation is, as a table.
# fmt: off
_holomorphic("sin", "Returns sin x, x in radians. All finite x; NaN at ±∞. Derivative cos x.",
    rule=lambda y, a: (apply("cos", a),), cost=10, ulp=(1.6, 3.0))
_holomorphic("cos", "Returns cos x, x in radians. All finite x; NaN at ±∞. Derivative −sin x.",
    rule=lambda y, a: (-apply("sin", a),), cost=10, ulp=(1.6, 3.0))
_holomorphic("tan", "Returns tan x, x in radians. All finite x; NaN at ±∞. Derivative 1 + tan² x.",
    rule=lambda y, a: (1.0 + y * y,), cost=16, ulp=(3.5, 4.0))
_holomorphic("arcsin", "Returns arcsin x in [−π/2, π/2]. |x| ≤ 1; NaN outside. Derivative 1/√(1 − x²), infinite at ±1.",
    rule=lambda y, a: (apply("rsqrt", (1.0 - a) * (1.0 + a)),), library="asin", cost=14, ulp=(2.5, 2.5))
_holomorphic("arccos", "Returns arccos x in [0, π]. |x| ≤ 1; NaN outside. Derivative −1/√(1 − x²), infinite at ±1.",
    rule=lambda y, a: (-apply("rsqrt", (1.0 - a) * (1.0 + a)),), library="acos", cost=14, ulp=(1.5, 1.5))
_holomorphic("arctan", "Returns arctan x in [−π/2, π/2]. All x. Derivative 1/(1 + x²).",
    rule=lambda y, a: (apply("reciprocal", 1.0 + a * a),), library="atan", cost=12, ulp=(2.5, 2.5))
primitive("arctan2",
    "Returns the angle of the point (x, y) in [−π, π]. All x, y. Derivatives x/r², −y/r²; NaN at the origin.", "y x",
    floats=WHOLE, rule=_around, library="atan2", cost=16, ulp=(2.5, 2.5), complex=REAL_ONLY)
_holomorphic("sinh", "Returns (eˣ − e⁻ˣ)/2. All x. Derivative cosh x.",
    rule=lambda y, a: (apply("cosh", a),), cost=12, ulp=(2.5, 2.5))
_holomorphic("cosh", "Returns (eˣ + e⁻ˣ)/2. All x. Derivative sinh x.",
    rule=lambda y, a: (apply("sinh", a),), cost=12, ulp=(1.5, 1.5))
_holomorphic("tanh", "Returns sinh x / cosh x. All x. Derivative 1 − tanh² x.",
    rule=lambda y, a: (1.0 - y * y,), cost=10, ulp=(1.5, 2.5))
_holomorphic("arcsinh", "Returns log(x + √(x² + 1)). All x. Derivative 1/√(x² + 1).",
    rule=lambda y, a: (apply("reciprocal", apply("hypot", a, 1.0)),),  # a² may overflow where 1/a is a number
    library="asinh", cost=18, ulp=(2.0, 2.0))
_holomorphic("arccosh", "Returns log(x + √(x² − 1)). x ≥ 1; NaN below. Derivative 1/√(x² − 1), infinite at 1.",
    rule=lambda y, a: (apply("rsqrt", a - 1.0) * apply("rsqrt", a + 1.0),),
    library="acosh", cost=18, ulp=(2.5, 2.5))
_holomorphic("arctanh", "Returns log((1 + x)/(1 − x))/2. |x| ≤ 1; ±∞ at ±1, NaN outside. Derivative 1/(1 − x²).",
    rule=lambda y, a: (apply("reciprocal", (1.0 - a) * (1.0 + a)),), library="atanh", cost=14, ulp=(2.5, 2.5))
