"""What a dtype holds exactly: attributes that are whole numbers, and positions in rows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.expr.node import Node, topological
from opsdk.expr.row import INDEX, SIZE

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_STEPS = ("fmod", "floor", "ceil", "trunc", "round")  # what one more or less may change by a whole
_MIXING = (*COMPARISONS, "add", "sub", "minimum", "maximum")
_MOST_WHOLE = 2.0**53  # constants are float64


def most_exact(dtype: np.dtype[Any]) -> int:
    """Returns the number up to which a floating dtype holds every whole number."""
    return int(2 ** (np.finfo(dtype).nmant + 1))


# Any: attribute values.
def check_whole(names: Sequence[str], values: Sequence[Any], dtype: np.dtype[Any]) -> None:
    """Checks that attributes that are whole numbers stay what they are in the dtype that is computed in.

    Raises:
        AttributeValueError: one would be rounded.
    """
    for name, value in zip(names, values, strict=True):
        if isinstance(value, int) and dtype.kind not in "biu" and not _holds(dtype, value):
            raise AttributeValueError(
                f"attribute {name!r}: expected a whole number that {dtype.name} holds, in which the "
                f"expression is computed, got {value}; pass it as an input of its own dtype, or cast the inputs"
            )


def _holds(dtype: np.dtype[Any], value: int) -> bool:
    if abs(value) <= most_exact(dtype):
        return True
    try:
        return int(dtype.type(value).real) == value
    except OverflowError:  # beyond float64, or infinite in the dtype
        return False


def is_whole(node: Node, integers: Set[str], per_element: Set[Node]) -> bool:
    """Whether compiled code has a number of the row as a whole number: a label, a constant, a choice of them.

    Args:
        node: the number.
        integers: names of the inputs of one whole number per row.
        per_element: nodes with one value per position.
    """
    if node.op == "constant":
        value = node.payload
        return not isinstance(value, bool) and abs(value) <= _MOST_WHOLE and float(value).is_integer()
    if node.op == "input":
        return node.payload in integers and node not in per_element
    chosen = node.args[1:]
    is_choice = node.op == "where" and node.args[0] not in per_element
    return is_choice and all(is_whole(arg, integers, per_element) for arg in chosen)


def positioned(node: Node, integers: Set[str], per_element: Set[Node]) -> tuple[Node, Node] | None:
    """Returns the sides of a comparison of the position with a whole number, which is made in whole numbers."""
    if node.op not in COMPARISONS or INDEX not in node.args:
        return None
    left, right = node.args
    return (left, right) if is_whole(right if left is INDEX else left, integers, per_element) else None


def rounds_positions(roots: Sequence[Node], integers: Set[str], per_element: Set[Node]) -> bool:
    """Whether expressions read positions, or the size of a row, as numbers where a rounding would show by a whole.

    The size as a factor, a divisor or in a logarithm is a number like any other, and rounded like one.
    """
    counts: set[Node] = {SIZE}  # the size, and what differs from it by constants
    for node in topological(roots):
        if INDEX in node.args and positioned(node, integers, per_element) is None:
            return True
        if node.op == "row_take" and not node.args[1].is_leaf and not is_whole(node.args[1], integers, per_element):
            return True
        if counts.isdisjoint(node.args):
            continue
        beside = all(arg in counts or arg.op == "constant" for arg in node.args)
        if beside and (node.op in ("add", "sub", "mul", "neg") or (node.op == "div" and node.args[0] in counts)):
            counts.add(node)
        elif node.op in _STEPS or (node.op in _MIXING and not beside):
            return True
    return INDEX in roots
