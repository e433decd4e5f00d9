"""Formulas: expressions as text for people, in infix notation, with what occurs more than once under a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from opsdk.expr.node import Node, rewritten, shown, topological
from opsdk.expr.trace import Expression

# How an operation is written, and how tightly it binds in Python: a comparison less tightly than & and |.
_INFIX = {
    "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1), "eq": ("==", 1), "ne": ("!=", 1),
    "or": ("|", 3), "and": ("&", 4), "add": ("+", 5), "sub": ("-", 5), "mul": ("*", 6), "div": ("/", 6),
}  # fmt: skip
_PREFIX = {"not": ("~", 7), "neg": ("-", 7)}
_POWER, _ATOM = 8, 9
# What is written without brackets is computed from the left: a * (b * c), which rounds otherwise, keeps them.
_EITHER_WAY = {"and", "or"}


def formulas(expression: Expression, names: Sequence[str]) -> tuple[str, ...]:
    """Returns one line per result, and one for each value that several of them share.

    Args:
        expression: what is computed.
        names: of its results.

    Example:
        >>> from opsdk.expr.trace import trace
        >>> formulas(trace(lambda x, y: (x + y) * x / 2, ["x", "y"], [], "f"), ["z"])
        ('z = (x + y) * x / 2',)
    """
    named = _shared(expression.wanted, {*expression.inputs, *expression.attrs, *names})
    lines = [
        f"{name} = nothing" if node is None else f"{name} = {_text(node, named, 0)}"
        for name, node in zip(names, expression.outputs, strict=True)
    ]
    return (*lines, *(f"{name} = {_text(node, named, 0, is_own=True)}" for node, name in named.items()))


def as_written(expression: Expression) -> Expression:
    """Returns an expression as whole numbers are computed by it, its numbers as texts that tell 2 from 2.0."""

    def named(node: Node, _: Node, known: Mapping[Node, Node]) -> Node:
        text = repr(node.payload)
        return Node("attr", (), f"({text})" if text[0] == "-" else text, node.kind) if node.op == "constant" else node

    outputs = tuple(rewritten(expression.written, named))
    return replace(expression, outputs=outputs or expression.outputs, written=())


def _shared(roots: Sequence[Node], taken: set[str]) -> dict[Node, str]:
    """Returns names for what is used more than once and is more than a word."""
    order = topological(roots)
    uses = Counter(arg for node in order for arg in node.args)
    several = [node for node in order if uses[node] > 1 and not node.is_leaf and not _is_short(node)]
    free = (name for name in (f"t{i}" for i in range(len(several) + len(taken))) if name not in taken)
    return dict(zip(several, free, strict=False))


def _is_short(node: Node) -> bool:
    return all(arg.is_leaf for arg in node.args) and (len(node.args) == 1 or node.op == "mul")


def _text(node: Node, named: dict[Node, str], around: int, *, is_own: bool = False) -> str:
    """Returns the text of a node, in brackets where what stands around it binds more tightly."""
    if node in named and not is_own:
        return named[node]
    text, binds = _written(node, named)
    return f"({text})" if binds < around else text


def _written(node: Node, named: dict[Node, str]) -> tuple[str, int]:
    op, args = node.op, node.args
    if op == "constant":
        return _number(node.payload), _PREFIX["neg"][1] if str(node.payload).startswith("-") else _ATOM
    if node.is_leaf:
        return str(node.payload or op), _ATOM
    if op in _INFIX:
        sign, binds = _INFIX[op]
        right = binds if op in _EITHER_WAY else binds + 1
        left = binds + 1 if binds == _INFIX["lt"][1] else binds
        return f"{_text(args[0], named, left)} {sign} {_text(args[1], named, right)}", binds
    if op in _PREFIX:
        sign, binds = _PREFIX[op]
        return f"{sign}{_text(args[0], named, binds)}", binds
    if op == "pow":
        return f"{_text(args[0], named, _ATOM)}**{_text(args[1], named, _ATOM)}", _POWER
    if op == "square":
        return f"{_text(args[0], named, _ATOM)}**2", _POWER
    if op == "reciprocal":
        return f"1 / {_text(args[0], named, _INFIX['div'][1] + 1)}", _INFIX["div"][1]
    return f"{shown(op)}({', '.join(_text(arg, named, 0) for arg in args)})", _ATOM


def _number(value: float | bool) -> str:
    short = str(value) if isinstance(value, int) else f"{value:.6g}"
    return short if isinstance(value, int) or float(short) == value else repr(value)
