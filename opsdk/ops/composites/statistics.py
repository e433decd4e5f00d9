"""Statistics over axes: medians and quantiles, with and without nan, counts, differences and areas.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import as_floating, computed_in, is_differentiable
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.define.infer import normalize_axes
from opsdk.ops import composed, elementary, elementwise, joining, logical, reduction
from opsdk.ops import shape as moving
from opsdk.ops.complex import conj
from opsdk.ops.composites.found import Extremes, Found
from opsdk.ops.composites.ordering import at_places
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.lines import moments, running, sorting
from opsdk.ops.lines.along_axis import take_along_axis
from opsdk.ops.matmul import matmul

# Any, in this file: arrays, tensors or Program variables, and the same out.
_Axis = int | Sequence[int] | None
_HOWS = "linear", "lower", "higher", "midpoint", "nearest"


def amax(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns the greatest element over axes; ties share the gradient."""
    return reduction.reduce_max(x, axis=moving.as_axes(axis), keepdim=keepdim)


def amin(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns the least element over axes; ties share the gradient."""
    return reduction.reduce_min(x, axis=moving.as_axes(axis), keepdim=keepdim)


def aminmax(x: Any, axis: _Axis = None, keepdim: bool = False) -> Extremes:
    """Returns the least and the greatest element over axes; ties share the gradient."""
    return Extremes(amin(x, axis, keepdim), amax(x, axis, keepdim))


def std_mean(
    x: Any, axis: _Axis = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Any, Any]:
    """Returns the standard deviation and the mean over axes."""
    mean = reduction.reduce_mean(x, axis=moving.as_axes(axis), keepdim=keepdim)
    return moments.std(x, axis, unbiased, keepdim, correction=correction), mean


def var_mean(
    x: Any, axis: _Axis = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Any, Any]:
    """Returns the variance and the mean over axes."""
    mean = reduction.reduce_mean(x, axis=moving.as_axes(axis), keepdim=keepdim)
    return moments.var(x, axis, unbiased, keepdim, correction=correction), mean


def count_nonzero(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns how many elements over axes are other than 0, as int64. Not differentiable."""
    return reduction.reduce_sum(logical.not_equal(x, 0), axis=moving.as_axes(axis), keepdim=keepdim)


def nansum(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns the sum over axes of the elements that are not nan."""
    return reduction.reduce_sum(_without_nan(x), axis=moving.as_axes(axis), keepdim=keepdim)


def nanmean(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns the mean over axes of the elements that are not nan; nan where all are."""
    x = moving.as_value(x)
    wide = computed_in(x.dtype) if is_differentiable(x.dtype) else np.dtype("float64")
    held = moving.cast(logical.logical_not(logical.isnan(x)), dtype=wide)
    count = reduction.reduce_sum(held, axis=moving.as_axes(axis), keepdim=keepdim)
    made = elementwise.elementwise_div(nansum(moving.cast(x, dtype=wide), axis, keepdim), count)
    return moving.cast(made, dtype=as_floating(x.dtype))


def _without_nan(x: Any) -> Any:
    x = moving.as_value(x)
    return joining.where(logical.isnan(x), fill_any_like(x), x) if is_differentiable(x.dtype) else x


# -- by order ---------------------------------------------------------------------------------------------------------


def median(x: Any, axis: int | None = None, keepdim: bool = False, mode: str = "avg") -> Any:
    """Returns the middle element over an axis, all axes unless given; nan where one is.

    Args:
        x: numbers.
        axis: of the elements.
        keepdim: whether the axis stays, with size 1.
        mode: what an even number of elements gives: "avg" the mean of the two in the middle, "min" the lesser, and with
            an axis its position too, as PyTorch has it.

    Raises:
        AttributeValueError: another mode.
    """
    return _median(x, axis, keepdim, mode, skips=False)


def nanmedian(x: Any, axis: int | None = None, keepdim: bool = False, mode: str = "avg") -> Any:
    """Returns the middle one of the elements that are not nan; otherwise as `median`."""
    return _median(x, axis, keepdim, mode, skips=True)


def _median(x: Any, axis: int | None, keepdim: bool, mode: str, skips: bool) -> Any:
    if mode not in ("avg", "min"):
        raise AttributeValueError(f"median: mode expected 'avg' or 'min', got {mode!r}")
    values = _ranked(x, 0.5, axis, keepdim, "midpoint" if mode == "avg" else "lower", skips)
    if mode == "avg" or axis is None:
        return values
    x = moving.as_value(x)
    at = normalize_axes([axis], len(x.shape), "median")[0]
    found = values if keepdim else moving.unsqueeze(values, axis=[at])
    is_it = logical.logical_or(logical.equal(x, found), logical.logical_and(logical.isnan(x), logical.isnan(found)))
    return values, reduction.argmax(moving.cast(is_it, dtype=np.dtype("int64")), axis=at, keepdim=keepdim)


def quantile(
    x: Any, q: float | Sequence[float], axis: _Axis = None, keepdim: bool = False, interpolation: str = "linear"
) -> Any:
    """Returns the elements below which a share q of those over axes lies, all axes unless given; nan where one is.

    Args:
        x: floats.
        q: shares in [0, 1]; of several each has a place along a new first axis.
        axis: of the elements.
        keepdim: whether the axes stay, with size 1.
        interpolation: between two elements: linear, lower, higher, midpoint or nearest.

    Raises:
        AttributeValueError: a share is none, or another interpolation.
    """
    return _quantiles(x, q, axis, keepdim, interpolation, skips=False)


def nanquantile(
    x: Any, q: float | Sequence[float], axis: _Axis = None, keepdim: bool = False, interpolation: str = "linear"
) -> Any:
    """Returns quantiles of the elements that are not nan; otherwise as `quantile`."""
    return _quantiles(x, q, axis, keepdim, interpolation, skips=True)


def _quantiles(x: Any, q: Any, axis: _Axis, keepdim: bool, how: str, skips: bool) -> Any:
    shares = np.asarray(q, np.float64)
    if shares.ndim > 1 or not np.all((shares >= 0) & (shares <= 1)):
        raise AttributeValueError(f"quantile: q expected shares in [0, 1], got {q!r}")
    if how not in _HOWS:
        raise AttributeValueError(f"quantile: interpolation expected one of {', '.join(_HOWS)}, got {how!r}")
    made = [_ranked(x, share, axis, keepdim, how, skips) for share in np.atleast_1d(shares).tolist()]
    return joining.stack(made, axis=0) if shares.ndim else made[0]


def _ranked(x: Any, share: float, axis: _Axis, keepdim: bool, how: str, skips: bool) -> Any:
    """Returns the element at a share of the way through those over axes in order, among those that are not nan."""
    x = moving.as_value(x)
    ndim = len(x.shape)
    axes = normalize_axes(moving.as_axes(axis), ndim, "quantile")
    rest = [i for i in range(ndim) if i not in axes]
    lines = moving.flatten(moving.transpose(x, perm=[*rest, *axes]), start_axis=len(rest)) if ndim else x[None]
    size = moving.known_size(lines, -1, "quantile")
    if not size:
        raise ShapeError(f"quantile: expected at least one element along {axes}, got shape {tuple(x.shape)}")
    ordered = sorting.sort(lines, axis=-1, descending=False)
    is_nan = logical.isnan(lines)
    count = reduction.reduce_sum(logical.logical_not(is_nan), axis=[-1], keepdim=True)
    place = elementwise.elementwise_mul(moving.cast(count - 1, dtype=np.dtype("float64")), share)
    place = elementwise.elementwise_max(place, np.zeros(()))
    low, high = elementary.floor(place), elementary.ceil(place)
    if how == "nearest":
        low = high = elementary.round(place)
    low, high = (high, high) if how == "higher" else (low, low) if how == "lower" else (low, high)
    first, second = (
        take_along_axis(ordered, moving.cast(each, dtype=np.dtype("int64")), axis=-1) for each in (low, high)
    )
    made = first
    if how in ("linear", "midpoint"):
        made = _between(first, second, elementwise.elementwise_sub(place, low) if how == "linear" else None)
    if not skips:
        broken = logical.reduce_any(is_nan, axis=[-1], keepdim=True)
        made = joining.where(broken, getitem(ordered, index=encode_index((..., slice(-1, None)))[0]), made)
    kept = moving.reshape(made, shape=[1 if i in axes else moving.known_size(x, i, "quantile") for i in range(ndim)])
    return kept if keepdim or not axes else moving.squeeze(kept, axis=list(axes))


def _between(low: Any, high: Any, weight: Any) -> Any:
    """Returns low + weight (high - low), and an infinity where both are it; without a weight the mean of the two."""
    wide = computed_in(low.dtype) if is_differentiable(low.dtype) else np.dtype("float64")
    first, second = moving.cast(low, dtype=wide), moving.cast(high, dtype=wide)
    if weight is None:  # of halves, so that an infinity beside a number is the mean
        made = elementwise.elementwise_add(*(elementwise.elementwise_mul(each, 0.5) for each in (first, second)))
    else:
        same = logical.logical_and(logical.equal(first, second), logical.isinf(first))
        apart = joining.where(same, fill_any_like(first), elementwise.elementwise_sub(second, first))
        weight = moving.cast(moving.as_value(weight), dtype=wide)
        made = elementwise.elementwise_add(first, elementwise.elementwise_mul(weight, apart))
    return moving.cast(made, dtype=as_floating(low.dtype))


def cummax(x: Any, axis: int | None = None, dtype: Any = "int64") -> Found:
    """Returns the greatest of the elements up to each along an axis, of x flattened unless given, and its position."""
    return _cumulative(running.cummax_place, x, axis, dtype)


def cummin(x: Any, axis: int | None = None, dtype: Any = "int64") -> Found:
    """Returns the least of the elements up to each along an axis, of x flattened unless given, and its position."""
    return _cumulative(running.cummin_place, x, axis, dtype)


def _cumulative(place: Any, x: Any, axis: int | None, dtype: Any) -> Found:
    x = moving.as_value(x) if axis is not None else moving.reshape(moving.as_value(x), shape=[-1])
    values, places = at_places(x, place(x, axis=axis or 0), axis or 0)
    return Found(values, places if np.dtype(dtype) == np.int64 else moving.cast(places, dtype=np.dtype(dtype)))


def logcumsumexp(x: Any, axis: int | None = None) -> Any:
    """Returns the logarithms of the sums of exp(x) up to each along an axis, of x flattened unless given."""
    x = moving.as_value(x)
    return running.logcumsumexp(moving.reshape(x, shape=[-1]) if axis is None else x, axis=axis or 0)


# -- differences and areas --------------------------------------------------------------------------------------------


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Returns the differences of neighbours along an axis, n times; of bools whether they differ.

    Args:
        x: numbers.
        n: how often.
        axis: along which.
        prepend: elements that are put in front first.
        append: elements that are put behind.

    Raises:
        ShapeError: n is below 0.
    """
    x = moving.as_value(x)
    at = normalize_axes([axis], len(x.shape), "diff")[0]
    if n < 0:
        raise ShapeError(f"diff: n expected a number >= 0, got {n}")
    around = [part for part in (prepend, x, append) if part is not None]
    x = joining.concat(around, axis=at) if len(around) > 1 else x
    for _ in range(n):
        after, before = _neighbours(x, at)
        x = logical.not_equal(after, before) if x.dtype.kind == "b" else elementwise.elementwise_sub(after, before)
    return x


def _neighbours(x: Any, at: int) -> tuple[Any, Any]:
    """Returns along an axis all elements but the first, and all but the last."""
    front = [slice(None)] * at
    parts = slice(1, None), slice(None, -1)
    return tuple(getitem(x, index=encode_index((*front, part))[0]) for part in parts)


def _areas(y: Any, x: Any, dx: float | None, axis: int) -> tuple[Any, int]:
    y = moving.as_value(y)
    at = normalize_axes([axis], len(y.shape), "trapezoid")[0]
    if x is not None and dx is not None:
        raise AttributeValueError("trapezoid: expected x or dx, got both")
    heights = elementwise.elementwise_mul(elementwise.elementwise_add(*_neighbours(y, at)), 0.5)
    if x is None:
        return elementwise.elementwise_mul(heights, 1.0 if dx is None else dx), at
    x = moving.as_value(x)
    line = [-1 if i == at else 1 for i in range(len(y.shape))]
    widths = moving.reshape(diff(x), shape=line) if len(x.shape) == 1 else diff(x, axis=at)
    return elementwise.elementwise_mul(heights, widths), at


def trapezoid(y: Any, x: Any = None, dx: float | None = None, axis: int = -1) -> Any:
    """Returns the area under y along an axis, by trapezoids over the places x, or over steps of dx, 1 unless given.

    Raises:
        AttributeValueError: both are given.
    """
    areas, at = _areas(y, x, dx, axis)
    return reduction.reduce_sum(areas, axis=[at])


def cumulative_trapezoid(y: Any, x: Any = None, dx: float | None = None, axis: int = -1) -> Any:
    """Returns the areas under y up to each place along an axis, but the first; as `trapezoid`."""
    areas, at = _areas(y, x, dx, axis)
    return reduction.cumsum(areas, axis=at)


# -- between values ---------------------------------------------------------------------------------------------------


def cov(x: Any, rowvar: bool = True, ddof: bool = True, fweights: Any = None, aweights: Any = None) -> Any:
    """Returns the covariances of the rows of a matrix, or of its columns.

    Args:
        x: a matrix, or a vector, which is one row.
        rowvar: whether a row is a variable.
        ddof: whether sums are divided by one less than the number of observations.
        fweights: how often each observation counts.
        aweights: how much each observation counts.
    """
    x = moving.as_value(x)
    x = moving.unsqueeze(x, axis=[0]) if len(x.shape) < 2 else x if rowvar else composed.t(x)
    ones = np.ones(moving.known_size(x, 1, "cov"), x.dtype)
    weights = ones if fweights is None else moving.cast(moving.as_value(fweights), dtype=x.dtype)
    alone = weights
    if aweights is not None:
        weights = elementwise.elementwise_mul(weights, moving.cast(moving.as_value(aweights), dtype=x.dtype))
    total = reduction.reduce_sum(weights)
    means = reduction.reduce_sum(elementwise.elementwise_mul(x, weights), axis=[1], keepdim=True)
    apart = elementwise.elementwise_sub(x, elementwise.elementwise_div(means, total))
    less = np.asarray(1.0, x.dtype) if ddof else np.asarray(0.0, x.dtype)
    if ddof and aweights is not None:
        both = reduction.reduce_sum(elementwise.elementwise_mul(weights, weights / alone))
        less = elementwise.elementwise_div(both, total)
    over = elementwise.elementwise_sub(total, less)
    made = matmul(elementwise.elementwise_mul(apart, weights), conj(composed.t(apart)))
    return moving.squeeze(elementwise.elementwise_div(made, over))


def corrcoef(x: Any, rowvar: bool = True) -> Any:
    """Returns the correlation coefficients of the rows of a matrix, or of its columns."""
    made = cov(x, rowvar)
    if not made.shape:
        return elementwise.elementwise_div(made, made)
    spread = elementary.sqrt(composed.diagonal(made))
    return elementwise.elementwise_div(elementwise.elementwise_div(made, moving.unsqueeze(spread, axis=[1])), spread)


def dist(x: Any, y: Any, p: float = 2) -> Any:
    """Returns the p-norm of x - y, all elements as one vector."""
    return moments.norm(elementwise.elementwise_sub(x, y), p)


def cdist(x: Any, y: Any, p: float = 2.0) -> Any:
    """Returns the p-norms of the differences of each row of x and each row of y."""
    apart = elementwise.elementwise_sub(moving.unsqueeze(x, axis=[-2]), moving.unsqueeze(y, axis=[-3]))
    return moments.norm(apart, float(p), -1)


def renorm(x: Any, p: float, axis: int, max_norm: float) -> Any:
    """Returns x with each slice along an axis whose p-norm is above a number scaled down to it."""
    x = moving.as_value(x)
    at = normalize_axes([axis], len(x.shape), "renorm")[0]
    size = moments.norm(x, float(p), [i for i in range(len(x.shape)) if i != at], keepdim=True)
    factor = elementwise.elementwise_div(max_norm, elementwise.elementwise_add(size, 1e-7))
    return elementwise.elementwise_mul(x, joining.where(logical.greater_than(size, max_norm), factor, 1.0))


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
