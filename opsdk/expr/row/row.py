"""Row operations: what an expression over one row has beside elementwise ones: reductions, the position, the length.

A value of a row expression is an *element* (one number per position) or *row* (one number per row). Reductions turn the
first into the second; the second takes part in arithmetic with the first as a number does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, TraceError
from opsdk.core.sums import total
from opsdk.core.written import entry, written
from opsdk.expr.node import FLOAT, Node, rewritten, topological
from opsdk.expr.primitives.entry import HOLOMORPHIC, VALUED, WATCHERS, Meaning, Primitive, Rule
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol, Written, apply, as_node

# Roles of inputs and results: of the full shape (…, n); one number per position, (n,); one per row, (…, 1) or (…).
FULL, COLUMN, ROW, FLAT = "full", "column", "row", "flat"

INDEX, SIZE = Node("row_index"), Node("row_size")  # the position in the row; the number of elements of a row


# Any: an array module and its arrays; rows are the last axis, and every result keeps it with size 1.
def _extreme(xp: Any, reduce: Any, a: Any, of_nothing: float) -> Any:
    # CuPy's max and min have no `initial`
    return reduce(a, axis=-1, keepdims=True) if a.shape[-1] else _sum(xp, a) + of_nothing


def _sum(xp: Any, a: Any) -> Any:
    # NumPy adds one by one along an axis that is not the last in memory
    return total(a, (-1,), keepdims=True) if xp is np else xp.sum(a, axis=-1, keepdims=True)


def _logsumexp(xp: Any, a: Any) -> Any:
    top = _extreme(xp, xp.max, a, -xp.inf)
    shift = xp.where(xp.abs(top) == xp.inf, xp.zeros_like(top), top)
    return shift + xp.log(_sum(xp, xp.exp(a - shift)))


def _take(xp: Any, a: Any, index: Any) -> Any:
    position = index if hasattr(index, "ndim") else xp.asarray(index)
    position = position if position.ndim else position.reshape(1)
    check_positions(position, a.shape[-1])
    lead = np.broadcast_shapes(a.shape[:-1], position.shape[:-1])
    of, at = xp.broadcast_to(a, (*lead, a.shape[-1])), xp.broadcast_to(position, (*lead, 1))
    return xp.take_along_axis(of, at.astype(xp.int64), axis=-1)


def check_positions(index: Any, size: int) -> None:
    """Checks that positions lie inside a row.

    Raises:
        AttributeValueError: one does not, or lies between two elements; it is named.
    """
    outside = ~((index >= 0) & (index < size) & (index == index // 1))
    if outside.any():
        got = index[outside].ravel()[0].item()
        text = str(int(got)) if abs(got) < 1e20 and got == int(got) else f"{got:g}"
        kind = "a whole number " if 0 <= got < size else ""
        raise AttributeValueError(f"row_take: position expected {kind}in [0, {size}), got {text}")


def _one_where(condition: Symbol) -> Symbol:
    return apply("where", condition, 1.0, 0.0)


def _shared(y: Symbol, a: Symbol) -> tuple[Symbol]:
    """The extreme elements share the cotangent evenly."""
    is_top = apply("eq", a, y)
    count = Symbol(Node("row_sum", (_one_where(is_top).node,)))
    return (apply("where", is_top, apply("reciprocal", count), 0.0),)


def _reduction(
    name: str, doc: str, meaning: Meaning, rule: Rule, complex: str = VALUED, operands: str = "x"
) -> Primitive:
    """Returns a reduction; its rule is what it sends to each element, per unit of its cotangent."""
    names = tuple(operands.split())
    kinds = (FLOAT,) * len(names)
    return Primitive(name, names, kinds, FLOAT, meaning, rule, doc, complex=complex, origin=entry())


# What each reduction is, as a table.
# fmt: off
REDUCTIONS = {
    reduction.name: reduction
    for reduction in (
        _reduction("row_sum", "Returns Σ x over the row.", _sum, lambda y, a: (1.0,), HOLOMORPHIC),
        _reduction("row_max",
            "Returns the greatest x of the row, -inf for a row of nothing; its derivative is shared among ties.",
            lambda xp, a: _extreme(xp, xp.max, a, -xp.inf), _shared),
        _reduction("row_min",
            "Returns the least x of the row, inf for a row of nothing; its derivative is shared among ties.",
            lambda xp, a: _extreme(xp, xp.min, a, xp.inf), _shared),
        _reduction("row_mean", "Returns the mean of x over the row; nan for a row of nothing.",
            lambda xp, a: _sum(xp, a) / (a.shape[-1] or xp.nan),
            lambda y, a: (apply("reciprocal", Symbol(SIZE)),), HOLOMORPHIC),
        _reduction("row_logsumexp", "Returns log Σ exp x over the row, without overflow.",
            _logsumexp, lambda y, a: (apply("exp", a - y),)),
        _reduction("row_take",
            "Returns the element of x at a position: a whole number per row, `0 ≤ index < row_size`, not "
            "differentiable.",
            _take, lambda y, a, at: (_one_where(apply("eq", Symbol(INDEX), at)), None), HOLOMORPHIC, "x index"),
    )
}
# fmt: on
ROW_PRIMITIVES = {**PRIMITIVES, **REDUCTIONS}  # all that an expression over one row is made of
WATCHERS.append(lambda made: ROW_PRIMITIVES.update({made.name: made}))


def _applied(name: str, *values: Any) -> Symbol:  # Any: what a user's expression holds
    made = Written if any(isinstance(value, Written) for value in values) else Symbol
    return made(Node(name, tuple(as_node(value, f"vmath.{name}", made.number) for value in values), None, FLOAT))


def _function(reduction: Primitive) -> Any:
    """Returns the function of a reduction, as one that is written here."""
    name = reduction.name
    made = {1: lambda x: _applied(name, x), 2: lambda x, index: _applied(name, x, index)}[reduction.arity]
    types = {**dict.fromkeys(reduction.operands, "Any"), "return": "Symbol"}
    return written(made, name, types, module=__name__, doc=reduction.doc, origin=reduction.origin)


row_sum, row_max, row_min, row_mean, row_logsumexp, row_take = map(_function, REDUCTIONS.values())


def row_index() -> Symbol:
    """Returns the position in the row, from 0."""
    return Symbol(INDEX)


def row_size() -> Symbol:
    """Returns the number of elements of a row."""
    return Symbol(SIZE)


FUNCTIONS = (row_sum, row_mean, row_max, row_min, row_logsumexp, row_take, row_index, row_size)  # those of vmath


class RowRoles:
    """Tells elements, of which a row has one per position, from numbers that a row has one of.

    Args:
        roles: of the inputs, by name.
    """

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = roles
        self._known: dict[Node, bool] = {}

    def is_element(self, node: Node) -> bool:
        """Returns whether a node has one value per position."""
        stack = [node]
        while stack:
            top = stack[-1]
            below = [arg for arg in top.args if arg not in self._known] if top not in self._known else []
            if not below:
                self._known.setdefault(stack.pop(), self._decided(top))
            stack += below
        return self._known[node]

    def _decided(self, node: Node) -> bool:
        if node.op == "input":
            return self._roles[node.payload] in (FULL, COLUMN)
        return node is INDEX or (node.op not in REDUCTIONS and any(self._known[arg] for arg in node.args))


def spread(roots: Sequence[Node], roles: Mapping[str, str]) -> list[Node]:
    """Returns expressions in which only elements are reduced: n times a number of the row is their sum.

    Raises:
        TraceError: an element is taken of a number of the row.
    """
    row = RowRoles(roles)

    def rule(node: Node, _: Node, known: Mapping[Node, Node]) -> Node:
        is_reduced = node.op in REDUCTIONS and not row.is_element(node.args[0])
        return _of_equals(node.op, Symbol(node.args[0])).node if is_reduced else node

    return rewritten(roots, rule)


def _of_equals(reduction: str, value: Symbol) -> Symbol:
    """Returns what a reduction gives of a row of equal numbers; of nothing, where the row is empty."""
    size = Symbol(SIZE)
    if reduction == "row_sum":
        return value * size
    if reduction == "row_logsumexp":
        return value + apply("log", size)
    if reduction == "row_take":
        raise TraceError(
            f"expression: row_take expected one number per element to take from, got {value.node!r}, one per row; "
            "use it as it is"
        )
    of_nothing = {"row_mean": float("nan"), "row_max": float("-inf"), "row_min": float("inf")}[reduction]
    return apply("where", size > 0.0, value, of_nothing)


def elements(roots: Sequence[Node], roles: Mapping[str, str]) -> set[Node]:
    """Returns the nodes below the roots that have one value per position."""
    known = RowRoles(roles)
    return {node for node in topological(roots) if known.is_element(node)}
