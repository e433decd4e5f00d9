"""The reverse sweep, which combines the derivative rules of primitives.

A rule gives, per operand, the partial derivative as an expression of operands and result. At a kink it states the value
that is taken: the rules for `abs`, `minimum`, `maximum` and `where` say so beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opsdk.expr.gradient.cotangent import Algebra, Cotangent
from opsdk.expr.node import Node, constant, topological
from opsdk.expr.row.row import ROW_PRIMITIVES, SIZE, RowRoles, spread
from opsdk.expr.simplify import simplify
from opsdk.expr.symbol import Symbol, apply

_PASSED = ("mul", "neg")  # factors of which are looked at one by one


def _coefficients(of: Iterable[Symbol], exponent: Node) -> list[Node]:
    """Returns the factors among those of a cotangent that are made of an exponent alone, of its branches too."""
    inside = _chosen_from(exponent)
    factors = dict.fromkeys(symbol.node for symbol in of)
    waiting = list(factors)
    for node in waiting:
        below = node.args if node.op in _PASSED else ()
        waiting += [arg for arg in dict.fromkeys(below) if arg not in factors]
        factors.update(dict.fromkeys(below))
    made = [node for node in factors if node.op != "constant" and node.op not in _PASSED]
    return [node for node in made if _chosen_from(node) <= inside]


def _chosen_from(node: Node) -> set[Node]:
    """Returns the inputs and attributes that a value is made of, whatever conditions choose among them."""
    found: dict[Node, None] = {node: None}
    waiting = [node]
    for each in waiting:
        below = each.args[1:] if each.op == "where" else each.args
        waiting += [arg for arg in dict.fromkeys(below) if arg not in found]
        found.update(dict.fromkeys(below))
    return {each for each in found if each.is_leaf and each.op != "constant"}


def past_operands(node: Node) -> list[tuple[Node, Symbol]]:
    """Returns what a product sends past its operands to what both are made of; nothing where the product rule serves.

    The product rule adds what both sides send, and of (1 - a)(1 + a) as of σ(a)σ(-a) both send nearly the same with
    opposite signs: their difference has no digits near a = 0. Here it is taken by hand.
    """
    if node.op != "mul":
        return []
    for left, right in (node.args, node.args[::-1]):
        if left.op == "sub" and right.op == "add" and right.args in (left.args, left.args[::-1]):
            a, b = left.args
            return [(a, 2.0 * Symbol(a)), (b, -2.0 * Symbol(b))]
        if left.op == right.op == "sigmoid" and right.args[0].op == "neg" and right.args[0].args == left.args:
            (a,) = left.args
            return [(a, -(Symbol(node) * apply("tanh", 0.5 * Symbol(a))))]
    return []


def partials(node: Node, arriving: Sequence[Symbol] = ()) -> tuple[Symbol | float | None, ...]:
    """Returns the partial derivatives of a node with respect to its operands; None where they are zero everywhere.

    Args:
        node: whose.
        arriving: factors of what they are multiplied by.
    """
    rule = None if node.is_leaf else ROW_PRIMITIVES[node.op].rule
    if rule is None:
        return (None,) * len(node.args)
    beside = [_coefficients(arriving, node.args[1])] if node.op == "pow" else []
    return rule(Symbol(node), *map(Symbol, node.args), *beside)


class Sweep:
    """One reverse sweep over expressions.

    Args:
        outputs: the expressions.
        roles: of the inputs and cotangents of row expressions, by name.
    """

    def __init__(self, outputs: Sequence[Node], roles: Mapping[str, str] | None = None) -> None:
        self._outputs = tuple(outputs)
        self._order = topological(outputs)
        self._algebra = Algebra(set(self._order))
        self._roles = None if roles is None else RowRoles(roles)

    def gradients(self, cotangents: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
        """Returns the gradient expressions of Σ output · cotangent with respect to the nodes `wrt`."""
        found: dict[Node, Cotangent] = {}

        def send(sender: Node, receiver: Node, value: Cotangent) -> None:
            arrived = value if self._roles is None else self._received(sender, receiver, value, self._roles)
            held = found.get(receiver)
            found[receiver] = arrived if held is None else self._algebra.joined(held, arrived)

        for output, cotangent in zip(self._outputs, cotangents, strict=True):
            send(cotangent, output, Cotangent(Symbol(cotangent)))
        for node in reversed(self._order):
            if node not in found or node in wrt:
                continue
            arriving = found[node]
            past = [] if any(arg in wrt for arg in node.args) else past_operands(node)
            for arg, partial in past or zip(node.args, partials(node, (arriving.base, arriving.factor)), strict=True):
                if partial is not None and arg.op not in ("constant", "attr"):
                    send(node, arg, self._algebra.passed(arriving, partial))
        return [self._algebra.value(found[node]).node if node in found else constant(0.0) for node in wrt]

    def _received(self, sender: Node, receiver: Node, cotangent: Cotangent, roles: RowRoles) -> Cotangent:
        """Sums over the row what elements send to a number of the row, each of them, however equal."""
        if not roles.is_element(sender) or roles.is_element(receiver):
            return cotangent
        if roles.is_element(cotangent.base.node):
            return Cotangent(self._summed(self._algebra.value(cotangent), roles))
        return Cotangent(cotangent.base, self._summed(cotangent.factor, roles))

    def _summed(self, value: Symbol, roles: RowRoles) -> Symbol:
        node = value.node
        if not roles.is_element(node):
            return self._algebra.times(value, Symbol(SIZE))
        if node.op == "neg":
            return -self._summed(Symbol(node.args[0]), roles)
        if node.op == "where" and not roles.is_element(node.args[0]):
            condition, a, b = map(Symbol, node.args)
            return apply("where", condition, self._summed(a, roles), self._summed(b, roles))
        return Symbol(Node("row_sum", (node,)))


def reverse(
    outputs: Sequence[Node], cotangents: Sequence[Node], wrt: Sequence[Node], roles: Mapping[str, str] | None = None
) -> list[Node]:
    """Returns the gradient expressions of Σ output · cotangent with respect to the nodes `wrt`.

    Subexpressions of the outputs appear in the gradients as the same nodes, so that whoever computes both shares them.
    The gradient of a `column` input is still one number per element: whoever computes it sums it over the rows.

    Args:
        outputs: the expressions.
        cotangents: what enters each.
        wrt: inputs, or nodes on the way.
        roles: of inputs and cotangents of row expressions, by name.
    """
    found = Sweep(outputs, roles).gradients(cotangents, wrt)
    return found if roles is None else spread(simplify(found), roles)
