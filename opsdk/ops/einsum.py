"""einsum: sums of products by letters, made of transposes, sums and matrix products, so for every runtime and order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from opsdk.core.errors import ArityError, AttributeValueError, ShapeError
from opsdk.core.spec import OpenSize
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.matmul import matmul
from opsdk.ops.reduction import reduce_sum
from opsdk.ops.shape import flatten, reshaped, squeeze, transpose

_Labels = list[str]  # of the axes of an operand: letters, and a number for each axis of an ellipsis


# Any, in this file: arrays, tensors or Program variables, and the same out.
def einsum(equation: str, *operands: Any) -> Any:
    """Returns sums of products over axes that are named by letters, as `numpy.einsum` does (Einstein's convention).

    A letter that stands in several operands is one size; one that the result does not name is summed over, and one that
    an operand has twice is its diagonal. `...` stands for all other axes, which broadcast. Operands are multiplied one
    after another, from the left.

    Args:
        equation: `ij,jk->ik`; without an arrow the result has the letters that stand once, as the alphabet has them.
        operands: of numeric dtypes, one for each part of the equation; or one list of them.

    Returns:
        Of the common dtype. Differentiable in all, to any order.

    Raises:
        AttributeValueError: the equation cannot be read, or names a letter of the result that no operand has.
        ArityError: another number of operands.
        ShapeError: an operand has another number of axes, or a letter is two sizes.

    Example:
        >>> import numpy as np
        >>> einsum("ij,j->i", np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
        array([21., 43.])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    parts, result = _read(equation, [len(x.shape) for x in operands])
    terms = [_diagonals(x, labels) for x, labels in zip(operands, parts, strict=True)]
    terms = _fitted(terms, equation)
    value, labels = terms[0]
    for number, (other, its) in enumerate(terms[1:], 2):
        wanted = {*result, *[label for _, later in terms[number:] for label in later]}
        value, labels = _product(value, labels, other, its, wanted)
    value, labels = _summed(value, labels, set(result))
    order = [labels.index(label) for label in result]
    return value if order == list(range(len(order))) else transpose(value, perm=order)


def _read(equation: Any, axes: Sequence[int]) -> tuple[list[_Labels], _Labels]:
    """Returns the labels of each operand, and of the result."""
    text = equation.replace(" ", "") if isinstance(equation, str) else ""
    if not re.fullmatch(r"(?:[A-Za-z.,])*(?:->[A-Za-z.]*)?", text) or not text:
        raise AttributeValueError(f"einsum: equation expected letters as in 'ij,jk->ik', got {equation!r}")
    left, arrow, right = text.partition("->")
    written = left.split(",")
    if len(written) != len(axes):
        raise ArityError(f"einsum: expected {len(written)} operands for {equation!r}, got {len(axes)}")
    parts = [_labels(part, count, equation) for part, count in zip(written, axes, strict=True)]
    others = sorted({label for part in parts for label in part if label.isdigit()}, key=int, reverse=True)
    if arrow:
        result = _labels(right, len(right.replace("...", "")) + (len(others) if "..." in right else 0), equation)
    else:
        every = [label for part in parts for label in part]
        result = [*others, *sorted(label for label in set(every) if every.count(label) == 1 and not label.isdigit())]
    known = {label for part in parts for label in part}
    if len(set(result)) < len(result) or not known.issuperset(result):
        raise AttributeValueError(f"einsum: result expected letters of the operands, each once, got {equation!r}")
    return parts, result


def _labels(part: str, axes: int, equation: str) -> _Labels:
    """Returns a label for each of the axes: those of an ellipsis are numbered from the last one, 0."""
    before, dots, after = part.partition("...")
    more = axes - len(before) - len(after)
    if "." in before + after or more < 0 or (more and not dots):
        raise ShapeError(f"einsum: {part!r} of {equation!r} expected {len(before + after)} axes, got {axes}")
    return [*before, *map(str, reversed(range(more))), *after]


def _diagonals(x: Any, labels: _Labels) -> tuple[Any, _Labels]:
    """Returns an operand with each label once."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            size = x.shape[first]
            if size != x.shape[second]:
                raise ShapeError(f"einsum: {label!r} expected one size, got {size} and {x.shape[second]}")
            rest = [i for i in range(len(labels)) if i not in (first, second)]
            lines = flatten(transpose(x, perm=[*rest, first, second]), start_axis=len(rest))
            x = getitem(lines, index=encode_index((..., slice(None, None, int(size) + 1)))[0])
            labels = [*[labels[i] for i in rest], label]
    return x, labels


def _fitted(terms: list[tuple[Any, _Labels]], equation: str) -> list[tuple[Any, _Labels]]:
    """Returns operands without the axes of size 1 that broadcast, and holds each label to one size."""
    sizes: dict[str, Any] = {}
    for x, labels in terms:
        for label, size in zip(labels, x.shape, strict=True):
            have = sizes.setdefault(label, size)
            is_open = isinstance(size, OpenSize) or isinstance(have, OpenSize)
            if not is_open and size != have and 1 not in (size, have):
                raise ShapeError(f"einsum: {label!r} of {equation!r} expected one size, got {have} and {size}")
            if not is_open:
                sizes[label] = max(size, have)
    made = []
    for x, labels in terms:
        alone = [i for i, label in enumerate(labels) if _is_one(x.shape[i]) and not _is_one(sizes[label])]
        kept = [label for i, label in enumerate(labels) if i not in alone]
        made.append((squeeze(x, axis=alone) if alone else x, kept))
    return made


def _is_one(size: Any) -> bool:
    return not isinstance(size, OpenSize) and bool(size == 1)


def _summed(x: Any, labels: _Labels, wanted: set[str]) -> tuple[Any, _Labels]:
    axes = [i for i, label in enumerate(labels) if label not in wanted]
    kept = [label for label in labels if label in wanted]
    return (reduce_sum(x, axis=axes, keepdim=False), kept) if axes else (x, labels)


def _product(x: Any, labels: _Labels, y: Any, others: _Labels, wanted: set[str]) -> tuple[Any, _Labels]:
    """Returns the product of two operands, summed over what nobody wants any more."""
    x, labels = _summed(x, labels, wanted | set(others))
    y, others = _summed(y, others, wanted | set(labels))
    both = [label for label in labels if label in others]
    batch = [label for label in both if label in wanted]
    inner = [label for label in both if label not in wanted]
    rows = [label for label in labels if label not in both]
    columns = [label for label in others if label not in both]
    sizes = {**dict(zip(others, y.shape, strict=True)), **dict(zip(labels, x.shape, strict=True))}
    left = _grouped(x, labels, (batch, rows, inner))
    right = _grouped(y, others, (batch, inner, columns))
    made, final = matmul(left, right), [*batch, *rows, *columns]
    if len(batch) == len(rows) == len(columns) == 1:
        return made, final
    return reshaped(made, [-1 if isinstance(sizes[label], OpenSize) else sizes[label] for label in final]), final


def _grouped(x: Any, labels: _Labels, groups: tuple[_Labels, ...]) -> Any:
    """Returns an operand with three axes, one for each group of labels."""
    order = [labels.index(label) for group in groups for label in group]
    if order != list(range(len(order))):
        x = transpose(x, perm=order)
    if all(len(group) == 1 for group in groups):
        return x
    shape = [[x.shape[i] for i in range(len(x.shape))][slice(*ends)] for ends in _ends(groups)]
    opened = [[size for size in part if isinstance(size, OpenSize)] for part in shape]
    return reshaped(x, [-1 if o else _count(part) for part, o in zip(shape, opened, strict=True)])


def _ends(groups: tuple[_Labels, ...]) -> list[tuple[int, int]]:
    counts = [len(group) for group in groups]
    return [(sum(counts[:i]), sum(counts[: i + 1])) for i in range(len(counts))]


def _count(sizes: Sequence[int]) -> int:
    made = 1
    for size in sizes:
        made *= int(size)
    return made
