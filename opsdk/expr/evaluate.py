"""Evaluation of expressions with any array module: NumPy as the reference, CuPy, jax.numpy and the like for bridges.

Whole numbers are computed by an expression as it is written, as NumPy computes it for arrays of integers and bools:
nothing is promoted beforehand, and a number is what its author wrote: an int or a float, which has no dtype of its own
beside an array (NEP 50), or a NumPy scalar, which has. What NumPy would wrap or round in silence is refused. What it
makes float64 on the way, for want of a dtype with a fraction, is rounded once, at the end, to what dtypes promote to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.dtype import as_floating, promote_types
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError
from opsdk.expr.exact import check_inputs, check_whole, holds, rounded_constant
from opsdk.expr.node import FLOAT, Node, topological
from opsdk.expr.primitives.entry import Primitive, meant_by
from opsdk.expr.primitives.table import PRIMITIVES


# Any: the array module, its arrays and dtypes.
def evaluate(
    roots: Sequence[Node],
    values: Mapping[str, Any],
    xp: Any,
    dtype: Any = None,
    meanings: Mapping[str, Primitive] = PRIMITIVES,
) -> list[Any]:
    """Returns the values of expressions.

    Args:
        roots: what to compute.
        values: by name of an input or attribute its value, arrays that broadcast, or numbers; of a symbol that is
            neither, such as `row_index()`, by that text, which is no name.
        xp: the array module to compute with.
        dtype: of the arrays, where they agree in one.
        meanings: the operations by name.

    Numbers take part as weak scalars, so that the dtype of the result is the arrays'; among themselves they are
    computed with in that dtype. What whole numbers give is `evaluate_whole`.
    """
    order = _order(tuple(roots))
    functions = [meant_by(meanings[op].meaning, xp) for op in order.ops]
    known = order.constants.copy()
    for place, name in order.leaves:
        known[place] = values[name]
    for place, op, args, numbers, single, taken in order.calls:
        # the first is mostly an array, so that it is asked by itself
        if (
            numbers
            and dtype is not None
            and isinstance(known[numbers[0]], (int, float))
            and all(isinstance(known[i], (int, float)) for i in numbers)
        ):  # what NumPy makes of numbers alone is float64, and no longer weak
            operands = [xp.asarray(known[i], dtype=dtype) if i in numbers else known[i] for i in args]
            known[place] = functions[op](*operands)
        elif single:
            known[place] = functions[op](taken(known))
        else:
            known[place] = functions[op](*taken(known))
    return [known[i] for i in order.wanted]


class _Call(NamedTuple):
    """One operation: its place and that of its function, its operands, those that are numbers, and what takes them."""

    place: int
    op: int
    args: tuple[int, ...]
    numbers: tuple[int, ...]
    single: bool
    taken: itemgetter[Any]  # Any: arrays and numbers; of one operand itself, of several a tuple


class _Order(NamedTuple):
    """What to compute, laid out for doing so many times: operations by their names, constants in their places."""

    ops: tuple[str, ...]
    constants: list[Any]  # Any: numbers and bools; None elsewhere
    leaves: tuple[tuple[int, Any], ...]  # Any: what names an input or attribute
    calls: tuple[_Call, ...]
    wanted: tuple[int, ...]


@lru_cache(maxsize=1024)
def _order(roots: tuple[Node, ...]) -> _Order:
    steps, wanted = _steps(roots)
    ops = tuple(dict.fromkeys(step.node.op for step in steps if step.args))
    constants: list[Any] = [None] * len(steps)
    leaves, calls = [], []
    for place, (node, args, numbers) in enumerate(steps):
        if args:
            kept = tuple(args[i] for i in numbers)
            calls.append(_Call(place, ops.index(node.op), args, kept, len(args) == 1, itemgetter(*args)))
        elif node.op == "constant":
            constants[place] = node.payload if isinstance(node.payload, bool) else float(node.payload)
        else:
            leaves.append((place, node.payload or f"{node.op}()"))
    return _Order(ops, constants, tuple(leaves), tuple(calls), wanted)


class _Step(NamedTuple):
    """One node, the places of its operands among what is known, and which of these are numbers."""

    node: Node
    args: tuple[int, ...]
    numbers: tuple[int, ...]


@lru_cache(maxsize=1024)
def _steps(roots: tuple[Node, ...]) -> tuple[tuple[_Step, ...], tuple[int, ...]]:
    """Returns what has to be computed, in order, and where the roots are; the same is evaluated again and again."""
    order = topological(roots)
    places = {node: place for place, node in enumerate(order)}
    steps = []
    for node in order:
        numbers = tuple(i for i, arg in enumerate(node.args) if arg.kind == FLOAT)
        steps.append(_Step(node, tuple(places[arg] for arg in node.args), numbers))
    return tuple(steps), tuple(places[root] for root in roots)


# Any, from here on: arrays of any module, NumPy scalars, and Python's numbers.


def evaluate_whole(
    roots: Sequence[Node], arrays: Mapping[str, Any], attrs: Mapping[str, Any], subject: str
) -> list[Any]:
    """Returns the values of expressions of whole numbers: arrays, of the dtypes that their operands promote to.

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
    steps, wanted = _steps(tuple(roots))
    known: list[Any] = []
    promoted: list[np.dtype[Any] | None] = []  # None of a number, which has no dtype of its own
    with np.errstate(all="ignore"):  # inf and nan are values of the function, not accidents
        for node, args, _ in steps:
            if node.args:
                known.append(_applied(node, [known[i] for i in args], subject))
            elif node.op == "constant":
                known.append(node.payload)
            else:
                known.append((arrays if node.op == "input" else attrs)[node.payload])
            promoted.append(_promoted(known[-1], [promoted[i] for i in args]))
        _check_rounding(steps, known, subject)
        dtypes = [array.dtype for array in arrays.values()]
        made = [_as_array(known[at], dtypes, root, subject) for at, root in zip(wanted, roots, strict=True)]
        return [each.astype(promoted[at] or each.dtype, copy=False) for each, at in zip(made, wanted, strict=True)]


