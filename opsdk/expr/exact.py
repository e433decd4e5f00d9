"""What a dtype holds exactly: attributes that are whole numbers, and positions in rows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in, promote_types
from opsdk.core.errors import AttributeValueError, InputValueError
from opsdk.expr.node import Node, topological
from opsdk.expr.row.row import INDEX, SIZE

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
        if isinstance(value, int) and dtype.kind not in "biu" and not holds(dtype, value):
            raise AttributeValueError(
                f"attribute {name!r}: expected a whole number that {dtype.name} holds, in which the "
                f"expression is computed, got {value}; pass it as an input of its own dtype, or cast the inputs"
            )


def may_round(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether a dtype of whole numbers has some that a dtype of the computation rounds."""
    if given.kind not in "iu" or dtype.kind not in "fc":
        return False
    return bool(np.iinfo(given).max > most_exact(dtype))


# Any: arrays of any module.
def check_inputs(names: Sequence[str], arrays: Sequence[Any], dtype: np.dtype[Any], subject: str) -> None:
    """Checks that inputs that are whole numbers stay what they are in the dtype that is computed in.

    Args:
        names: of the inputs that are computed with.
        arrays: one for each.
        dtype: what is computed in.
        subject: the op, for the message.

    Raises:
        InputValueError: one would be rounded.
    """
    for name, array in zip(names, arrays, strict=True):
        if not may_round(array.dtype, dtype) or not array.size or _is_small(array, most_exact(dtype)):
            continue
        signed = array if array.dtype.kind == "u" else abs(array.astype(np.int64))
        size = signed.astype(np.uint64)  # of the least int64 too, whose absolute value wraps
        below = ~size & (size - np.uint64(1))  # the bits under the lowest one
        rounded = (size >> np.uint64(np.finfo(dtype).nmant + 1)) > below
        if rounded.any():
            raise InputValueError(
                f"{subject}: input {name!r} expected whole numbers that {dtype.name} holds, in which the expression "
                f"is computed, got {array[rounded].ravel()[0].item()}; cast it to the dtype that it may be rounded to"
            )


# Any: arrays of any module.
def check_mixed(names: Sequence[str], arrays: Sequence[Any], subject: str) -> None:
    """Checks that whole numbers stay what they are in the dtype that they are promoted to.

    Args:
        names: of the inputs.
        arrays: one for each.
        subject: the op, for the message.

    Raises:
        InputValueError: one would be rounded.
    """
    if any(array.dtype.kind in "iu" for array in arrays):
        check_inputs(names, arrays, computed_in(promote_types(*[array.dtype for array in arrays])), subject)


def _is_small(array: Any, most: int) -> bool:
    return bool(array.max() <= most and (array.dtype.kind == "u" or array.min() >= -most))


def check_constants(
    roots: Sequence[Node],
    dtype: np.dtype[Any],
    subject: str,
    integers: Set[str] = frozenset(),
    per_element: Set[Node] = frozenset(),
) -> None:
    """Checks that whole numbers of an expression, written there or of a list, stay what they are in a dtype.

    Args:
        roots: the expressions.
        dtype: what is computed in.
        subject: the op, for the message.
        integers: names of the inputs of one whole number per row.
        per_element: nodes with one value per position.

    Raises:
        AttributeValueError: one would be rounded.
    """
    rounded = _rounded(tuple(roots), dtype, frozenset(integers), frozenset(per_element))
    if rounded is not None:
        raise rounded_constant(rounded, dtype, subject)


def rounded_constant(value: int, dtype: np.dtype[Any], subject: str) -> AttributeValueError:
    """Returns the error for a whole number of an expression that a dtype rounds."""
    return AttributeValueError(
        f"{subject}: constants expected to be whole numbers that {dtype.name} holds, in which the expression is "
        f"computed, got {value}; make a float of one that may be rounded, or cast the inputs"
    )


@lru_cache(maxsize=1024)
def _rounded(
    roots: tuple[Node, ...], dtype: np.dtype[Any], integers: frozenset[str], per_element: frozenset[Node]
) -> int | None:
    if dtype.kind in "biu":
        return None
    leaves = [node for node in topological(roots) if node.op == "constant" and type(node.payload) is int]
    read = numbers_of(roots, integers, per_element) if leaves else set()
    return next((node.payload for node in leaves if node in read and not holds(dtype, node.payload)), None)


def holds(dtype: np.dtype[Any], value: int) -> bool:
    """Whether a dtype has a whole number as it is."""
    if dtype.kind == "b":
        return value in (0, 1)
    if dtype.kind in "iu":
        return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)
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
        if isinstance(value, int):
            return not isinstance(value, bool) and abs(value) < 2**63
        return abs(value) <= _MOST_WHOLE and float(value).is_integer()
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


def numbers_of(roots: Sequence[Node], integers: Set[str], per_element: Set[Node]) -> set[Node]:
    """Returns the leaves that are read as numbers of the computation, not only as whole ones beside positions."""
    found: set[Node] = set()
    seen: set[tuple[Node, bool]] = set()
    stack = [(root, False) for root in roots]  # and whether it is read as a whole number
    while stack:
        node, whole = stack.pop()
        if (node, whole) in seen:
            continue
        seen.add((node, whole))
        if node.is_leaf and not whole:
            found.add(node)
        beside = positioned(node, integers, per_element) is not None
        for at, arg in enumerate(node.args):
            chosen = whole and at > 0  # of a choice
            place = node.op == "row_take" and at == 1 and is_whole(arg, integers, per_element)
            stack.append((arg, beside or chosen or place))
    return found
