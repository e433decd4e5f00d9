"""Primitives that are expressions of others, as functions that Numba inlines: one straight line of instructions each.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.vmath.foreign import function
from opsdk.backends.vmath.instructions import horner, inline
from opsdk.expr.node import Node, rewritten, topological
from opsdk.expr.primitives.entry import PRIMITIVES, Primitive
from opsdk.expr.source import call_text, constant_text, statements

_POLYNOMIAL = "horner"
_PLAIN = ("neg", "not")  # which Python writes with a sign or a word


# Any, in this file: Numba's dispatchers.
def add(table: dict[str, Any], primitive: Primitive, real: type[Any]) -> None:
    """Adds the function of a primitive to a table, after those that its body calls.

    Args:
        table: functions by name of a primitive, of one dtype.
        primitive: one that is an expression of others, or has its body in C.
        real: NumPy's type of that dtype.
    """
    if primitive.body is None:
        table[primitive.name] = function(primitive, real)
        return
    for node in topological([primitive.body.root]):
        if node.args and node.op not in table:
            add(table, PRIMITIVES[node.op], real)
    table[primitive.name] = inline(_function(primitive, table, real))


def _function(primitive: Primitive, table: Mapping[str, Any], real: type[Any]) -> Any:
    """Returns the Python function of a body, in which a choice is an instruction and no branch."""
    assert primitive.body is not None
    names = {Node("input", (), text): f"x{i}" for i, text in enumerate(primitive.operands)}
    made, (result,) = statements(_collapsed(primitive.body.root), names, constant_text, _call)
    lines = [f"    {each.name} = {each.text}" for each in made]
    text = "\n".join([f"def {primitive.name}({', '.join(names.values())}):", *lines, f"    return {result}", ""])
    space = {**table, "real": real, "inf": np.inf, "nan": np.nan, _POLYNOMIAL: horner, "__name__": __name__}
    exec(compile(text, f"<opsdk primitive {primitive.name}>", "exec"), space)  # our own printer wrote it
    return space[primitive.name]


def _call(node: Node, operands: Sequence[str]) -> str:
    if node.op == _POLYNOMIAL:
        coefficients = "".join(f"{value!r}, " for value in node.payload)
        return f"{_POLYNOMIAL}({operands[0]}, (({coefficients}), ({coefficients})))"
    return call_text(node, operands) if node.op in _PLAIN else f"{node.op}({', '.join(operands)})"


def _collapsed(root: Node) -> list[Node]:
    """Returns an expression in which a polynomial, a chain of products and sums, is one operation."""

    def rule(node: Node, _: Node, known: Mapping[Node, Node]) -> Node:
        if node.op != "add" or node.args[0].op != "mul" or not _is_number(node.args[1]):
            return node
        (inner, x), last = node.args[0].args, node.args[1].payload
        if _is_number(inner):
            return Node(_POLYNOMIAL, (x,), (last, inner.payload))
        if inner.op == _POLYNOMIAL and inner.args == (x,):
            return Node(_POLYNOMIAL, (x,), (last, *inner.payload))
        return node

    return rewritten([root], rule)


def _is_number(node: Node) -> bool:
    return node.op == "constant" and isinstance(node.payload, float) and np.isfinite(node.payload)
