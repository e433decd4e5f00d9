"""Evaluation of expressions with any array module: NumPy as the reference, CuPy, jax.numpy and the like for bridges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from opsdk.expr.node import FLOAT, Node, topological
from opsdk.expr.primitive import PRIMITIVES, Primitive


# Any: the array module, its arrays and dtypes.
def evaluate(
    roots: Sequence[Node],
    values: Mapping[str, Any],
    xp: Any,
    dtype: Any = None,
    meanings: Mapping[str, Primitive] = PRIMITIVES,
) -> list[Any]:
    """Returns the values of expressions.

    Args:
        roots: what to compute.
        values: by name of an input or attribute its value: arrays that broadcast, or numbers.
        xp: the array module to compute with.
        dtype: of the arrays, where they agree in one.
        meanings: the operations by name.

    Numbers take part as weak scalars, so that the dtype of the result is the arrays'; among themselves they are
    computed with in that dtype. Beside whole numbers, constants without a fraction are whole numbers too.
    """
    known: dict[Node, Any] = {}
    is_whole = getattr(dtype, "kind", "f") in "biu"
    for node in _order(tuple(roots)):
        if node.op == "constant":
            known[node] = _constant(node.payload, is_whole)
        elif node.is_leaf:
            known[node] = values[node.payload or node.op]
        else:
            operands = [known[arg] for arg in node.args]
            numbers = [i for i, arg in enumerate(node.args) if arg.kind == FLOAT]
            if dtype is not None and all(isinstance(operands[i], (int, float)) for i in numbers):
                for i in numbers:  # what NumPy makes of numbers alone is float64, and no longer weak
                    operands[i] = xp.asarray(operands[i], dtype=dtype)
            known[node] = meanings[node.op].meaning(xp, *operands)
    return [known[root] for root in roots]


@lru_cache(maxsize=1024)
def _order(roots: tuple[Node, ...]) -> tuple[Node, ...]:
    """Returns what has to be computed, in order; kept, since the same expression is evaluated again and again."""
    return tuple(topological(roots))


def _constant(value: float | bool, is_whole: bool) -> float | bool:
    return int(value) if is_whole and not isinstance(value, bool) and float(value).is_integer() else value
