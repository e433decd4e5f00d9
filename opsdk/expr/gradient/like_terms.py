"""Like terms: in a sum, products of the same factors in any order are one of them, times their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from typing import TypeAlias

from opsdk.expr.node import FLOAT, Node, constant, topological

Product: TypeAlias = tuple[Fraction, Counter[Node]]  # a coefficient, and how often which factor

_ONE = constant(1.0)
_SUMS = ("add", "sub")
_FACTORS, _BITS = 64, 4096  # a product of more factors, or with a longer coefficient, is looked at as one factor


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
