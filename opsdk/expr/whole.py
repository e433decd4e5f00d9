"""Whole numbers: an expression as it is written, computed as NumPy computes it for arrays of integers and bools.

Nothing is promoted beforehand, and a number is what its author wrote: an int or a float, which has no dtype of its own
beside an array (NEP 50), or a NumPy scalar, which has. What NumPy would wrap or round in silence is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError
from opsdk.expr.exact import check_inputs, check_whole, holds, rounded_constant
from opsdk.expr.node import FLOAT, Node, topological
from opsdk.expr.primitives.table import PRIMITIVES

# Any, in this file: arrays of any module, NumPy scalars, and Python's numbers.


def evaluated(roots: Sequence[Node], arrays: Mapping[str, Any], attrs: Mapping[str, Any], subject: str) -> list[Any]:
    """Returns the values of expressions of whole numbers: arrays, each of the dtype that it has for NumPy.

    Args:
        roots: what to compute, as it is written.
        arrays: by name of an input its array, of integers or bools.
        attrs: the attributes by name.
        subject: the op, for messages.

    Raises:
        AttributeValueError: a number is not held by the dtype beside it, or rounded by it.
        InputValueError: an element would be rounded, or is a negative exponent of whole numbers.
        DTypeError: bools have no such operation.
    """
    order, places = _ordered(tuple(roots))
    known: list[Any] = []
    with np.errstate(all="ignore"):  # inf and nan are values of the function, not accidents
        for node, args in zip(order, places, strict=True):
            if node.args:
                known.append(_applied(node, [known[i] for i in args], subject))
            elif node.op == "constant":
                known.append(node.payload)
            else:
                known.append((arrays if node.op == "input" else attrs)[node.payload])
        _check_rounding(order, places, known, subject)
    at = {node: place for place, node in enumerate(order)}
    dtypes = [array.dtype for array in arrays.values()]
    return [_as_array(known[at[root]], dtypes, root, subject) for root in roots]


def result_dtypes(
    roots: Sequence[Node], dtypes: Mapping[str, np.dtype[Any]], attrs: Mapping[str, Any], subject: str
) -> list[np.dtype[Any]]:
    """Returns the dtypes of expressions of whole numbers, found out with arrays of nothing.

    Raises:
        AttributeValueError, DTypeError: as of `evaluated`.
    """
    empty = {name: np.empty(0, dtype) for name, dtype in dtypes.items()}
    return [made.dtype for made in evaluated(roots, empty, attrs, subject)]


@lru_cache(maxsize=1024)
def _ordered(roots: tuple[Node, ...]) -> tuple[tuple[Node, ...], tuple[tuple[int, ...], ...]]:
    order = topological(roots)
    at = {node: place for place, node in enumerate(order)}
    return tuple(order), tuple(tuple(at[arg] for arg in node.args) for node in order)


def _applied(node: Node, operands: list[Any], subject: str) -> Any:
    """Returns what an operation gives, NumPy's errors told as the op's own."""
    primitive = PRIMITIVES[node.op]
    python = primitive.python
    if python is not None and all(map(is_number, operands)):
        return of_numbers(node.op, operands)
    _check_exponents(node, operands, subject)
    _check_beside(node, operands, subject)
    try:
        return primitive.meaning(np, *operands) if python is None else python(*operands)
    except OverflowError:
        raise _not_held(node, operands, subject) from None
    except TypeError:
        named = next((o.dtype.name for o in operands if hasattr(o, "dtype")), "a number")
        raise DTypeError(
            f"{subject}: {node.op} expected numbers, got {named} in {node!r}; cast the inputs to integers"
        ) from None


def is_number(value: Any) -> bool:
    """Whether a value is a Python number, which has no dtype of its own beside an array."""
    return value.__class__ is int or value.__class__ is float


def _joint(operands: Sequence[Any]) -> np.dtype[Any]:
    """Returns NumPy's result dtype, also of numbers that the other operands do not hold."""
    return np.result_type(*[o.__class__(0) if is_number(o) else o for o in operands])


