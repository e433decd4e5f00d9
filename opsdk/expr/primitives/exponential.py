"""Exponentials, logarithms, and what is made of them: sigmoid, softplus, the error function."""

from __future__ import annotations

from functools import partial
from typing import Any

from opsdk.expr.primitives.entry import HOLOMORPHIC, REAL_ONLY, WHOLE, primitive
from opsdk.expr.primitives.error_function import erf, erfc
from opsdk.expr.symbol import apply

_LOG2, _LOG10 = 0.6931471805599453, 2.302585092994046  # natural logarithms of 2 and 10
_TWO_OVER_ROOT_PI = 1.1283791670955126
_holomorphic = partial(primitive, floats=WHOLE, complex=HOLOMORPHIC)
_real = partial(primitive, floats=WHOLE, complex=REAL_ONLY)


# Any, in both: an array module and its arrays.
def _sigmoid(xp: Any, a: Any) -> Any:
    is_right = xp.real(a) >= 0
    decay = xp.exp(xp.where(is_right, -a, a))
    return xp.where(is_right, 1 / (1 + decay), decay / (1 + decay))


def _softplus(xp: Any, a: Any) -> Any:
    return xp.maximum(a, 0) + xp.log1p(xp.exp(-xp.abs(a)))


# What each operation is, as a table.
# fmt: off
_holomorphic("exp", "Returns eˣ. All x. Derivative eˣ.", rule=lambda y, a: (y,), cost=8, ulp=(1.0, 1.0))
_holomorphic("exp2", "Returns 2ˣ. All x. Derivative 2ˣ log 2.", rule=lambda y, a: (y * _LOG2,), cost=8, ulp=(1.0, 1.0))
_holomorphic("expm1", "Returns eˣ − 1, exact near 0. All x. Derivative eˣ.",
    rule=lambda y, a: (apply("exp", a),),  # y + 1 loses its digits where y is near −1
    cost=10, ulp=(1.5, 2.0))
_holomorphic("log", "Returns the natural logarithm. x > 0; −∞ at 0, NaN below. Derivative 1/x.",
    rule=lambda y, a: (apply("reciprocal", a),), cost=8, ulp=(1.0, 1.0))
_holomorphic("log1p", "Returns log(1 + x), exact near 0. x > −1; −∞ at −1, NaN below. Derivative 1/(1 + x).",
    rule=lambda y, a: (apply("reciprocal", a + 1.0),), cost=10, ulp=(1.0, 1.0))
_holomorphic("log2", "Returns the logarithm to base 2. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 2).",
    rule=lambda y, a: (apply("reciprocal", a * _LOG2),), cost=8, ulp=(1.0, 1.0))
_holomorphic("log10", "Returns the logarithm to base 10. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 10).",
    rule=lambda y, a: (apply("reciprocal", a * _LOG10),), cost=10, ulp=(1.0, 1.0))
_holomorphic("sigmoid", "Returns 1/(1 + e⁻ˣ). All x. Derivative y (1 − y).",
    meaning=_sigmoid,
    rule=lambda y, a: (y * apply("sigmoid", -a),),  # 1 - y loses its digits where y is near 1
    c="opsdk_sigmoid{f}({0})",
    c_source="""\
static inline {real} opsdk_sigmoid{f}({real} x) {{
  const {real} decay = exp{f}(-fabs{f}(x));
  return (x >= 0 ? 1 : decay) / (1 + decay);
}}
""",
    cost=9, ulp=(2.0, 2.0))
_real("softplus", "Returns log(1 + eˣ) without overflow. All x. Derivative sigmoid x.",
    meaning=_softplus,
    rule=lambda y, a: (apply("sigmoid", a),),
    c="opsdk_softplus{f}({0})",
    c_source="""\
static inline {real} opsdk_softplus{f}({real} x) {{
  return x != x ? x : (x > 0 ? x : 0) + log1p{f}(exp{f}(-fabs{f}(x)));
}}
""",
    cost=18, ulp=(2.0, 2.0))
_real("logaddexp",
    "Returns log(eᵃ + eᵇ) without overflow. All a, b. Derivatives sigmoid(a − b), sigmoid(b − a).", "a b",
    rule=lambda y, a, b: (apply("sigmoid", a - b), apply("sigmoid", b - a)),
    c="opsdk_logaddexp{f}({0}, {1})",
    c_source="""\
static inline {real} opsdk_logaddexp{f}({real} a, {real} b) {{
  if (a == b) return a + ({real})0.69314718055994530942;
  const {real} top = a > b ? a : b;
  return a != a || b != b ? a + b : top + log1p{f}(exp{f}(-fabs{f}(a - b)));
}}
""",
    cost=18, ulp=(1.5, 1.5))
_real("erf", "Returns 2/√π ∫₀ˣ exp(−t²) dt. All x. Derivative 2/√π exp(−x²).",
    meaning=erf, rule=lambda y, a: (_TWO_OVER_ROOT_PI * apply("exp", -(a * a)),), cost=14, ulp=(1.5, 2.0))
_real("erfc", "Returns 1 − erf x, exact where it vanishes. All x. Derivative −2/√π exp(−x²).",
    meaning=erfc, rule=lambda y, a: (-_TWO_OVER_ROOT_PI * apply("exp", -(a * a)),), cost=16, ulp=(4.0, 4.0))
