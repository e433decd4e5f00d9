"""Cotangents: what a reverse sweep carries from node to node, and how that is multiplied and added.

Two rules hold. Selections select: what a choice left out stays 0, whatever it is multiplied by, so that `where(x > 0,
log(x), 0)` has a derivative at 0. And what entered comes last: the derivative is a product of its own, in which equal
factors cancel, and only the finished one meets the cotangent, whose size nobody knows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from functools import cache, partial, reduce
from typing import NamedTuple

from opsdk.expr.node import Node, constant
from opsdk.expr.symbol import Symbol, apply

ZERO, ONE = constant(0.0), constant(1.0)
_MINUS_ONE, _NEVER = constant(-1.0), constant(False)
_FACTORS = 64  # of a product are looked at, so that long ones do not take the square of their length
_BOUNDED = {"maximum": "le", "minimum": "ge"}  # and by which comparison with a bound the bound is taken
_PLAIN = 1 << 24  # whole numbers up to here are numbers of every dtype that is computed with


class Cotangent(NamedTuple):
    """Something that entered, times the derivative since.

    Args:
        base: what entered: an op's cotangent, or a sum of several that came together.
        factor: the derivative from there to here.
    """

    base: Node
    factor: Node = ONE


class Algebra:
    """Products and sums of derivatives.

    What was found of a node, or of a pair, is kept: a choice between choices is met once, and not once per way to it.

    Args:
        atoms: nodes that are computed anyway, which are not taken apart to find factors.

    Attributes:
        times: gives a product: a choice keeps it out of the other branch, and what is divided by cancels.
        plus: gives a sum, which is 0 by choice where both of its terms are.
        guard: gives the condition under which a value is anything but 0 by choice; None where it always is.
    """

    def __init__(self, atoms: Collection[Node]) -> None:
        self._atoms = atoms
        self.times: Callable[[Node, Node], Node] = cache(self._times)
        self.plus: Callable[[Node, Node], Node] = cache(self._plus)
        self.guard: Callable[[Node], Node | None] = cache(self._guard)

    def value(self, cotangent: Cotangent) -> Node:
        """Returns a cotangent as one expression."""
        return self.times(*cotangent)

    def passed(self, cotangent: Cotangent, partial: Symbol | float) -> Cotangent:
        """Returns a cotangent after one more step of the chain rule."""
        step = partial.node if isinstance(partial, Symbol) else constant(partial)
        return Cotangent(cotangent.base, self.times(*self._balanced(cotangent.factor, step)))

    def joined(self, left: Cotangent, right: Cotangent) -> Cotangent:
        """Returns the sum of two cotangents."""
        if left.base is right.base:
            return Cotangent(left.base, self.plus(left.factor, right.factor))
        return Cotangent(self.plus(self.value(left), self.value(right)))

    def _times(self, left: Node, right: Node) -> Node:
        if _is_zero(left) or _is_zero(right):
            return ZERO
        if left is ONE or right is ONE:
            return right if left is ONE else left
        if self._selects(left):
            condition, a, b = left.args
            return _of("where", condition, self.times(a, right), self.times(b, right))
        if self._selects(right):
            condition, a, b = right.args
            return _of("where", condition, self.times(left, a), self.times(left, b))
        product = self._product(left, right)
        for of, by in ((left, right), (right, left)):
            used = self.guard(of)
            if used is not None and not _is_tame(by):
                return _of("where", used, product, ZERO)
        return product

    def _plus(self, left: Node, right: Node) -> Node:
        if _is_zero(left) or _is_zero(right):
            return right if _is_zero(left) else left
        if left.op == "where" and right.op == "where" and left.args[0] is right.args[0]:
            taken, other = (self.plus(*pair) for pair in zip(left.args[1:], right.args[1:], strict=True))
            return taken if taken is other else _of("where", left.args[0], taken, other)
        total = _of("add", left, right)
        first, second = self.guard(left), self.guard(right)
        if first is None or second is None:
            return total
        return _of("where", first if first is second else _of("or", first, second), total, ZERO)

    def _balanced(self, left: Node, right: Node) -> tuple[Node, Node]:
        """Returns two factors with their product; the last division of a quotient of quotients goes to the other one.

        y · (r / x / x) would be 0 where r / x / x is, however large y is; (y / x) · (r / x) has both halfway. A length
        takes nothing out of range: dividing by it stays where it is, once per row.
        """
        for of, by in ((right, left), (left, right)):
            quotient = of.args[0] if of.op == "neg" else of
            is_double = quotient.op == "div" and quotient.args[0].op == "div" and quotient.args[1].op != "row_size"
            if is_double and quotient not in self._atoms and by.op not in ("constant", "where"):
                rest, divisor = quotient.args
                divided = self.times(by, _of("reciprocal", divisor))
                return (rest if quotient is of else _of("neg", rest)), divided
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
            return _of("or", *some) if len(some) == 2 else some[0] if some else _NEVER
        if node.op == "row_sum":
            used_inside = self.guard(node.args[0])
            if used_inside is None or used_inside is _NEVER:
                return used_inside
            return _of("gt", Node("row_max", (_of("where", used_inside, ONE, ZERO),)), ZERO)
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
            return _opposite(_of(_BOUNDED[node.op], held, ZERO))
        return self.guard(held) if (bound.payload < 0) == (node.op == "maximum") else None

    def _selects(self, node: Node) -> bool:
        """Whether a value is 0 by choice somewhere."""
        return node.op == "where" and self.guard(node) is not None

    def _product(self, left: Node, right: Node) -> Node:
        """Returns a product of two values that nobody chose."""
        if _MINUS_ONE in (left, right):
            of = right if left is _MINUS_ONE else left
            return of.args[0] if of.op == "neg" else _of("neg", of)
        over, under = (one + other for one, other in zip(self._parts(left), self._parts(right), strict=True))
        twice = Counter(over) & Counter(under)
        numbers = [node for node in over if _is_number(node)]
        if twice or len(numbers) > 1:
            return _quotient(_without(over, twice), _without(under, twice))
        for of, by in ((left, right), (right, left)):
            if of.op == "neg" and of not in self._atoms:  # outside, where a sum takes it in
                (inner,) = of.args
                return _of("neg", self._product(inner, by) if of is left else self._product(by, inner))
        if right.op == "reciprocal":
            return _of("div", left, right.args[0])
        if left.op == "reciprocal" and left not in self._atoms:
            return _of("div", right, left.args[0])
        return _of("mul", left, right)

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


def _of(op: str, *operands: Node) -> Node:
    return apply(op, *operands).node


def _both(condition: Node, used: Node | None) -> Node:
    if used is None:
        return condition
    return _NEVER if used is _NEVER else _of("and", condition, used)


def _opposite(condition: Node) -> Node:
    return condition.args[0] if condition.op == "not" else _of("not", condition)


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


def _quotient(over: Sequence[Node], under: Sequence[Node]) -> Node:
    """Returns a quotient of products, numbers first; divisions stand between products, so that neither runs away."""
    numbers, factors = _number(over)
    made = [constant(number) for number in numbers]
    sign = len(made) == 1 and made[0] is _MINUS_ONE and bool(factors or under)
    below = list(under)
    value = None if sign or not made else reduce(partial(_of, "mul"), made)
    for factor in factors:
        value = factor if value is None else _of("mul", value, factor)
        if below:
            value = _of("div", value, below.pop(0))
    for divisor in below:
        value = _of("reciprocal", divisor) if value is None else _of("div", value, divisor)
    found = ONE if value is None else value
    return _of("neg", found) if sign else found


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
