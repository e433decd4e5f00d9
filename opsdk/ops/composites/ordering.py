"""Elements in order: sorted, and those at a place in the order of their line.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise.
"""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import ShapeError
from opsdk.core.spec import OpenSize
from opsdk.define.infer import normalize_axes
from opsdk.ops import shape as moving
from opsdk.ops.composites.found import Found
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.lines import running, sorting
from opsdk.ops.lines.along_axis import take_along_axis

# Any, in this file: arrays, tensors or Program variables, and the same out.


def sort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Returns the elements along an axis in order; equal ones stay in theirs, nan is the greatest. Differentiable."""
    return _ordered(sorting.sort, x, axis, descending)


def argsort(x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Returns the positions of the elements along an axis in order; equal ones stay in theirs. Not differentiable."""
    return _ordered(sorting.argsort, x, axis, descending)


def _ordered(op: Any, x: Any, axis: int, descending: bool) -> Any:
    x = moving.as_value(x)
    if len(x.shape):
        return op(x, axis=axis, descending=descending)
    return moving.reshape(op(moving.reshape(x, shape=[1]), axis=axis, descending=descending), shape=[])


def topk(x: Any, k: int, axis: int | None = None, largest: bool = True, sorted: bool = True) -> Found:
    """Returns the k greatest elements along an axis, or the least, and their positions; differentiable.

    They are in order, also where that is not asked for. The axis is the last unless given; of equal ones the first
    counts.

    Raises:
        ShapeError: the axis has fewer than k elements.
    """
    x = moving.as_value(x)
    at = normalize_axes([-1 if axis is None else axis], len(x.shape), "topk")[0]
    have = x.shape[at]
    if k < 0 or (not isinstance(have, OpenSize) and k > have):
        raise ShapeError(f"topk: k expected in [0, {have}], got {k}")
    order = argsort(x, at, largest)
    return at_places(x, getitem(order, index=encode_index((*[slice(None)] * at, slice(k)))[0]), at)


def kthvalue(x: Any, k: int, axis: int | None = None, keepdim: bool = False) -> Found:
    """Returns the kth least element along an axis, the last unless given, counted from 1, and its position.

    Raises:
        ShapeError: the axis has fewer elements.
    """
    x = moving.as_value(x)
    at = normalize_axes([-1 if axis is None else axis], len(x.shape), "kthvalue")[0]
    size = moving.known_size(x, at, "kthvalue")
    if not 1 <= k <= size:
        raise ShapeError(f"kthvalue: k expected in [1, {size}], got {k}")
    order = sorting.argsort(x, axis=at, descending=False)
    return at_places(x, getitem(order, index=encode_index((*[slice(None)] * at, slice(k - 1, k)))[0]), at, keepdim)


def mode(x: Any, axis: int = -1, keepdim: bool = False) -> Found:
    """Returns the most frequent element along an axis, of several the least, and its last position."""
    x = moving.as_value(x)
    return at_places(x, running.mode_place(x, axis=axis), axis, keepdim)


def at_places(x: Any, places: Any, axis: int, keepdim: bool = True) -> Found:
    """Returns the elements at positions along an axis, and these."""
    made = Found(take_along_axis(x, places, axis=axis), places)
    return made if keepdim else Found(*(moving.squeeze(each, axis=[axis]) for each in made))


__all__ = ["argsort", "kthvalue", "mode", "sort", "topk"]
