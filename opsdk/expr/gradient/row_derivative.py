"""Derivatives of row expressions: to a number of a row goes the sum over the row of what its elements send."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opsdk.expr.gradient.cotangent import Cotangent
from opsdk.expr.gradient.derivative import Sweep
from opsdk.expr.node import Node
from opsdk.expr.row.row import INDEX, SIZE, RowRoles, spread
from opsdk.expr.simplify import simplify
from opsdk.expr.symbol import Symbol, apply

# Per reduction, from its node: what it sends to each element that it reduces, per unit of its cotangent.
_SENT: dict[str, Callable[[Symbol, Symbol], Symbol | float]] = {
    "row_sum": lambda y, of: 1.0,
    "row_mean": lambda y, of: apply("reciprocal", Symbol(SIZE)),
    "row_logsumexp": lambda y, of: apply("exp", of - y),
    "row_take": lambda y, of: _one_where(apply("eq", Symbol(INDEX), Symbol(y.node.args[1]))),
    "row_max": lambda y, of: _shared(apply("eq", of, y)),
    "row_min": lambda y, of: _shared(apply("eq", of, y)),
}


def reverse_rows(
    outputs: Sequence[Node], cotangents: Sequence[Node], wrt: Sequence[Node], roles: Mapping[str, str]
) -> list[Node]:
    """Returns the gradient expressions of Σ output · cotangent with respect to inputs.

    The gradient of a `column` input is still one number per element: whoever computes it sums it over the rows.
    """
    return spread(simplify(_RowSweep(outputs, roles).gradients(cotangents, wrt)), roles)


class _RowSweep(Sweep):
    def __init__(self, outputs: Sequence[Node], roles: Mapping[str, str]) -> None:
        super().__init__(outputs)
        self._roles = RowRoles(roles)

    def partials(self, node: Node, cotangent: Cotangent) -> tuple[Symbol | float | None, ...]:
        if node.op in ("row_index", "row_size"):
            return (None,) * len(node.args)
        sent = _SENT.get(node.op)
        if sent is None:
            return super().partials(node, cotangent)
        return (sent(Symbol(node), Symbol(node.args[0])), *[None] * (len(node.args) - 1))

    def received(self, sender: Node, receiver: Node, cotangent: Cotangent) -> Cotangent:
        """Sums over the row what elements send to a number of the row, each of them, however equal."""
        if not self._roles.is_element(sender) or self._roles.is_element(receiver):
            return cotangent
        if self._roles.is_element(cotangent.base.node):
            return Cotangent(self._summed(self.algebra.value(cotangent)))
        return Cotangent(cotangent.base, self._summed(cotangent.factor))

    def _summed(self, value: Symbol) -> Symbol:
        node = value.node
        if not self._roles.is_element(node):
            return self.algebra.times(value, Symbol(SIZE))
        if node.op == "neg":
            return -self._summed(Symbol(node.args[0]))
        if node.op == "where" and not self._roles.is_element(node.args[0]):
            condition, a, b = map(Symbol, node.args)
            return apply("where", condition, self._summed(a), self._summed(b))
        return Symbol(Node("row_sum", (node,)))


def _one_where(condition: Symbol) -> Symbol:
    return apply("where", condition, 1.0, 0.0)


def _shared(is_top: Symbol) -> Symbol:
    """The extreme elements share the cotangent evenly."""
    count = Symbol(Node("row_sum", (_one_where(is_top).node,)))
    return apply("where", is_top, apply("reciprocal", count), 0.0)
