"""Simplification that changes no bit: identities that hold for every float, NaN and signed zeros included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsdk.expr.count import opposite
from opsdk.expr.node import Node, constant, rewritten, topological

_ONE, _MINUS_ONE, _ZERO = constant(1.0), constant(-1.0), constant(0.0)


def simplify(roots: Sequence[Node]) -> list[Node]:
    """Returns expressions with the same value for every input, bit by bit but for the sign of a NaN.

    Not done, since they are not exact: `x · 0` (NaN), `x + 0` (−0 becomes 0), reassociation, folding of constants
    (a float32 kernel rounds each step).
    """
    return rewritten(roots, lambda node, _, known: _simpler(node))


def _simpler(node: Node) -> Node:
    args = node.args
    if node.op == "constant":
        return constant(node.payload)
    if node.op == "mul":
        return _product(node, *args)
    if node.op == "div" and args[1] is _ONE:
        return args[0]
    if node.op == "sub" and args[1] is _ZERO:
        return args[0]
    if node.op == "neg" and args[0].op == "neg":
        return args[0].args[0]
    if node.op == "add" and args[1].op == "neg":
        return Node("sub", (args[0], args[1].args[0]), None, node.kind)
    if node.op == "sub" and args[1].op == "neg":
        return Node("add", (args[0], args[1].args[0]), None, node.kind)
    if node.op == "where":
        return _choice(node, *args)
    if node.op == "pow" and args[1] is constant(2.0):
        return Node("mul", (args[0], args[0]), None, node.kind)
    return args[0] if node.op == "pow" and args[1] is _ONE else node


def _choice(node: Node, condition: Node, taken: Node, other: Node) -> Node:
    """A choice inside of another by the same condition is made already."""
    if taken.op == "where" and taken.args[0] is condition:
        taken = taken.args[1]
    if other.op == "where" and other.args[0] is condition:
        other = other.args[2]
    return taken if taken is other else Node("where", (condition, taken, other), None, node.kind)


def _product(node: Node, left: Node, right: Node) -> Node:
    if right is _ONE:
        return left
    if left is _ONE:
        return right
    if right is _MINUS_ONE:
        return _simpler(Node("neg", (left,), None, node.kind))
    if left is _MINUS_ONE:
        return _simpler(Node("neg", (right,), None, node.kind))
    return node


def gated(roots: Sequence[Node]) -> list[Node]:
    """Returns expressions in which `x · sigmoid(y)` is one operation: a quotient, which rounds less often.

    It changes bits, so it is for compiled code alone, and only where that sigmoid has no other use, nor its exponential
    in sigmoid(−y). Its value is that of the product wherever that has one: sigmoid(y) < 10⁻³⁸ counts beside a large x.
    """
    users: dict[Node, int] = {}
    order = topological(roots)
    for node in order:
        for arg in node.args:
            users[arg] = users.get(arg, 0) + 1
    gates = [node for node in order if node.op == "sigmoid" and node not in roots and users[node] == 1]
    alone = {gate for gate in gates if opposite(gate) not in order}

    def quotient(plain: Node, node: Node, known: Mapping[Node, Node]) -> Node:
        at = [i for i, arg in enumerate(node.args) if arg in alone]
        if node.op != "mul" or not at:
            return plain
        return Node("gated", (plain.args[1 - at[0]], known[node.args[at[0]].args[0]]), None, node.kind)

    return rewritten(roots, quotient)
