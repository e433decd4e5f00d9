"""Row plans: a row expression as loops over the row, each of which feeds the reductions that the next one needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opsdk.expr.count import cost
from opsdk.expr.node import BOOL, FLOAT, Node, constant, rewritten, topological
from opsdk.expr.row.row import REDUCTIONS, SIZE, elements

LOOPED = tuple(name for name in REDUCTIONS if name != "row_take")  # what takes a whole loop
CHEAP = 6  # in the units of `cost`: what costs no more is computed again rather than kept for a later loop


@dataclass
class Loop:
    """One pass over a row.

    Args:
        before: numbers of the row that are known before it, operands first.
        body: values per element, operands first.
        reductions: what is accumulated in it.
        keeps: values per element that a later loop reads.
        reads: values that an earlier loop kept.
    """

    before: list[Node] = field(default_factory=list)
    body: list[Node] = field(default_factory=list)
    reductions: list[Node] = field(default_factory=list)
    keeps: list[Node] = field(default_factory=list)
    reads: list[Node] = field(default_factory=list)


def lowered(roots: Sequence[Node]) -> list[Node]:
    """Returns expressions in which only sums, extrema and single elements are taken over the row.

    `exp(a − logsumexp a)` becomes `exp(a − max a) · (1 / Σ exp(a − max a))`: one exp per element instead of two. From
    what a logsumexp is taken, or what is taken from it, the maximum is taken first: it may be large, the rest is not.
    """
    return rewritten(roots, _lowered)


def _lowered(plain: Node, original: Node, known: Mapping[Node, Node]) -> Node:
    if plain.op == "row_mean":
        return _node("div", _node("row_sum", plain.args[0]), SIZE)
    if plain.op == "row_logsumexp":
        shift, total = _parts(plain.args[0])
        return _node("add", shift, _node("log", total))
    inner = original.args[0] if original.op == "exp" else None
    if inner is not None and inner.op == "sub" and inner.args[1] is _node("row_logsumexp", inner.args[0]):
        of = known[inner.args[0]]
        shift, total = _parts(of)
        return _node("mul", _node("exp", _node("sub", of, shift)), _node("reciprocal", total))
    if original.op == "sub" and original.args[1].op == "row_logsumexp":
        shift, total = _parts(known[original.args[1].args[0]])
        return _node("sub", _node("sub", plain.args[0], shift), _node("log", total))
    if original.op == "sub" and original.args[0].op == "row_logsumexp":
        shift, total = _parts(known[original.args[0].args[0]])
        return _node("add", _node("sub", shift, plain.args[1]), _node("log", total))
    return plain


def _parts(of: Node) -> tuple[Node, Node]:
    """Returns what is taken off before exp, and the sum: an infinite maximum is not taken off, since ∞ − ∞ is nan."""
    top = _node("row_max", of)
    is_infinite = Node("eq", (_node("abs", top), constant(float("inf"))), None, BOOL)
    shift = _node("where", is_infinite, constant(0.0), top)
    return shift, _node("row_sum", _node("exp", _node("sub", of, shift)))


def _node(op: str, *args: Node) -> Node:
    return Node(op, args, None, FLOAT)


def loops_of(roots: Sequence[Node], roles: Mapping[str, str], cheap: float = CHEAP) -> list[Loop]:
    """Returns the loops that compute lowered expressions; the last one knows every number of the row.

    Args:
        roots: the expressions.
        roles: of the inputs, by name.
        cheap: what costs no more is computed again rather than kept for a later loop; infinity keeps nothing.
    """
    per_element = elements(roots, roles)
    level = levels_of(roots)
    depth = max(level.values(), default=0)
    loops = [Loop() for _ in range(depth + 1)]
    order = topological(roots)
    compared = compared_with_extremes(roots)
    for node in order:
        if node not in per_element and node.op not in LOOPED and not node.is_leaf:
            loops[level[node]].before.append(node)
    done: dict[Node, int] = {}
    kept: set[Node] = set()
    for at, loop in enumerate(loops):
        loop.reductions = [n for n in order if n.op in LOOPED and level[n] == at + 1]
        targets = [n.args[0] for n in loop.reductions]
        targets += [n for n in roots if n in per_element and level[n] == at]
        wanted: set[Node] = set()
        stack = [target for target in targets if target in per_element]
        while stack:
            node = stack.pop()
            if node in wanted or node.is_leaf or node not in per_element:
                continue
            dear = cost([node], [a for a in topological([node]) if a not in per_element]) > cheap
            if node in done and (dear or (node in compared and cheap < math.inf)):
                if node not in kept:
                    kept.add(node)
                    loops[done[node]].keeps.append(node)
                loop.reads.append(node)
                wanted.add(node)
                continue
            wanted.add(node)
            stack.extend(node.args)
        loop.reads = list(dict.fromkeys(loop.reads))
        loop.body = [node for node in order if node in wanted and node not in loop.reads]
        for node in loop.body:
            done.setdefault(node, at)
    return loops


def compared_with_extremes(roots: Sequence[Node]) -> set[Node]:
    """Returns the values that are compared with their own extreme of the row.

    Each has to be the very number that it was: computed again it may round differently, where a product is fused into a
    sum beside one use and not beside two. So it is kept, or its products are rounded before they are added.
    """
    pairs = [node.args for node in topological(roots) if node.kind == BOOL and len(node.args) == 2]
    sides = [side for pair in pairs for side in (pair, pair[::-1])]
    return {value for value, top in sides if top.op in ("row_max", "row_min") and top.args[0] is value}


def levels_of(roots: Sequence[Node]) -> dict[Node, int]:
    """Returns per node the number of loops that have to be over before it can be known."""
    level: dict[Node, int] = {}
    for node in topological(roots):
        below = max((level[arg] for arg in node.args), default=0)
        level[node] = below + 1 if node.op in LOOPED else below
    return level
