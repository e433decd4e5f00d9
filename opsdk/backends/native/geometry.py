"""Geometry: shapes and strides of the operands of a kernel, with as few dimensions as will do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.backends.native.runtime import ffi


def geometry_of(
    entry: int, shape: tuple[int, ...], operands: Sequence[ndarray], inputs: int
) -> tuple[int, Any]:  # Any: cffi has no types
    """Returns what the strided walk of arrays that broadcast to a shape reads besides pointers, inputs first.

    Args:
        entry: the address of the kernel's entry.
        shape: what all broadcast to.
        operands: inputs and results.
        inputs: how many of them are inputs.

    Returns:
        The number of elements of the shape, and the array that `strided_source` describes.
    """
    strides = [np.broadcast_to(array, shape).strides for array in operands]
    dims, steps = collapsed(shape, strides)
    items = [array.itemsize for array in operands]
    after = [math.prod(dims[axis + 1 :]) for axis in range(len(dims))]
    dense = [int(own == [item * count for count in after]) for own, item in zip(steps, items, strict=True)]
    flat = [entry, len(operands), inputs, len(dims), *dims, *items, *[s for own in steps for s in own], *dense]
    return math.prod(shape), ffi().new("int64_t[]", flat)


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
