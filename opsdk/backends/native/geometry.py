"""Geometry: shapes and strides of the operands of a kernel, with as few dimensions as will do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy import ndarray

from opsdk.backends.native.runtime import ffi


@dataclass(frozen=True)
class Geometry:
    """What the strided walk reads besides pointers.

    Args:
        size: number of elements of the broadcast shape.
        sizes: the array that `strided_source` describes (Any: cffi has no types).
    """

    size: int
    sizes: Any


def geometry_of(entry: int, shape: tuple[int, ...], operands: Sequence[ndarray], inputs: int) -> Geometry:
    """Returns the geometry of arrays that broadcast to a shape, inputs first, for the entry at an address."""
    strides = [_broadcast_strides(array, shape) for array in operands]
    dims, steps = collapsed(shape, strides)
    items = [array.itemsize for array in operands]
    dense = [int(own == _row_major(dims, item)) for own, item in zip(steps, items, strict=True)]
    flat = [entry, len(operands), inputs, len(dims), *dims, *items, *[s for own in steps for s in own], *dense]
    size = 1
    for dim in shape:
        size *= dim
    return Geometry(size, ffi().new("int64_t[]", flat))


def collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Returns the same walk with neighbouring dimensions joined, where every operand steps through them as one."""
    dims: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, dim in enumerate(shape):
        if dim == 1:
            continue
        here = [own[axis] for own in strides]
        if dims and all(own[-1] == step * dim for own, step in zip(steps, here, strict=True)):
            dims[-1] *= dim
            for own, step in zip(steps, here, strict=True):
                own[-1] = step
        else:
            dims.append(dim)
            for own, step in zip(steps, here, strict=True):
                own.append(step)
    return (dims, steps) if dims else ([1], [[0] for _ in strides])


def _broadcast_strides(array: ndarray, shape: tuple[int, ...]) -> list[int]:
    lead = len(shape) - array.ndim
    own = zip(array.shape, array.strides, shape[lead:], strict=True)
    return [0] * lead + [0 if size == 1 and dim != 1 else step for size, step, dim in own]


def _row_major(dims: Sequence[int], item: int) -> list[int]:
    steps: list[int] = []
    for dim in reversed(dims):
        steps.insert(0, item)
        item *= dim
    return steps
