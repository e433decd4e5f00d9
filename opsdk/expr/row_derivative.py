"""Derivatives of row expressions: to a number of a row goes the sum over the row of what goes to its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsdk.expr.derivative import partials, times
from opsdk.expr.node import Node, constant, topological
from opsdk.expr.row import INDEX, REDUCTIONS, SIZE, elements
from opsdk.expr.symbol import Symbol, apply


def reverse_rows(
    outputs: Sequence[Node], cotangents: Sequence[Node], wrt: Sequence[Node], roles: Mapping[str, str]
) -> list[Node]:
    """Returns the gradient expressions of Σ output · cotangent with respect to inputs.

    The gradient of a `column` input is still one number per element: whoever computes it sums it over the rows.
    """
    order = topological(outputs)
    grads: dict[Node, Symbol] = {}
    is_element = elements([*outputs, *cotangents], roles)

    def send(node: Node, value: Symbol) -> None:
        if node not in is_element and value.node in elements([value.node], roles):
            value = Symbol(Node("row_sum", (value.node,)))
        grads[node] = value if node not in grads else grads[node] + value

    for output, cotangent in zip(outputs, cotangents, strict=True):
        send(output, Symbol(cotangent))
    for node in reversed(order):
        grad = grads.get(node)
        if grad is None or node in wrt:
            continue
        if node.op in REDUCTIONS:
            send(node.args[0], _through(node, grad))
            continue
        if node in (INDEX, SIZE):
            continue
        for arg, partial in zip(node.args, partials(node), strict=True):
            if partial is not None and arg.op != "constant":
                send(arg, times(node, grad, partial))
    return [grads[node].node if node in grads else constant(0.0) for node in wrt]


def _through(node: Node, grad: Symbol) -> Symbol:
    """Returns what a reduction sends to each element that it reduces."""
    of, result = Symbol(node.args[0]), Symbol(node)
    if node.op == "row_sum":
        return grad
    if node.op == "row_mean":
        return grad / Symbol(SIZE)
    if node.op == "row_logsumexp":
        return grad * apply("exp", of - result)
    if node.op == "row_take":
        return apply("where", apply("eq", Symbol(INDEX), Symbol(node.args[1])), grad, 0.0)
    is_top = apply("eq", of, result)  # row_max, row_min: shared evenly among ties
    count = Symbol(Node("row_sum", (apply("where", is_top, 1.0, 0.0).node,)))
    return apply("where", is_top, grad / count, 0.0)
