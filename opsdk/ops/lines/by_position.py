"""Slices and elements by positions that are tensors: index_select, index_sample, gather_nd and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.core.fit import as_numbers
from opsdk.define.infer import normalize_axes
from opsdk.ops.elements.index_put import index_put_
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.elements.indexing import index as index_by
from opsdk.ops.joining import gather
from opsdk.ops.lines.along_axis import scatter_add, take_along_axis
from opsdk.ops.shape import assign, unsqueeze

_PLACES = np.zeros(1, np.int64)  # stands for positions where an index is encoded


# Any, in this file: arrays, tensors or Program variables, and the same out.
def _value(x: Any) -> Any:
    return x if hasattr(x, "shape") else as_numbers(x, "opsdk")


def index_select(x: Any, index: Any, axis: int = 0) -> Any:
    """Returns slices of x along an axis, at integer positions in [0, size), with one axis. Differentiable in x.

    Raises:
        ShapeError: the positions have another number of axes, or lie outside.
    """
    index = _value(index)
    if len(index.shape) != 1:
        raise ShapeError(f"index_select: index expected one axis, got shape {tuple(index.shape)}; gather takes more")
    return gather(x, index, axis=axis)


def index_sample(x: Any, index: Any) -> Any:
    """Returns of each row of x, (N, M), the elements at the positions in that row of the index, (N, K). Differentiable.

    Raises:
        ShapeError: x or the index has another number of axes.
    """
    x, index = _value(x), _value(index)
    if len(x.shape) != 2 or len(index.shape) != 2:
        raise ShapeError(
            f"index_sample: x and index expected two axes, got shapes {tuple(x.shape)} and {tuple(index.shape)}"
        )
    return take_along_axis(x, index, axis=1)


def gather_nd(x: Any, index: Any) -> Any:
    """Returns the elements or slices of x at positions that the last axis of the index lists. Differentiable in x.

    Args:
        x: of any dtype.
        index: integers of shape (…, k), k up to the axes of x; negative ones count from the end.

    Returns:
        Of shape (…, *x.shape[k:]).

    Raises:
        ShapeError: k is more than the axes of x.
        IndexError: a position lies outside.
    """
    x, places = _value(x), _value(index)
    last = int(places.shape[-1]) if len(places.shape) else 0
    if not 1 <= last <= len(x.shape):
        raise ShapeError(
            f"gather_nd: the last axis of index expected 1 to {len(x.shape)} positions, for x of shape "
            f"{tuple(x.shape)}, got shape {tuple(places.shape)}"
        )
    columns = [getitem(places, index=encode_index((..., i))[0]) for i in range(last)]
    return index_by(x, columns, index=encode_index((_PLACES,) * last)[0])


def scatter(x: Any, index: Any, updates: Any, overwrite: bool = True) -> Any:
    """Returns x with the slices at integer positions replaced, as Paddle's `scatter` does; x stays as it is.

    PyTorch's takes an axis, and elements along it: `put_along_axis`.

    Args:
        x: of any dtype.
        index: positions along the first axis, with one axis.
        updates: a slice for each position.
        overwrite: of several slices for one position the last one stays; False: their sum.

    Returns:
        Of the shape of x. Differentiable in x and the updates, to any order.

    Raises:
        ShapeError: the index has another number of axes, or the updates do not fit.
        IndexError: a position lies outside.
        AttributeValueError: `overwrite` is no bool.
    """
    x, places, updates = _value(x), _value(index), _value(updates)
    if not isinstance(overwrite, (bool, np.bool_)):
        raise AttributeValueError(f"scatter: overwrite expected True or False, got {overwrite!r}")
    if len(places.shape) != 1:
        raise ShapeError(f"scatter: index expected one axis, got shape {tuple(places.shape)}")
    code = encode_index(_PLACES)[0]
    if overwrite:
        return index_put_(assign(x), [places], updates, index=code)
    cleared = index_put_(assign(x), [places], np.zeros((1,) * len(x.shape), x.dtype), index=code)
    lines = unsqueeze(places, axis=list(range(1, len(x.shape)))) if len(x.shape) > 1 else places
    return scatter_add(cleared, lines, updates, axis=normalize_axes([0], len(x.shape), "scatter")[0])


def index_add(x: Any, index: Any, axis: int, value: Any, alpha: float = 1) -> Any:
    """Returns x with slices added at integer positions along an axis, as `np.add.at` adds them. Differentiable in both.

    Args:
        x: of any numeric dtype.
        index: positions along the axis, with one axis.
        axis: of x and of the slices.
        value: the slices; sizes of 1 broadcast.
        alpha: a factor on them.

    Raises:
        ShapeError: the index has another number of axes.
        DTypeError: the axis is none, as where the slices stand in its place.
    """
    x, index = _value(x), _value(index)
    if not isinstance(axis, (int, np.integer)):
        raise DTypeError(
            f"index_add: axis expected a whole number, got {type(axis).__name__}; the order is x, index, axis, value"
        )
    if len(index.shape) != 1:
        raise ShapeError(f"index_add: index expected one axis, got shape {tuple(index.shape)}; scatter_add takes more")
    at = normalize_axes([axis], len(x.shape), "index_add")[0]
    lines = unsqueeze(index, axis=[i for i in range(len(x.shape)) if i != at])
    return scatter_add(x, lines, value if alpha == 1 else _value(value) * alpha, axis=at)
