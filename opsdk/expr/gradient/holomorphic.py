"""Complex numbers in expressions: which of them have one derivative in every direction, and which have no meaning.

A gradient that was derived for real numbers serves complex ones where the expression is holomorphic. For a real loss L
and z = a + ib it is ∂L/∂a + i ∂L/∂b, so that of f is dy · conj(f′(z)). The derivative is never conjugated node by node:
`conj(g(x, conj(dy)))` of the formula g for real numbers is the same, in one place (`scalar.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opsdk.expr.node import Node, topological
from opsdk.expr.primitives.entry import CHOOSING, HOLOMORPHIC, REAL_ONLY
from opsdk.expr.row.row import ROW_PRIMITIVES


def without_derivative(outputs: Sequence[Node]) -> str | None:
    """Returns the first operation that is not holomorphic in the inputs below it; None where the expressions are."""
    return _first(outputs, lambda kind: kind not in (HOLOMORPHIC, CHOOSING))


def without_meaning(outputs: Sequence[Node]) -> str | None:
    """Returns the first operation that complex numbers do not have; None where the expressions have a value."""
    return _first(outputs, REAL_ONLY.__eq__)


def _first(outputs: Sequence[Node], is_wanted: Callable[[str], bool]) -> str | None:
    depends: set[Node] = set()  # what is computed of attributes and constants alone is real
    for node in topological(outputs):
        if node.op == "input" or any(arg in depends for arg in node.args):
            depends.add(node)
            if node.op != "input" and is_wanted(ROW_PRIMITIVES[node.op].complex):
                return node.op
    return None
