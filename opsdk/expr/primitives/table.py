"""Every primitive by its name, in families; what reads the table whole imports it here."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

from opsdk.expr.node import Node
from opsdk.expr.primitives.entry import CHOOSING, HOLOMORPHIC, REAL_ONLY, WHOLE, flat, primitive
from opsdk.expr.primitives.entry import PRIMITIVES as PRIMITIVES
from opsdk.expr.primitives.error_function import erf, erfc
from opsdk.expr.symbol import Symbol, apply

_EXACT = 256  # whole numbers up to here are numbers of every floating dtype
_PICKING = ("maximum", "minimum", "where", "abs", "neg", "row_max", "row_min", "row_take")
_LOG2, _LOG10 = 0.6931471805599453, 2.302585092994046  # natural logarithms of 2 and 10
_TWO_OVER_ROOT_PI = 1.1283791670955126
_holomorphic = partial(primitive, complex=HOLOMORPHIC)
_of_floats = partial(primitive, floats=WHOLE, complex=HOLOMORPHIC)
_real = partial(primitive, floats=WHOLE, complex=REAL_ONLY)


def is_exact(node: Node) -> bool:
    """Whether a value is an input or a small whole number, picked and not computed: no dtype rounds it."""
    if node.op == "input":
        return True
    if node.op == "constant":
        return isinstance(node.payload, float) and node.payload.is_integer() and abs(node.payload) <= _EXACT
    picked = {"where": 1, "row_take": 0}.get(node.op, 0)
    taken = node.args[:1] if node.op == "row_take" else node.args[picked:]
    return node.op in _PICKING and all(map(is_exact, taken))


def _beyond(y: Symbol, a: Symbol) -> Symbol:
    """Returns what tells which operand was taken beside a constant: the result, where no rounding of it can hide that.

    Then a backward reads the result, which is kept anyway by whatever uses it.
    """
    return y if is_exact(y.node) else a


def _one_if(condition: Symbol) -> Symbol:
    return apply("where", condition, 1.0, 0.0)


# Where both are equal, the whole derivative goes to the first operand; beside a constant, none to the other operand.
def _maximum(y: Symbol, a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    return _one_if(_beyond(y, a) > b if b.node.op == "constant" else a >= b), _one_if(a < b)


def _minimum(y: Symbol, a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    return _one_if(_beyond(y, a) < b if b.node.op == "constant" else a <= b), _one_if(a > b)


def _power(y: Symbol, a: Symbol, b: Symbol, coefficients: Sequence[Node] = ()) -> tuple[Symbol | None, Symbol]:
    return _power_base(a, b, coefficients), _power_exponent(y, a, b)


def _power_base(a: Symbol, b: Symbol, coefficients: Sequence[Node]) -> Symbol | None:
    """d/da aᵇ = b aᵇ⁻¹, and 0 where that would be 0 · ∞, as at 0⁰.

    Of the nth derivative b (b - 1) … (b - n + 1) aᵇ⁻ⁿ the earlier factors are the coefficients; any of them may be 0.
    """
    if b.node.op == "constant":
        exponent = b.node.payload
        return exponent * apply("pow", a, exponent - 1.0) if exponent else None
    power = apply("pow", a, b - 1.0) if coefficients else 1.0 / a  # which it is where b is 0
    vanishes = apply("eq", b, 0.0)
    for coefficient in coefficients:
        vanishes = apply("or", vanishes, apply("eq", Symbol(coefficient), 0.0))
    lost = apply("and", apply("isinf", power), vanishes)
    return b * apply("pow", a, apply("where", lost, 1.0, b - 1.0))


def _power_exponent(y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """d/db aᵇ = aᵇ log a, and 0 where aᵇ is 0, as the limit is.

    Beyond exponent 1 the logarithm is kept away from 0, so that later derivatives stay finite where the true ones do,
    also beside cotangents of zero. At base 0 a mixed derivative of order n is infinite where b ≤ n - 1; the expression
    gives nan there, but 0 where b = n - 1 is 2 or more.
    """
    gone = apply("eq", y, 0.0)
    steep = apply("and", gone, apply("le", b, 1.0))
    safe = apply("where", apply("and", gone, apply("gt", b, 1.0)), 1.0, a)
    return apply("where", steep, 0.0, y * apply("log", safe))


# Any, in both: an array module and its arrays.
def _sigmoid(xp: Any, a: Any) -> Any:
    is_right = xp.real(a) >= 0
    decay = xp.exp(xp.where(is_right, -a, a))
    return xp.where(is_right, 1 / (1 + decay), decay / (1 + decay))


def _softplus(xp: Any, a: Any) -> Any:
    return xp.maximum(a, 0) + xp.log1p(xp.exp(-xp.abs(a)))


def _unless_zero(a: Symbol, slope: Symbol) -> Symbol:
    """A slope that is 0 at a kink at 0, by choice: an infinite cotangent is kept out as well."""
    return apply("where", apply("eq", a, 0.0), 0.0, slope)


def _around(y: Symbol, a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    """The partials of an angle; the square of the radius may overflow, and underflow, where they are numbers."""
    radius = apply("hypot", a, b)
    return b / radius / radius, -(a / radius / radius)


# What each operation is, as a table.
# fmt: off

# -- arithmetic: the four operations, powers and roots ----------------------------------------------------------------

for _name, _ufunc, _python, _infix, _cost, _rule in (
    ("add", "add", operator.add, "+", 1, lambda y, a, b: (1.0, 1.0)),
    ("sub", "subtract", operator.sub, "-", 1, lambda y, a, b: (1.0, -1.0)),
    ("mul", "multiply", operator.mul, "*", 1, lambda y, a, b: (b, a)),
    ("div", "divide", operator.truediv, "/", 2, lambda y, a, b: (apply("reciprocal", b), -(y / b))),
):
    _holomorphic(_name, operands="a b", ufunc=_ufunc, python=_python, infix=_infix, cost=_cost, rule=_rule)

_holomorphic("neg", ufunc="negative", meaning=lambda xp, a: -a, python=operator.neg, c="-{0}",
    rule=lambda y, a: (-1.0,))

_holomorphic("sqrt", "Returns √x. x ≥ 0; NaN below. Derivative 1/(2√x), infinite at 0.",
    floats=WHOLE, rule=lambda y, a: (0.5 / y,), cost=2, ulp=(0.5, 0.5))
_holomorphic("rsqrt", "Returns 1/√x. x > 0; ∞ at 0, NaN below. Derivative −1/(2x√x).",
    floats=WHOLE, meaning=lambda xp, a: 1 / xp.sqrt(a), rule=lambda y, a: (-0.5 * y / a,),
    c="opsdk_rsqrt{f}({0})", c_source="static inline {real} opsdk_rsqrt{f}({real} x) {{ return 1 / sqrt{f}(x); }}\n",
    cost=3, ulp=(0.501, 1.5))
_holomorphic("pow",
    "Returns aᵇ. NaN for a < 0 and a fractional b; 1 for b = 0. Derivatives b aᵇ⁻¹, and aᵇ log a (0 at a = 0).", "a b",
    ufunc="power", python=pow, rule=_power,
    c_source="""\
