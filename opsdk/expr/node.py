"""Node: a scalar expression as data, hash-consed, so that equal subexpressions are one object."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

FLOAT, BOOL = "float", "bool"
DIGEST = "__"  # what stands between the name of a user's own operation and its digest
_HELD = 2**24  # whole numbers up to this one are the same in every dtype that is computed in
_WRITTEN = 500  # operations of the text of a node: that of a choice between choices has twice as many at every step

_lock = threading.RLock()
_interned: WeakValueDictionary[tuple[Any, ...], Node] = WeakValueDictionary()


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()  # a thread that held it does not exist in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Node:
    """One operation on scalars. Two nodes of the same operation on the same nodes are the same object.

    Attributes:
        op: name of a primitive, or `input`, `attr`, `constant`.
        args: the operands.
        payload: name of an input or attribute, value of a constant; None elsewhere (Any for that reason).
        kind: `float`, a number of the dtype that the expression is computed in, or `bool`.
    """

    __slots__ = ("__weakref__", "args", "kind", "op", "payload")
    op: str
    args: tuple[Node, ...]
    payload: Any
    kind: str

    def __new__(cls, op: str, args: tuple[Node, ...] = (), payload: Any = None, kind: str = FLOAT) -> Node:
        """Returns the node, which may exist already."""
        # repr tells 0.0 from -0.0, and 1.0 from True, which compare equal
        key = (op, tuple(map(id, args)), repr(payload), kind)
        with _lock:
            found = _interned.get(key)
            if found is None:
                found = object.__new__(cls)
                found.op, found.args, found.payload, found.kind = op, args, payload, kind
                _interned[key] = found
        return found

    @property
    def is_leaf(self) -> bool:
        """Whether the node is an input, an attribute or a constant."""
        return not self.args

    def __repr__(self) -> str:
        return _written(self, [_WRITTEN])


def _written(node: Node, left: list[int]) -> str:
    """Returns the text of a node, with dots for what is more than `left` operations; shared ones count each time."""
    if node.op in ("input", "attr"):
        return str(node.payload)
    if node.op == "constant":
        return repr(node.payload)
    left[0] -= 1
    if left[0] < 0:
        return "…"
    return f"{shown(node.op)}({', '.join(_written(arg, left) for arg in node.args)})"


def shown(op: str) -> str:
    """Returns what people call an operation: of a user's own its name, behind which the digest of what it is stands."""
    return op.partition(DIGEST)[0]


def constant(value: float | bool | np.generic) -> Node:
    """Returns a constant; it is rounded once, to the dtype that the expression is computed in.

    A whole number that some dtype of a computation rounds stays one, so that it can be refused there.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return Node("constant", (), value, BOOL)
    if isinstance(value, int) and abs(value) > _HELD:
        return Node("constant", (), int(value), FLOAT)
    return Node("constant", (), float(value), FLOAT)


def literal(value: Any) -> Node:
    """Returns a constant as its author wrote it: an int, a float, or a NumPy scalar, which has a dtype (hence Any)."""
    if isinstance(value, (bool, np.bool_)):
        return constant(bool(value))
    return Node("constant", (), value, FLOAT)


def topological(roots: Iterable[Node]) -> list[Node]:
    """Returns every node below the roots once, operands before what uses them."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return order


def rewritten(roots: Iterable[Node], rule: Callable[[Node, Node, Mapping[Node, Node]], Node]) -> list[Node]:
    """Returns expressions in which every node is what a rule makes of it.

    Args:
        roots: the expressions.
        rule: is given a node on operands that are rewritten already, the node as it was, and what was made so far.
    """
    roots = list(roots)
    known: dict[Node, Node] = {}
    for node in topological(roots):
        args = tuple(known[arg] for arg in node.args)
        plain = node if args == node.args else Node(node.op, args, node.payload, node.kind)
        known[node] = rule(plain, node, known)
    return [known[root] for root in roots]
