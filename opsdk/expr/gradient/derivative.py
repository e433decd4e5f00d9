"""The reverse sweep, which combines the derivative rules of primitives.

A rule gives, per operand, the partial derivative as an expression of operands and result. At a kink it states the value
that is taken: the rules for `abs`, `minimum`, `maximum` and `where` say so beside them.

In a sum of what comes by several ways, products of the same factors in any order are one of them, times their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import TypeAlias

from opsdk.expr.gradient.cotangent import Algebra, Cotangent
from opsdk.expr.node import FLOAT, Node, constant, topological
from opsdk.expr.row.row import ROW_PRIMITIVES, SIZE, RowRoles, spread
from opsdk.expr.simplify import simplify
from opsdk.expr.symbol import Symbol, apply

Product: TypeAlias = tuple[Fraction, Counter[Node]]  # a coefficient, and how often which factor

_ONE = constant(1.0)
_SUMS = ("add", "sub")
_FACTORS, _BITS = 64, 4096  # a product of more factors, or with a longer coefficient, is looked at as one factor
_PASSED = ("mul", "neg")  # factors of which are looked at one by one


def _coefficients(of: Iterable[Node], exponent: Node) -> list[Node]:
    """Returns the factors among those of a cotangent that are made of an exponent alone, of its branches too."""
    inside = _chosen_from(exponent)
    factors = dict.fromkeys(of)
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


def partials(node: Node, arriving: Sequence[Node] = ()) -> tuple[Symbol | float | None, ...]:
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
    order = topological(outputs)
    algebra = Algebra(set(order))
    row = None if roles is None else RowRoles(roles)
    found: dict[Node, Cotangent] = {}

    def send(sender: Node, receiver: Node, value: Cotangent) -> None:
        if row is not None and row.is_element(sender) and not row.is_element(receiver):
            value = _over_row(value, algebra, row)
        held = found.get(receiver)
        found[receiver] = value if held is None else algebra.joined(held, value)

    for output, cotangent in zip(outputs, cotangents, strict=True):
        send(cotangent, output, Cotangent(cotangent))
    for node in reversed(order):
        if node not in found or node in wrt:
            continue
        arriving = found[node]
        past = [] if any(arg in wrt for arg in node.args) else past_operands(node)
        for arg, partial in past or zip(node.args, partials(node, arriving), strict=True):
            if partial is not None and arg.op not in ("constant", "attr"):
                send(node, arg, algebra.passed(arriving, partial))
    gradients = [algebra.value(found[node]) if node in found else constant(0.0) for node in wrt]
    return gradients if roles is None else spread(simplify(gradients), roles)


def _over_row(cotangent: Cotangent, algebra: Algebra, row: RowRoles) -> Cotangent:
    """Sums over the row what elements send to a number of the row, each of them, however equal."""

    def summed(node: Node) -> Node:
        if not row.is_element(node):
            return algebra.times(node, SIZE)
        if node.op == "neg":
            return apply("neg", summed(node.args[0])).node
        if node.op == "where" and not row.is_element(node.args[0]):
            condition, a, b = node.args
            return apply("where", condition, summed(a), summed(b)).node
        return Node("row_sum", (node,))

    if row.is_element(cotangent.base):
        return Cotangent(summed(algebra.value(cotangent)))
    return Cotangent(cotangent.base, summed(cotangent.factor))


def combined(roots: Sequence[Node]) -> list[Node]:
    """Returns expressions whose sums have no like terms; a derivative has one by every way that leads to the input.

    The first of the terms stays as it is associated, times the sum of the coefficients over its own: where it leaves
    the range of its dtype, the sum did before. Terms of opposite signs stay: the difference of infinite ones is NaN.
    """
    order = topological(roots)
    uses = Counter(arg for node in order for arg in node.args)
    uses.update(roots)
    inner = {arg for node in order if node.op in _SUMS for arg in node.args if arg.op in _SUMS and uses[arg] == 1}
    known: dict[Node, Node] = {}
    products: dict[Node, Product] = {}
    for node in order:
        if node in inner:
            continue
        if node.op in _SUMS:
            made = _summed(node, inner, known, products)
        else:
            made = Node(node.op, tuple(known[arg] for arg in node.args), node.payload, node.kind)
        known[node] = made
        products[made] = _product(made, products)
    return [known[root] for root in roots]


def _summed(root: Node, inner: set[Node], known: dict[Node, Node], products: dict[Node, Product]) -> Node:
    """Returns a sum without like terms; the sums inside of it that have no other use are part of it."""
    prefix: list[tuple[Node, bool]] = []  # the sum in Polish notation, and what of it is subtracted
    stack = [(root, False)]
    while stack:
        node, is_subtracted = stack.pop()
        prefix.append((node, is_subtracted))
        if node is root or node in inner:
            stack += [(node.args[1], is_subtracted != (node.op == "sub")), (node.args[0], is_subtracted)]
    terms = {i: known[node] for i, (node, _) in enumerate(prefix) if node in known}
    like: dict[tuple[bool, frozenset[tuple[Node, int]]], list[int]] = {}
    for i, term in terms.items():
        coefficient, factors = products[term]
        if factors:
            like.setdefault(((coefficient < 0) != prefix[i][1], frozenset(factors.items())), []).append(i)
    left: dict[int, Node | None] = dict(terms)
    for first, *others in like.values():
        times = 1 + abs(sum(abs(products[terms[i]][0]) for i in others) / products[terms[first]][0])
        if others and Fraction(float(times)) == times:
            left[first] = Node("mul", (constant(float(times)), terms[first]))
            left.update(dict.fromkeys(others))
    values: list[Node | None] = []
    for i in range(len(prefix) - 1, -1, -1):
        values.append(left[i] if i in left else _joined(prefix[i][0], values.pop(), values.pop()))
    assert values[0] is not None  # the first of like terms stays
    return values[0]


def _joined(node: Node, left: Node | None, right: Node | None) -> Node | None:
    """Returns a sum of two sides, of which those that are None have gone into another term."""
    if left is None:
        return Node("neg", (right,), None, node.kind) if right is not None and node.op == "sub" else right
    return left if right is None else Node(node.op, (left, right), None, node.kind)


def _product(node: Node, known: dict[Node, Product]) -> Product:
    """Returns a node as a product, given those of its operands."""
    if node.op == "constant" and node.kind == FLOAT and node.payload and isfinite(node.payload):
        return Fraction(node.payload), Counter()
    found = Fraction(1), Counter({node: 1})
    of = [known.get(arg, (Fraction(1), Counter({arg: 1}))) for arg in node.args]
    if node.op == "neg":
        found = -of[0][0], of[0][1]
    elif node.op == "mul":
        found = of[0][0] * of[1][0], of[0][1] + of[1][1]
    elif node.op == "div":
        below = Counter({Node("div", (_ONE, factor)): count for factor, count in of[1][1].items()})
        found = of[0][0] / of[1][0], of[0][1] + below
    is_long = found[1].total() > _FACTORS or (found[0].numerator * found[0].denominator).bit_length() > _BITS
    return (Fraction(1), Counter({node: 1})) if is_long else found
