"""Evaluation of expressions with any array module: NumPy as the reference, CuPy, jax.numpy and the like for bridges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opsdk.expr.node import FLOAT, Node, topological
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.table import PRIMITIVES


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
        values: by name of an input or attribute its value, arrays that broadcast, or numbers; of a symbol that is
            neither, such as `row_index()`, by that text, which is no name.
        xp: the array module to compute with.
        dtype: of the arrays, where they agree in one.
        meanings: the operations by name.

    Numbers take part as weak scalars, so that the dtype of the result is the arrays'; among themselves they are
    computed with in that dtype. What whole numbers give is `whole.evaluated`.
    """
    known: list[Any] = []
    steps, wanted = _steps(tuple(roots))
    for op, payload, args, numbers in steps:
        if args:
            operands = [known[i] for i in args]
            if dtype is not None and numbers and all(isinstance(operands[i], (int, float)) for i in numbers):
                for i in numbers:  # what NumPy makes of numbers alone is float64, and no longer weak
                    operands[i] = xp.asarray(operands[i], dtype=dtype)
            known.append(meanings[op].meaning(xp, *operands))
        elif op == "constant":
            known.append(payload if isinstance(payload, bool) else float(payload))
        else:
            known.append(values[payload or f"{op}()"])
    return [known[i] for i in wanted]


class _Step(NamedTuple):
    """One node: its operation, the places of its operands among what is known, and which of these are numbers."""

    op: str
    payload: Any  # of a leaf
    args: tuple[int, ...]
    numbers: tuple[int, ...]


@lru_cache(maxsize=1024)
def _steps(roots: tuple[Node, ...]) -> tuple[tuple[_Step, ...], tuple[int, ...]]:
    """Returns what has to be computed, in order, and where the roots are; the same is evaluated again and again."""
    order = topological(roots)
    places = {node: place for place, node in enumerate(order)}
    steps = [
        _Step(
            node.op,
            node.payload,
            tuple(places[arg] for arg in node.args),
            tuple(i for i, arg in enumerate(node.args) if arg.kind == FLOAT),
        )
        for node in order
    ]
    return tuple(steps), tuple(places[root] for root in roots)
