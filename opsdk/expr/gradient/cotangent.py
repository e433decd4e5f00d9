"""Cotangents: what a reverse sweep carries from node to node, and how that is multiplied and added.

Two rules hold. Selections select: what a choice left out stays 0, whatever it is multiplied by, so that `where(x > 0,
log(x), 0)` has a derivative at 0. And what entered comes last: the derivative is a product of its own, in which equal
factors cancel, and only the finished one meets the cotangent, whose size nobody knows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from opsdk.expr.node import Node, constant
from opsdk.expr.symbol import Symbol, apply

ZERO, ONE = Symbol(constant(0.0)), Symbol(constant(1.0))
_MINUS_ONE, _NEVER = constant(-1.0), constant(False)
_FACTORS = 64  # of a product are looked at, so that long ones do not take the square of their length
_BOUNDED = {"maximum": "le", "minimum": "ge"}  # and by which comparison with a bound the bound is taken
_PLAIN = 1 << 24  # whole numbers up to here are numbers of every dtype that is computed with


@dataclass(frozen=True)
class Cotangent:
    """Something that entered, times the derivative since.

    Args:
        base: what entered: an op's cotangent, or a sum of several that came together.
        factor: the derivative from there to here.
    """

    base: Symbol
    factor: Symbol = ONE


class Algebra:
    """Products and sums of derivatives.

    What was found of a node, or of a pair, is kept: a choice between choices is met once, and not once per way to it.

    Args:
        atoms: nodes that are computed anyway, which are not taken apart to find factors.
    """

    def __init__(self, atoms: Collection[Node]) -> None:
        self._atoms = atoms
        self._guards: dict[Node, Node | None] = {}
        self._products: dict[tuple[Node, Node], Symbol] = {}
        self._sums: dict[tuple[Node, Node], Symbol] = {}

    def value(self, cotangent: Cotangent) -> Symbol:
        """Returns a cotangent as one expression."""
        return self.times(cotangent.base, cotangent.factor)

    def passed(self, cotangent: Cotangent, partial: Symbol | float) -> Cotangent:
        """Returns a cotangent after one more step of the chain rule."""
        step = partial if isinstance(partial, Symbol) else Symbol(constant(partial))
        return Cotangent(cotangent.base, self.times(*self._balanced(cotangent.factor, step)))

    def joined(self, left: Cotangent, right: Cotangent) -> Cotangent:
        """Returns the sum of two cotangents."""
        if left.base.node is right.base.node:
            return Cotangent(left.base, self.plus(left.factor, right.factor))
        return Cotangent(self.plus(self.value(left), self.value(right)))

    def times(self, left: Symbol, right: Symbol) -> Symbol:
        """Returns a product: a choice keeps it out of the other branch, and what is divided by cancels."""
        pair = (left.node, right.node)
        if pair not in self._products:
            self._products[pair] = self._times(left, right)
        return self._products[pair]

    def plus(self, left: Symbol, right: Symbol) -> Symbol:
        """Returns a sum, which is 0 by choice where both of its terms are."""
        pair = (left.node, right.node)
        if pair not in self._sums:
            self._sums[pair] = self._plus(left, right)
        return self._sums[pair]

    def guard(self, node: Node) -> Node | None:
        """Returns the condition under which a value is anything but 0 by choice; None where it always is."""
        if node not in self._guards:
            self._guards[node] = self._guard(node)
        return self._guards[node]

    def _times(self, left: Symbol, right: Symbol) -> Symbol:
        if _is_zero(left.node) or _is_zero(right.node):
            return ZERO
        if left.node is ONE.node or right.node is ONE.node:
            return right if left.node is ONE.node else left
        if self._selects(left.node):
            condition, a, b = map(Symbol, left.node.args)
            return apply("where", condition, self.times(a, right), self.times(b, right))
        if self._selects(right.node):
            condition, a, b = map(Symbol, right.node.args)
            return apply("where", condition, self.times(left, a), self.times(left, b))
        product = self._product(left, right)
        for of, by in ((left, right), (right, left)):
            used = self.guard(of.node)
            if used is not None and not _is_tame(by.node):
                return apply("where", Symbol(used), product, ZERO)
        return product

    def _plus(self, left: Symbol, right: Symbol) -> Symbol:
        if _is_zero(left.node) or _is_zero(right.node):
            return right if _is_zero(left.node) else left
        a, b = left.node, right.node
        if a.op == "where" and b.op == "where" and a.args[0] is b.args[0]:
            taken, other = (self.plus(*map(Symbol, pair)) for pair in zip(a.args[1:], b.args[1:], strict=True))
            return taken if taken.node is other.node else apply("where", Symbol(a.args[0]), taken, other)
        first, second = self.guard(a), self.guard(b)
        if first is None or second is None:
            return left + right
        used = first if first is second else apply("or", Symbol(first), Symbol(second)).node
        return apply("where", Symbol(used), left + right, ZERO)

    def _balanced(self, left: Symbol, right: Symbol) -> tuple[Symbol, Symbol]:
        """Returns two factors with their product; the last division of a quotient of quotients goes to the other one.

        y · (r / x / x) would be 0 where r / x / x is, however large y is; (y / x) · (r / x) has both halfway. A length
        takes nothing out of range: dividing by it stays where it is, once per row.
        """
        for of, by in ((right, left), (left, right)):
            quotient = of.node.args[0] if of.node.op == "neg" else of.node
            is_double = quotient.op == "div" and quotient.args[0].op == "div" and quotient.args[1].op != "row_size"
            if is_double and quotient not in self._atoms and by.node.op not in ("constant", "where"):
                rest = Symbol(quotient.args[0])
                divided = self.times(by, apply("reciprocal", Symbol(quotient.args[1])))
                return (rest if quotient is of.node else -rest), divided
        return left, right

    def _guard(self, node: Node) -> Node | None:
        if _is_zero(node):
            return _NEVER
        if node.op == "where":
            condition, *branches = node.args
            used = [self.guard(branch) for branch in branches]
            if used == [None, None]:
                return None
            sides = [_both(condition, used[0]), _both(_opposite(condition), used[1])]
            some = [side for side in sides if side is not _NEVER]
            return apply("or", *map(Symbol, some)).node if len(some) == 2 else some[0] if some else _NEVER
        if node.op == "row_sum":
            used_inside = self.guard(node.args[0])
            if used_inside is None or used_inside is _NEVER:
                return used_inside
            counted = apply("where", Symbol(used_inside), 1.0, 0.0).node
            return apply("gt", Symbol(Node("row_max", (counted,))), 0.0).node
        if node.op in _BOUNDED:
            return self._guard_of_bounded(node)
        if node.op == "neg" or (node.op in ("mul", "div") and _is_tame(node.args[1])):
            return self.guard(node.args[0])
        return None

    def _guard_of_bounded(self, node: Node) -> Node | None:
        """Returns the guard of what is held on one side of a number: a bound of 0 is chosen, one beyond 0 is not.

        nan is not held, and no 0.
        """
        bound = next(filter(_is_number, node.args), None)
        if bound is None:
            return None
        held = node.args[0] if bound is node.args[1] else node.args[1]
        if not bound.payload:
            return _opposite(apply(_BOUNDED[node.op], Symbol(held), ZERO).node)
        return self.guard(held) if (bound.payload < 0) == (node.op == "maximum") else None

    def _selects(self, node: Node) -> bool:
        """Whether a value is 0 by choice somewhere."""
        return node.op == "where" and self.guard(node) is not None

    def _product(self, left: Symbol, right: Symbol) -> Symbol:
        """Returns a product of two values that nobody chose."""
        if _MINUS_ONE in (left.node, right.node):
            of = right if left.node is _MINUS_ONE else left
            return Symbol(of.node.args[0]) if of.node.op == "neg" else -of
        over, under = (one + other for one, other in zip(self._parts(left.node), self._parts(right.node), strict=True))
        twice = Counter(over) & Counter(under)
        numbers = [node for node in over if _is_number(node)]
        if twice or len(numbers) > 1:
            return _written(_without(over, twice), _without(under, twice))
        for of, by in ((left, right), (right, left)):
            if of.node.op == "neg" and of.node not in self._atoms:  # outside, where a sum takes it in
                inner = Symbol(of.node.args[0])
                return -(self._product(inner, by) if of is left else self._product(by, inner))
        if right.node.op == "reciprocal":
            return left / Symbol(right.node.args[0])
        if left.node.op == "reciprocal" and left.node not in self._atoms:
            return right / Symbol(left.node.args[0])
        return left * right

    def _parts(self, node: Node) -> tuple[list[Node], list[Node]]:
        """Returns the factors of a value, and what it is divided by."""
        sides: tuple[list[Node], list[Node]] = [], []
        stack = [(node, 0)]
        for _ in range(_FACTORS):
            if not stack:
                break
            part, side = stack.pop()
            if part.op == "reciprocal":
                stack.append((part.args[0], 1 - side))
            elif part in self._atoms or part.op not in ("mul", "div", "neg"):
                sides[side].append(part)
            elif part.op == "neg":
                sides[side].append(_MINUS_ONE)
                stack.append((part.args[0], side))
            else:
                stack += [(part.args[1], side if part.op == "mul" else 1 - side), (part.args[0], side)]
        for part, side in stack:
            sides[side].append(part)
        return sides


def _both(condition: Node, used: Node | None) -> Node:
    if used is None:
        return condition
    return _NEVER if used is _NEVER else apply("and", Symbol(condition), Symbol(used)).node


def _opposite(condition: Node) -> Node:
    return condition.args[0] if condition.op == "not" else apply("not", Symbol(condition)).node


def _is_zero(node: Node) -> bool:
    return _is_number(node) and node.payload == 0


def _is_number(node: Node) -> bool:
    return node.op == "constant" and not isinstance(node.payload, bool)


def _is_tame(node: Node) -> bool:
    """Whether a value is finite and not 0, so that it does no harm to what is 0 by choice."""
    if node.op == "row_size" or (_is_number(node) and math.isfinite(node.payload) and node.payload):
        return True
    return node.op in ("neg", "reciprocal") and _is_tame(node.args[0])


def _without(factors: Sequence[Node], gone: Counter[Node]) -> list[Node]:
    left, kept = Counter(gone), []
    for factor in factors:
        if left[factor]:
            left[factor] -= 1
        else:
            kept.append(factor)
    return kept


def _written(over: Sequence[Node], under: Sequence[Node]) -> Symbol:
    """Returns a quotient of products, numbers first; divisions stand between products, so that neither runs away."""
    numbers, factors = _number(over)
    made = [Symbol(constant(number)) for number in numbers]
    sign = len(made) == 1 and made[0].node is _MINUS_ONE and bool(factors or under)
    value = None if sign or not made else _chained(made)
    below = [Symbol(node) for node in under]
    for factor in map(Symbol, factors):
        value = factor if value is None else value * factor
        if below:
            value = value / below.pop(0)
    for divisor in below:
        value = apply("reciprocal", divisor) if value is None else value / divisor
    found = ONE if value is None else value
    return -found if sign else found


def _chained(factors: Sequence[Symbol]) -> Symbol:
    made = factors[0]
    for factor in factors[1:]:
        made = made * factor
    return made


def _number(over: Iterable[Node]) -> tuple[list[float], list[Node]]:
    """Returns the numbers among factors, as one where that is exact, and the other factors."""
    numbers = [node.payload for node in over if _is_number(node)]
    others = [node for node in over if not _is_number(node)]
    if all(math.isfinite(number) for number in numbers):
        exact = Fraction(1)
        for number in numbers:
            exact *= Fraction(number)
        if abs(exact.numerator) <= _PLAIN and exact.denominator <= _PLAIN:
            return ([] if exact == 1 else [float(exact)]), others
    return numbers, others
