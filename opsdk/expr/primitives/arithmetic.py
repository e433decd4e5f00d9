"""Arithmetic: the four operations, powers and roots."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial

from opsdk.expr.node import Node
from opsdk.expr.primitives.entry import HOLOMORPHIC, REAL_ONLY, WHOLE, primitive
from opsdk.expr.symbol import Symbol, apply

_holomorphic = partial(primitive, complex=HOLOMORPHIC)


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


# What each operation is, as a table.
# fmt: off
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