def _promoted(value: Any, operands: Sequence[np.dtype[Any] | None]) -> np.dtype[Any] | None:
    """Returns the dtype of what was computed of operands of some dtypes; of a leaf its own."""
    dtypes = [dtype for dtype in operands if dtype is not None]
    dtype: np.dtype[Any] | None = getattr(value, "dtype", None)
    is_own = dtype is None or dtype.kind in "biu" or not dtypes
    return dtype if is_own else as_floating(promote_types(*dtypes))


def _applied(node: Node, operands: list[Any], subject: str) -> Any:
    """Returns what an operation gives, NumPy's errors told as the op's own."""
    primitive = PRIMITIVES[node.op]
    python = primitive.python
    if python is not None and all(map(is_number, operands)):
        return of_numbers(node.op, operands)
    _check_exponents(node, operands, subject)
    if node.op == "where":  # NumPy wraps numbers to choose between that the dtype does not hold
        dtype = _joint(operands[1:])
        if dtype.kind in "iu" and not all(holds(dtype, o) for o in operands[1:] if is_number(o)):
            raise _not_held(node, operands[1:], subject)
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
    dtype = _joint([*beside, value]) if value.__class__ is int else as_floating(promote_types(*dtypes))
    if dtype.kind in "iu" and not holds(dtype, value):
        raise _not_held(root, [*beside, value], subject)
    return np.asarray(value, dtype)


# -- what becomes a float ----------------------------------------------------------------------------------------------


def _check_rounding(steps: Sequence[_Step], known: Sequence[Any], subject: str) -> None:
    """Checks that what is a whole number where it is read is the same number where it becomes a float."""
    seen: set[tuple[int, np.dtype[Any]]] = set()
    for place, (node, args, _) in enumerate(steps):
        target = _becomes(node, known[place], [known[i] for i in args])
        stack = [i for i in args if steps[i].node.kind == FLOAT] if target is not None else []
        while stack and target is not None:
            at = stack.pop()
            if (at, target) in seen or not _is_whole(known[at]):
                continue
            seen.add((at, target))
            stack.extend(i for i in steps[at].args if steps[i].node.kind == FLOAT)
            if not steps[at].args:
                _check_leaf(steps[at].node, known[at], target, subject)


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
