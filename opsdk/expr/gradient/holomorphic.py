"""Complex numbers in expressions: which of them have one derivative in every direction, and which have no meaning.

A gradient that was derived for real numbers serves complex ones where the expression is holomorphic. For a real loss L
and z = a + ib it is ∂L/∂a + i ∂L/∂b, so that of f is dy · conj(f′(z)). The derivative is never conjugated node by node:
`conj(g(x, conj(dy)))` of the formula g for real numbers is the same, in one place (`scalar.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opsdk.expr.node import Node, topological

_HOLOMORPHIC = {
    "add", "sub", "mul", "div", "neg", "reciprocal", "square", "pow", "exp", "exp2", "expm1", "log", "log1p", "log2",
    "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh",
    "arccosh", "arctanh", "sigmoid", "row_sum", "row_mean", "row_take",
}  # fmt: skip

# What chooses is holomorphic on either side; complex numbers are equal or not, but neither is the greater.
_CHOOSING = {"where", "eq", "ne", "and", "or", "not", "isnan", "isinf", "isfinite"}

# NumPy has no such function of complex numbers, or the expression's own series is one for real numbers.
_REAL_ONLY = {
    "softplus", "erf", "erfc", "cbrt", "floor", "ceil", "trunc", "fmod", "hypot", "arctan2", "logaddexp", "copysign",
}  # fmt: skip


def without_derivative(outputs: Sequence[Node]) -> str | None:
    """Returns the first operation that is not holomorphic in the inputs below it; None where the expressions are."""
    return _first(outputs, lambda op: op not in _HOLOMORPHIC and op not in _CHOOSING)


def without_meaning(outputs: Sequence[Node]) -> str | None:
    """Returns the first operation that complex numbers do not have; None where the expressions have a value."""
    return _first(outputs, _REAL_ONLY.__contains__)


def _first(outputs: Sequence[Node], is_wanted: Callable[[str], bool]) -> str | None:
    depends: set[Node] = set()  # what is computed of attributes and constants alone is real
    for node in topological(outputs):
        if node.op == "input" or any(arg in depends for arg in node.args):
            depends.add(node)
            if node.op != "input" and is_wanted(node.op):
                return node.op
    return None
