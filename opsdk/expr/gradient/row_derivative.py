"""Derivatives of row expressions: to a number of a row goes the sum over the row of what its elements send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsdk.expr.gradient.cotangent import Cotangent
from opsdk.expr.gradient.derivative import Sweep
from opsdk.expr.node import Node
from opsdk.expr.row.row import SIZE, RowRoles, spread
from opsdk.expr.simplify import simplify
from opsdk.expr.symbol import Symbol, apply


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