/* GCC makes pow(x, 0.5) a square root where it makes vector code, which differs at -infinity and -0 */
static inline {real} opsdk_half_power{f}({real} x) {{ return x == -INFINITY ? INFINITY : sqrt{f}(x + 0); }}
""",
    cost=24, ulp=(0.6, 1.5))
primitive("cbrt", "Returns ∛x, negative for x < 0. All x. Derivative 1/(3 ∛x²), infinite at 0.",
    floats=WHOLE, rule=lambda y, a: (apply("reciprocal", 3.0 * (y * y)),),
    cost=16, ulp=(1.0, 1.0), complex=REAL_ONLY)
_holomorphic("square", "Returns x². All x. Derivative 2x.",
    rule=lambda y, a: (2.0 * a,), c="{0} * {0}", ulp=(0.5, 0.5))
_holomorphic("reciprocal", "Returns 1/x. All x; ±∞ at ±0. Derivative −1/x².",
    meaning=lambda xp, a: 1 / a, rule=lambda y, a: (-(y * y),), c="1 / {0}", cost=2, ulp=(0.5, 0.5))
primitive("hypot",
    "Returns √(a² + b²) without overflow. All a, b. Derivatives a/y, b/y; NaN at the origin, where there is none.",
    "a b", floats=WHOLE, rule=lambda y, a, b: (a / y, b / y),  # NaN where both are 0, the tip of a cone
    cost=5, ulp=(0.501, 1.5), complex=REAL_ONLY)

# -- conditions: comparisons, tests, what joins them, and the choices that they make ----------------------------------

for _name, _ufunc, _python, _infix in (
    ("lt", "less", operator.lt, "<"),
    ("le", "less_equal", operator.le, "<="),
    ("gt", "greater", operator.gt, ">"),
    ("ge", "greater_equal", operator.ge, ">="),
):
    primitive(_name, operands="a b", gives="b", ufunc=_ufunc, python=_python, infix=_infix)
for _name, _ufunc, _python, _infix in (
    ("eq", "equal", operator.eq, "=="),
    ("ne", "not_equal", operator.ne, "!="),
):
    primitive(_name, operands="a b", gives="b", ufunc=_ufunc, python=_python, infix=_infix, complex=CHOOSING)

primitive("isnan", "Returns whether x is NaN. A condition, without a derivative.",
    gives="b", c="{0} != {0}", complex=CHOOSING)
primitive("isinf", "Returns whether x is ∞ or −∞. A condition, without a derivative.",
    gives="b", c="isinf({0})", complex=CHOOSING)
primitive("isfinite", "Returns whether x is neither infinite nor NaN. A condition, without a derivative.",
    gives="b", c="isfinite({0})", complex=CHOOSING)
primitive("and", "Returns whether both conditions hold; on symbols also a & b.", "a b",
    takes="bb", gives="b", function="logical_and", ufunc="logical_and", infix="&", complex=CHOOSING)
primitive("or", "Returns whether at least one condition holds; on symbols also a | b.", "a b",
    takes="bb", gives="b", function="logical_or", ufunc="logical_or", infix="|", complex=CHOOSING)
primitive("not", "Returns whether the condition does not hold; on symbols also ~a.", "a",
    takes="b", gives="b", function="logical_not", ufunc="logical_not", c="!{0}", complex=CHOOSING)
primitive("minimum", "Returns the smaller one, NaN if either is. Where both are equal the derivative is a's.", "a b",
    rule=_minimum, c="({0} <= {1} || {0} != {0}) ? {0} : {1}")
primitive("maximum", "Returns the larger one, NaN if either is. Where both are equal the derivative is a's.", "a b",
    rule=_maximum, c="({0} >= {1} || {0} != {0}) ? {0} : {1}")
primitive("where",
    "Returns a where the condition holds, else b. Derivatives 1 and 0; none with respect to the condition.",
    "condition a b", takes="bff", rule=lambda y, c, a, b: (None, _one_if(c), apply("where", c, 0.0, 1.0)),
    c="{0} ? {1} : {2}", complex=CHOOSING)

# -- exponentials, logarithms, and what is made of them: sigmoid, softplus, the error function ------------------------

_of_floats("exp", "Returns eˣ. All x. Derivative eˣ.", rule=lambda y, a: (y,), cost=8, ulp=(1.0, 1.0))
_of_floats("exp2", "Returns 2ˣ. All x. Derivative 2ˣ log 2.", rule=lambda y, a: (y * _LOG2,), cost=8, ulp=(1.0, 1.0))
_of_floats("expm1", "Returns eˣ − 1, exact near 0. All x. Derivative eˣ.",
    rule=lambda y, a: (apply("exp", a),),  # y + 1 loses its digits where y is near −1
    cost=10, ulp=(1.5, 2.0))
_of_floats("log", "Returns the natural logarithm. x > 0; −∞ at 0, NaN below. Derivative 1/x.",
    rule=lambda y, a: (apply("reciprocal", a),), cost=8, ulp=(1.0, 1.0))
_of_floats("log1p", "Returns log(1 + x), exact near 0. x > −1; −∞ at −1, NaN below. Derivative 1/(1 + x).",
    rule=lambda y, a: (apply("reciprocal", a + 1.0),), cost=10, ulp=(1.0, 1.0))
_of_floats("log2", "Returns the logarithm to base 2. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 2).",
    rule=lambda y, a: (apply("reciprocal", a * _LOG2),), cost=8, ulp=(1.0, 1.0))
_of_floats("log10", "Returns the logarithm to base 10. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 10).",
    rule=lambda y, a: (apply("reciprocal", a * _LOG10),), cost=10, ulp=(1.0, 1.0))
_of_floats("sigmoid", "Returns 1/(1 + e⁻ˣ). All x. Derivative y (1 − y).",
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
    cost=18, ulp=(1.5, 1.5), least=lambda a, b: 1.0)  # near 0 the larger operand and the rest cancel
_real("erf", "Returns 2/√π ∫₀ˣ exp(−t²) dt. All x. Derivative 2/√π exp(−x²).",
    meaning=erf, rule=lambda y, a: (_TWO_OVER_ROOT_PI * apply("exp", -(a * a)),), cost=14, ulp=(1.5, 2.0))
_real("erfc", "Returns 1 − erf x, exact where it vanishes. All x. Derivative −2/√π exp(−x²).",
    meaning=erfc, rule=lambda y, a: (-_TWO_OVER_ROOT_PI * apply("exp", -(a * a)),), cost=16, ulp=(4.0, 4.0))

# -- signs and rounding: what is exact, and constant or a line but for kinks and jumps --------------------------------

primitive("abs", "Returns |x|. All x. Derivative sign x, 0 at the kink.",
    python=abs, rule=lambda y, a: (_unless_zero(a, apply("sign", a)),), library="fabs")
primitive("sign", "Returns −1, 0 or 1; NaN for NaN. Derivative 0.",
    rule=flat, c="{0} != {0} ? {0} : (real)(({0} > 0) - ({0} < 0))")
primitive("copysign",
    "Returns |x| with the sign of y. Derivative ±1 with respect to x, 0 at x = 0; none with respect to y.", "x y",
    floats=WHOLE, complex=REAL_ONLY,
    rule=lambda y, a, b: (_unless_zero(a, apply("sign", a) * apply("copysign", 1.0, b)), None))
primitive("floor", "Returns the largest integer that is not above x. Derivative 0.", rule=flat, complex=REAL_ONLY)
primitive("ceil", "Returns the smallest integer that is not below x. Derivative 0.", rule=flat, complex=REAL_ONLY)
primitive("round", "Returns the nearest integer, the even one of two. Derivative 0.",
    floats="b", rule=flat,
    library="nearbyint", cuda="rint")  # to even where two are as near, as NumPy; C's `round` goes away from zero
primitive("trunc", "Returns x without its fraction. Derivative 0.", rule=flat, complex=REAL_ONLY)
primitive("fmod",
    "Returns a − b trunc(a/b), with the sign of a. NaN for b = 0 or a = ±∞. Derivatives 1 and −trunc(a/b).", "a b",
    floats=WHOLE, rule=lambda y, a, b: (1.0, (y - a) / b),  # fmod(a, b) = a - b·trunc(a/b)
    cost=24, complex=REAL_ONLY)

# -- trigonometric and hyperbolic functions, and their inverses -------------------------------------------------------

_of_floats("sin", "Returns sin x, x in radians. All finite x; NaN at ±∞. Derivative cos x.",
    rule=lambda y, a: (apply("cos", a),), cost=10, ulp=(1.6, 3.0))
_of_floats("cos", "Returns cos x, x in radians. All finite x; NaN at ±∞. Derivative −sin x.",
    rule=lambda y, a: (-apply("sin", a),), cost=10, ulp=(1.6, 3.0))
_of_floats("tan", "Returns tan x, x in radians. All finite x; NaN at ±∞. Derivative 1 + tan² x.",
    rule=lambda y, a: (1.0 + y * y,), cost=16, ulp=(3.5, 4.0))
_of_floats("arcsin", "Returns arcsin x in [−π/2, π/2]. |x| ≤ 1; NaN outside. Derivative 1/√(1 − x²), infinite at ±1.",
    rule=lambda y, a: (apply("rsqrt", (1.0 - a) * (1.0 + a)),), library="asin", cost=14, ulp=(2.5, 2.5))
_of_floats("arccos", "Returns arccos x in [0, π]. |x| ≤ 1; NaN outside. Derivative −1/√(1 − x²), infinite at ±1.",
    rule=lambda y, a: (-apply("rsqrt", (1.0 - a) * (1.0 + a)),), library="acos", cost=14, ulp=(1.5, 1.5))
_of_floats("arctan", "Returns arctan x in [−π/2, π/2]. All x. Derivative 1/(1 + x²).",
    rule=lambda y, a: (apply("reciprocal", 1.0 + a * a),), library="atan", cost=12, ulp=(2.5, 2.5))
primitive("arctan2",
    "Returns the angle of the point (x, y) in [−π, π]. All x, y. Derivatives x/r², −y/r²; NaN at the origin.", "y x",
    floats=WHOLE, rule=_around, library="atan2", cost=16, ulp=(2.5, 2.5), complex=REAL_ONLY)
_of_floats("sinh", "Returns (eˣ − e⁻ˣ)/2. All x. Derivative cosh x.",
    rule=lambda y, a: (apply("cosh", a),), cost=12, ulp=(2.5, 2.5))
_of_floats("cosh", "Returns (eˣ + e⁻ˣ)/2. All x. Derivative sinh x.",
    rule=lambda y, a: (apply("sinh", a),), cost=12, ulp=(1.5, 1.5))
_of_floats("tanh", "Returns sinh x / cosh x. All x. Derivative 1 − tanh² x.",
    rule=lambda y, a: (1.0 - y * y,), cost=10, ulp=(1.5, 2.5))
_of_floats("arcsinh", "Returns log(x + √(x² + 1)). All x. Derivative 1/√(x² + 1).",
    rule=lambda y, a: (apply("reciprocal", apply("hypot", a, 1.0)),),  # a² may overflow where 1/a is a number
    library="asinh", cost=18, ulp=(2.0, 2.0))
_of_floats("arccosh", "Returns log(x + √(x² − 1)). x ≥ 1; NaN below. Derivative 1/√(x² − 1), infinite at 1.",
    rule=lambda y, a: (apply("rsqrt", a - 1.0) * apply("rsqrt", a + 1.0),),
    library="acosh", cost=18, ulp=(2.5, 2.5))
_of_floats("arctanh", "Returns log((1 + x)/(1 − x))/2. |x| ≤ 1; ±∞ at ±1, NaN outside. Derivative 1/(1 − x²).",
    rule=lambda y, a: (apply("reciprocal", (1.0 - a) * (1.0 + a)),), library="atanh", cost=14, ulp=(2.5, 2.5))
