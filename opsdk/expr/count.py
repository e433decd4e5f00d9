"""Cost: how much work an expression is, and what a backward should save rather than compute again."""

from __future__ import annotations

from collections.abc import Sequence, Set

from opsdk.expr.node import Node, rewritten
from opsdk.expr.primitives.table import PRIMITIVES

# x · sigmoid(y), of which compiled code alone is made.
_GATED = 12
_SHARED = 3  # the second of sigmoid(a) and sigmoid(−a), which have one exponential


def cost(roots: Sequence[Node], free: Sequence[Node] = ()) -> int:
    """Returns the work of computing expressions, with what is in `free` given."""
    total = 0
    stack = list(roots)
    seen = set(free)
    while stack:
        node = stack.pop()
        if node in seen or node.is_leaf:
            continue
        total += _SHARED if opposite(node) in seen and opposite(node) not in free else _work(node)
        seen.add(node)
        stack.extend(node.args)
    return total


def _work(node: Node) -> int:
    """Returns the work of one operation; that of a reduction is in the loop that it closes."""
    known = PRIMITIVES.get(node.op)
    return known.cost if known is not None else _GATED if node.op == "gated" else 1


def weight(node: Node, seen: Set[Node]) -> int:
    """Returns the work of one node whose operands are given, after what was `seen`."""
    if node.is_leaf:
        return 0
    return _SHARED if opposite(node) in seen else _work(node)


def reach(root: Node, seen: set[Node]) -> None:
    """Adds a node and all below it to what was seen."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.args)


def opposite(node: Node) -> Node | None:
    """Returns sigmoid(−a) for sigmoid(a); None for everything else."""
    if node.op != "sigmoid":
        return None
    (arg,) = node.args
    return Node("sigmoid", arg.args if arg.op == "neg" else (Node("neg", (arg,)),))


def leaves(roots: Sequence[Node]) -> list[Node]:
    """Returns the inputs and attributes that expressions are computed from, in order of appearance."""
    found: list[Node] = []
    stack = list(reversed(roots))
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(reversed(node.args))
        if node.is_leaf and node.op != "constant":
            found.append(node)
    return found


def substitute(roots: Sequence[Node], given: dict[Node, Node]) -> list[Node]:
    """Returns expressions with nodes replaced by others."""
    return rewritten(roots, lambda plain, node, _: given.get(node, plain))
