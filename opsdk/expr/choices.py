"""Choices: the conditions by which an expression takes one value or another, and which sides of them calls meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import OpsdkError
from opsdk.expr.node import BOOL, Node, constant, topological
from opsdk.expr.row.row_infer import AXIS
from opsdk.expr.scalar import ScalarFunction, Static, static_of
from opsdk.expr.trace import Expression

_FIRST = {"maximum": "ge", "minimum": "le"}  # what holds where the first operand is taken


def conditions_of(expression: Expression) -> list[Node]:
    """Returns the conditions by which an expression chooses."""
    found: dict[Node, None] = {}
    for node in topological(expression.wanted):
        if node.op == "where":
            found[node.args[0]] = None
        elif node.op in _FIRST:
            found[Node(_FIRST[node.op], node.args, None, BOOL)] = None
    return list(found)


class Choices:
    """The choices that an author wrote into a function; what is derived chooses by these, and by rules of ours.

    Args:
        function: of elements, or of rows.
    """

    def __init__(self, function: ScalarFunction) -> None:
        self._function = function
        self._known: dict[Static, tuple[list[Node], ScalarFunction | None]] = {}

    # Any: arrays and attribute values.
    def met(self, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
        """Yields both sides of each condition, and whether an element of a call is on it; nothing of a refused call."""
        conditions, function = self._of(static_of({name: value for name, value in attrs.items() if name != AXIS}))
        if function is None:
            return
        try:
            made = function(*arrays, **attrs)
        except OpsdkError:
            return
        for condition, holds in zip(conditions, made if isinstance(made, tuple) else (made,), strict=True):
            yield f"where {condition!r} holds", bool(np.any(holds == 1))
            yield f"where {condition!r} does not hold", bool(np.any(holds == 0))

    def _of(self, static: Static) -> tuple[list[Node], ScalarFunction | None]:
        if static not in self._known:
            conditions = conditions_of(self._function.expression(static))
            shown = [Node("where", (each, constant(1.0), constant(0.0))) for each in conditions]
            self._known[static] = conditions, self._function.giving(shown, static) if shown else None
        return self._known[static]
