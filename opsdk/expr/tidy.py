"""Expressions put as people write them: for reading, never for computing, since the order of roundings changes.

A product is a number, what enters the op, then the rest; what every term of a sum has stands before its brackets. What
occurs more than once stays one, so that it can have a name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from opsdk.expr.node import Node, constant, topological
from opsdk.expr.trace import Expression

_DIGITS = 6  # significant ones of a number that is no fraction
_LARGEST = 1000  # greatest denominator that is written as one
_SHORT = 6  # characters up to which a decimal number reads better than a fraction


@dataclass(frozen=True)
class _Product:
    """A number times factors over factors."""

    number: Fraction
    over: tuple[Node, ...] = ()
    under: tuple[Node, ...] = ()

    @property
    def kind(self) -> tuple[frozenset[tuple[Node, int]], frozenset[tuple[Node, int]]]:
        """What two products share that can be added up."""
        return frozenset(Counter(self.over).items()), frozenset(Counter(self.under).items())


_Terms = tuple[_Product, ...]


def tidied(expression: Expression, leading: Collection[str] = ()) -> Expression:
    """Returns an expression of the same value but for rounding, in the order that people write.

    Args:
        expression: what is computed.
        leading: names of inputs that stand first in a product, such as cotangents.

    Example:
        >>> from opsdk.expr.formula import formulas
        >>> from opsdk.expr.trace import trace
        >>> found = trace(lambda x, dy: dy * 0.5 * x * 3.0 + dy * x, ["x", "dy"], [], "f")
        >>> formulas(tidied(found, ["dy"]), ["dx"])
        ('dx = 2.5 * dy * x',)
    """
    tidier = _Tidier(expression.wanted, leading)
    return replace(
        expression, outputs=tuple(None if node is None else tidier.whole(node) for node in expression.outputs)
    )


class _Tidier:
    def __init__(self, roots: Sequence[Node], leading: Collection[str]) -> None:
        order = topological(roots)
        self._uses = Counter(arg for node in order for arg in node.args)
        self._leading = leading
        self._terms: dict[Node, _Terms] = {}
        for node in order:
            terms = self._read(node)
            self._terms[node] = self._kept(terms) if self._uses[node] > 1 and not _is_plain(terms) else terms

    def whole(self, node: Node) -> Node:
        """Returns a node of the expression, tidied."""
        return self._written(self._terms[node])

    def _read(self, node: Node) -> _Terms:
        """Returns a node as a sum of products."""
        known = [self._terms[arg] for arg in node.args]
        op = node.op
        if op == "constant" and not isinstance(node.payload, bool) and math.isfinite(node.payload):
            return (_Product(Fraction(node.payload)),)
        if op in ("add", "sub"):
            return _added(known[0], known[1] if op == "add" else _negated(known[1]))
        if op == "neg":
            return _negated(known[0])
        if op in ("mul", "square"):
            return (_times(self._single(known[0]), self._single(known[-1])),)
        if op in ("div", "reciprocal"):
            below = self._single(known[-1])
            if below.number:
                above = self._single(known[0]) if op == "div" else _Product(Fraction(1))
                return (_times(above, _Product(1 / below.number, below.under, below.over)),)
        args = tuple(map(self._written, known))
        return (_Product(Fraction(1), (Node(op, args, node.payload, node.kind),)),)

    def _kept(self, terms: _Terms) -> _Terms:
        """Returns a sum that occurs more than once as one factor; a number before it is none of it."""
        number = terms[0].number if len(terms) == 1 and terms[0].number else Fraction(1)
        return (_Product(number, (self._written(tuple(replace(t, number=t.number / number) for t in terms)),)),)

    def _single(self, terms: _Terms) -> _Product:
        """Returns a sum as one product: several terms are one factor, in brackets."""
        return terms[0] if len(terms) == 1 else _Product(Fraction(1), (self._written(terms),))

    def _written(self, terms: _Terms) -> Node:
        """Returns the node of a sum, with what all of its terms share before the brackets."""
        if len(terms) == 1:
            return self._factors(terms[0])
        shared = Counter(terms[0].over)
        for term in terms[1:]:
            shared &= Counter(term.over)
        common = tuple(shared.elements())
        if not common:
            return self._sum(terms)
        rest = [replace(term, over=_without(term.over, common)) for term in terms]
        return self._factors(_Product(Fraction(1), (*common, self._sum(rest))))

    def _sum(self, terms: Sequence[_Product]) -> Node:
        first = next((term for term in terms if term.number > 0), terms[0])
        made = self._factors(first)
        for term in terms:
            if term is not first:
                is_less = term.number < 0
                node = self._factors(replace(term, number=abs(term.number)))
                made = Node("sub" if is_less else "add", (made, node))
        return made

    def _factors(self, product: _Product) -> Node:
        if not product.number:
            return constant(0.0)
        top, bottom = _number(abs(product.number))
        over, under = _powers(self._in_order(product.over)), _powers(product.under)
        under = [*([constant(bottom)] if bottom != 1 else []), *under]
        over = [*([constant(top)] if top != 1 or not over else []), *over]
        if product.number < 0:
            over[0] = constant(-top) if over[0].op == "constant" else Node("neg", (over[0],))
        made = _chain("mul", over)
        return Node("div", (made, _chain("mul", under))) if under else made

    def _in_order(self, factors: Iterable[Node]) -> list[Node]:
        """Returns factors with those that lead in front, attributes after them, each beside its like."""

        def rank(node: Node) -> int:
            return 0 if node.op == "input" and node.payload in self._leading else 1 if node.op == "attr" else 2

        return sorted(Counter(factors).elements(), key=rank)


def _is_plain(terms: _Terms) -> bool:
    """Whether something is no more than a number times two inputs or attributes, which needs no name."""
    over = terms[0].over
    return len(terms) == 1 and not terms[0].under and len(over) < 3 and all(node.is_leaf for node in over)


def _added(left: _Terms, right: _Terms) -> _Terms:
    sums: dict[object, _Product] = {}
    for term in (*left, *right):
        held = sums.get(term.kind)
        sums[term.kind] = term if held is None else replace(held, number=held.number + term.number)
    return tuple(term for term in sums.values() if term.number) or (_Product(Fraction(0)),)


def _negated(terms: _Terms) -> _Terms:
    return tuple(replace(term, number=-term.number) for term in terms)


def _times(left: _Product, right: _Product) -> _Product:
    over, under = (*left.over, *right.over), (*left.under, *right.under)
    twice = Counter(over) & Counter(under)
    gone = [node for node in twice.elements() if node.op == "attr"]  # x / x is kept: it says that 0 is no input
    return _Product(left.number * right.number, _without(over, gone), _without(under, gone))


def _without(factors: Sequence[Node], taken: Iterable[Node]) -> tuple[Node, ...]:
    left = list(factors)
    for node in taken:
        left.remove(node)
    return tuple(left)


def _powers(factors: Sequence[Node]) -> list[Node]:
    counted = Counter(factors)
    return [
        node if count == 1 else Node("square", (node,)) if count == 2 else Node("pow", (node, constant(float(count))))
        for node, count in counted.items()
    ]


def _chain(op: str, nodes: Sequence[Node]) -> Node:
    made = nodes[0]
    for node in nodes[1:]:
        made = Node(op, (made, node))
    return made


def _number(value: Fraction) -> tuple[float, float]:
    """Returns what stands above and below a fraction's line for a positive number; below it 1 where there is none."""
    exact = float(value)
    if value.denominator == 1 or len(f"{exact!r}") <= _SHORT:
        return exact, 1.0
    if value.denominator <= _LARGEST:
        return float(value.numerator), float(value.denominator)
    return float(f"{exact:.{_DIGITS}g}"), 1.0
