"""Statements: expressions as straight-line code, each subexpression computed once, ready for any printer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opsdk.expr.node import Node, topological
from opsdk.expr.primitives.table import PRIMITIVES

# How operators are written in Python and in C alike.
INFIX = {name: primitive.infix for name, primitive in PRIMITIVES.items() if primitive.infix}


@dataclass(frozen=True)
class Statement:
    """One computation: a name, the node, and its text."""

    name: str
    node: Node
    text: str


def statements(
    roots: Sequence[Node],
    names: Mapping[Node, str],
    constant: Callable[[Node], str],
    call: Callable[[Node, Sequence[str]], str],
    prefix: str = "t",
) -> tuple[list[Statement], list[str]]:
    """Returns the code of expressions, and the names of their values.

    Args:
        roots: what to compute.
        names: how inputs and attributes, and whatever else is at hand, are called.
        constant: writes a constant.
        call: writes a node that is no infix operator, given the texts of its operands.
        prefix: of the names of intermediate values.
    """
    known = dict(names)
    made: list[Statement] = []
    for node in topological(roots):
        if node in known:
            continue
        if node.op == "constant":
            known[node] = constant(node)
            continue
        operands = [known[arg] for arg in node.args]
        infix = INFIX.get(node.op)
        text = f"{operands[0]} {infix} {operands[1]}" if infix else call(node, operands)
        name = f"{prefix}{len(made)}"
        made.append(Statement(name, node, text))
        known[node] = name
    return made, [known[root] for root in roots]