def of_numbers(op: str, numbers: Sequence[Any]) -> Any:
    """Returns what Python gives, but inf or nan where it raises, and nan where it gives a complex number."""
    primitive = PRIMITIVES[op]
    assert primitive.python is not None
    try:
        made = primitive.python(*numbers)
        return made if made.__class__ is not complex else float("nan")
    except ArithmeticError:
        with np.errstate(all="ignore"):
            return float(primitive.meaning(np, *map(np.float64, numbers)))


def _check_beside(node: Node, operands: Sequence[Any], subject: str) -> None:
    """Checks the numbers between which `where` chooses: NumPy wraps what the dtype does not hold."""
    if node.op == "where":
        dtype = _joint(operands[1:])
        if dtype.kind in "iu" and not all(holds(dtype, o) for o in operands[1:] if is_number(o)):
            raise _not_held(node, operands[1:], subject)


def _check_exponents(node: Node, operands: Sequence[Any], subject: str) -> None:
    if node.op != "pow" or _joint(operands).kind not in "biu":
        return
    exponent = operands[1]
    least = exponent if is_number(exponent) else exponent.min() if exponent.size else 0
    if least < 0:
        raise (AttributeValueError if is_number(exponent) else InputValueError)(
            f"{subject}: exponents expected ≥ 0 beside whole numbers, got {least} in {node!r}; write a float exponent, "
            "or cast the base to a float"
        )


def _not_held(node: Node, operands: Sequence[Any], subject: str) -> AttributeValueError:
    dtype = np.result_type(*[o.dtype for o in operands if hasattr(o, "dtype")])
    numbers = [o for o in operands if o.__class__ is int]
    number = next((o for o in numbers if not holds(dtype, o)), numbers[0] if numbers else None)
    return AttributeValueError(
        f"{subject}: whole numbers expected to be held by {dtype.name}, the dtype of what is beside them, got {number} "
        f"in {node!r}; cast the inputs to a wider dtype, or make a float of the number"
    )


def _as_array(value: Any, dtypes: Sequence[np.dtype[Any]], root: Node, subject: str) -> Any:
    """Returns a result as it is; of a number alone, in the dtype that it takes beside the inputs."""
    if not is_number(value):
        return value
    beside = [np.empty(0, dtype) for dtype in dtypes]
    dtype = _joint([*beside, value])
    if dtype.kind in "iu" and not holds(dtype, value):
        raise _not_held(root, [*beside, value], subject)
    return np.asarray(value, dtype)


# -- what becomes a float ----------------------------------------------------------------------------------------------


def _check_rounding(order: Sequence[Node], places: Sequence[Sequence[int]], known: Sequence[Any], subject: str) -> None:
    """Checks that what is a whole number where it is read is the same number where it becomes a float."""
    seen: set[tuple[int, np.dtype[Any]]] = set()
    for place, args in enumerate(places):
        target = _becomes(order[place], known[place], [known[i] for i in args])
        stack = [i for i in args if order[i].kind == FLOAT] if target is not None else []
        while stack and target is not None:
            at = stack.pop()
            if (at, target) in seen or not _is_whole(known[at]):
                continue
            seen.add((at, target))
            stack.extend(i for i in places[at] if order[i].kind == FLOAT)
            if not places[at]:
                _check_leaf(order[at], known[at], target, subject)


def _check_leaf(node: Node, value: Any, dtype: np.dtype[Any], subject: str) -> None:
    if node.op == "input":
        check_inputs([node.payload], [value], dtype, subject)
    elif node.op == "attr":
        check_whole([node.payload], [value], dtype)
    elif not holds(dtype, int(value)):
        raise rounded_constant(int(value), dtype, subject)


def _becomes(node: Node, value: Any, operands: Sequence[Any]) -> np.dtype[Any] | None:
    """Returns the floating dtype that the operands of an operation are made; None where it makes none."""
    floats = [dtype for dtype in map(_dtype_of, operands) if dtype.kind == "f"]
    if node.kind == FLOAT and node.args:
        floats = [_dtype_of(value)]
    return max(floats, key=lambda dtype: dtype.itemsize, default=None) if floats and floats[0].kind == "f" else None


def _dtype_of(value: Any) -> np.dtype[Any]:
    return value.dtype if hasattr(value, "dtype") else np.dtype(type(value))


def _is_whole(value: Any) -> bool:
    return _dtype_of(value).kind in "biu"
