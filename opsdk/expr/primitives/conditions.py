"""Conditions: comparisons, tests, what joins them, and the choices that they make."""

from __future__ import annotations

import operator

from opsdk.expr.node import Node
from opsdk.expr.primitives.entry import CHOOSING, primitive
from opsdk.expr.symbol import Symbol, apply

_EXACT = 256  # whole numbers up to here are numbers of every floating dtype
_PICKING = ("maximum", "minimum", "where", "abs", "neg", "row_max", "row_min", "row_take")


def is_exact(node: Node) -> bool:
    """Whether a value is an input or a small whole number, picked and not computed: no dtype rounds it."""
    if node.op == "input":
        return True
    if node.op == "constant":
        return isinstance(node.payload, float) and node.payload.is_integer() and abs(node.payload) <= _EXACT
    picked = {"where": 1, "row_take": 0}.get(node.op, 0)
    taken = node.args[:1] if node.op == "row_take" else node.args[picked:]
    return node.op in _PICKING and all(map(is_exact, taken))


def _beyond(y: Symbol, a: Symbol, b: Symbol) -> Symbol:
    """Returns what tells which operand was taken beside a constant: the result, where no rounding of it can hide that.

    Then a backward reads the result, which is kept anyway by whatever uses it.
    """
    return y if is_exact(y.node) else a


def _one_if(condition: Symbol) -> Symbol:
    return apply("where", condition, 1.0, 0.0)


# Where both are equal, the whole derivative goes to the first operand; beside a constant, none to the other operand.
def _maximum(y: Symbol, a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    return _one_if(_beyond(y, a, b) > b if b.node.op == "constant" else a >= b), _one_if(a < b)


def _minimum(y: Symbol, a: Symbol, b: Symbol) -> tuple[Symbol, Symbol]:
    return _one_if(_beyond(y, a, b) < b if b.node.op == "constant" else a <= b), _one_if(a > b)


# What each operation is, as a table.
# fmt: off
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
