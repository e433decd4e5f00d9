"""Elements by place: where they are, and taken from or put into places that masks and positions tell.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.define.infer import normalize_axes
from opsdk.ops import elementwise, joining, reduction
from opsdk.ops import shape as moving
from opsdk.ops.composites.arranging import broadcast_tensors, ravel
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elements import finding
from opsdk.ops.elements.index_put import index_put_
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.elements.indexing import index as index_by
from opsdk.ops.lines.along_axis import scatter_add

# Any, in this file: arrays, tensors or Program variables, and the same out.


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Returns x where the condition holds, y elsewhere; of a condition alone the positions where it does, by axis.

    Gradient: with respect to x and y, 0 where the value was not taken. What computed that value meets this 0: times an
    infinite derivative, as that of `log` at 0 in `where(x > 0, log(x), y)`, it is nan, as in PyTorch and JAX. Keep what
    is not taken finite, `log(where(x > 0, x, 1.0))`, or write the choice and the logarithm as one expression with
    `vmath.where`, where the branch not taken reaches no derivative.

    Raises:
        AttributeValueError: one of x and y is missing.
    """
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise AttributeValueError("where: expected both x and y, or neither")
    return joining.where(condition, x, y)


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """Returns the positions of the elements other than 0, a row each; as a tuple of columns. Not differentiable."""
    rows = finding.nonzero(moving.as_value(x))
    if not as_tuple:
        return rows
    return tuple(getitem(rows, index=encode_index((slice(None), i))[0]) for i in range(len(x.shape)))


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    sorted: bool = True,
) -> Any:
    """Returns the distinct elements in order, or slices along an axis; the first of equal ones gets the gradient.

    Args:
        x: of any dtype.
        return_index: whether their first positions are given too.
        return_inverse: whether it is given which of them each element is.
        return_counts: whether it is given how often each occurs.
        axis: of the slices; elements unless given.
        sorted: without meaning: they are in order always.
    """
    return _distinct(x, axis, False, return_index, return_inverse, return_counts)


def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> Any:
    """Returns the elements, or slices along an axis, but those equal to the one before."""
    return _distinct(x, axis, True, False, return_inverse, return_counts)


def _distinct(x: Any, axis: int | None, neighbours: bool, *wanted: bool) -> Any:
    x = moving.as_value(x)
    others = list(finding.unique(x, axis=axis, neighbours=neighbours))
    out = joining.gather(ravel(x) if axis is None else x, others[0], axis=axis or 0)
    if axis is None and len(x.shape) != 1 and wanted[1]:
        others[1] = moving.reshape_like(others[1], x)
    given = [each for each, is_wanted in zip(others, wanted, strict=True) if is_wanted]
    return (out, *given) if given else out


def searchsorted(sorted_sequence: Any, values: Any, out_int32: bool = False, right: bool = False) -> Any:
    """Returns positions in a sorted line before which values belong, behind equal ones with `right`."""
    made = finding.searchsorted(sorted_sequence, values, right=right)
    return moving.cast(made, dtype=np.dtype("int32")) if out_int32 else made


def bucketize(x: Any, sorted_sequence: Any, out_int32: bool = False, right: bool = False) -> Any:
    """Returns positions of x in a sorted vector: `searchsorted` with its arguments the other way round."""
    return searchsorted(sorted_sequence, x, out_int32, right)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Returns how often each whole number from 0 on is in x, or the sums of the weights of each."""
    return finding.bincount(x, weights, minlength=minlength)


def histogram(
    input: Any, bins: int = 100, min: float = 0, max: float = 0, weight: Any = None, density: bool = False
) -> Any:
    """Returns how many elements fall into each of so many parts of [min, max]. Not differentiable.

    Args:
        input: real numbers.
        bins: how many parts.
        min: the least number that counts; with `max` also 0 that of the input.
        max: the greatest.
        weight: how much each element counts.
        density: whether the numbers are scaled to an area of 1.
    """
    flat, weight = ravel(input), None if weight is None else ravel(weight)
    return finding.histogram(flat, weight, bins=bins, min=min, max=max, density=density)


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Returns `histogram`, in the dtype of the input."""
    x = moving.as_value(input)
    return moving.cast(histogram(x, bins, min, max), dtype=x.dtype)


def isin(x: Any, test_x: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Returns True where x is one of the values, or with `invert` where it is none. Not differentiable."""
    return finding.isin(x, test_x, invert=invert)


# -- by masks ---------------------------------------------------------------------------------------------------------


def _mask(mask: Any, subject: str) -> Any:
    mask = moving.as_value(mask)
    if mask.dtype.kind != "b":
        raise DTypeError(f"{subject}: mask expected bools, got {mask.dtype}; cast it")
    return mask


def masked_select(x: Any, mask: Any) -> Any:
    """Returns the elements of x where a mask of bools is True, which broadcasts with it, as a vector."""
    x, mask = broadcast_tensors(moving.as_value(x), _mask(mask, "masked_select"))
    x, mask = (moving.unsqueeze(each, axis=[0]) if not each.shape else each for each in (x, mask))
    return index_by(x, [mask], index=encode_index(mask)[0])


def masked_scatter(x: Any, mask: Any, value: Any) -> Any:
    """Returns x with the elements of a value, in their order, where a mask of bools is True; x stays as it is."""
    x, mask = broadcast_tensors(moving.as_value(x), _mask(mask, "masked_scatter"))
    flat = ravel(mask)
    places = elementwise.scale(reduction.cumsum(flat, axis=0), bias=-1.0)
    places = joining.where(flat, places, fill_any_like(places))
    code, arrays = encode_index(places)
    taken = index_by(ravel(value), arrays, index=code)
    return joining.where(mask, moving.reshape_like(taken, x), x)


# -- by positions -----------------------------------------------------------------------------------------------------


def index_put(x: Any, indices: Sequence[Any], value: Any, accumulate: bool = False) -> Any:
    """Returns x with values in the places that a tuple of positions tells, or added there; x stays as it is."""
    x, index = moving.as_value(x), tuple(indices)
    code, arrays = encode_index(index)
    value = _in_dtype(value, x)
    if not accumulate:
        return index_put_(moving.assign(x), arrays, value, index=code)
    numbers = moving.reshape(np.arange(int(np.prod(x.shape))), shape=list(x.shape))
    places = index_by(numbers, arrays, index=code)
    values = ravel(joining.where(np.asarray(True), value, moving.cast(fill_any_like(places), dtype=x.dtype)))
    return moving.reshape(scatter_add(ravel(x), ravel(places), values, axis=0), shape=list(x.shape))


def index_fill(x: Any, index: Any, axis: int, value: float) -> Any:
    """Returns x with one number in the slices at positions along an axis; x stays as it is."""
    return _into_slices(x, index, axis, value, "index_fill")


def index_copy(x: Any, index: Any, axis: int, value: Any) -> Any:
    """Returns x with other slices at positions along an axis; x stays as it is."""
    return _into_slices(x, index, axis, value, "index_copy")


def _into_slices(x: Any, index: Any, axis: int, value: Any, subject: str) -> Any:
    x = moving.as_value(x)
    at = normalize_axes([axis], len(x.shape), subject)[0]
    index = moving.as_value(index)
    return index_put(x, (*[slice(None)] * at, index if len(index.shape) else moving.unsqueeze(index, axis=[0])), value)


def _in_dtype(value: Any, x: Any) -> Any:
    value = moving.as_value(value)
    return value if value.dtype == x.dtype else moving.cast(value, dtype=x.dtype)


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
