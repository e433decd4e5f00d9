"""Evaluation of expressions with any array module: NumPy as the reference, CuPy, jax.numpy and the like for bridges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.expr.node import Node, topological
from opsdk.expr.primitive import PRIMITIVES


# Any: the array module and its arrays.
def evaluate(roots: Sequence[Node], values: Mapping[str, Any], xp: Any) -> list[Any]:
    """Returns the values of expressions.

    Args:
        roots: what to compute.
        values: by name of an input or attribute its value: arrays that broadcast, or numbers.
        xp: the array module to compute with.

    Numbers take part as weak scalars, so that the dtype of the result is the arrays'.
    """
    known: dict[Node, Any] = {}
    for node in topological(roots):
        if node.op == "constant":
            known[node] = node.payload
        elif node.is_leaf:
            known[node] = values[node.payload]
        else:
            known[node] = PRIMITIVES[node.op].meaning(xp, *(known[arg] for arg in node.args))
    return [known[root] for root in roots]
