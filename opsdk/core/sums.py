"""Sums of arrays: added in blocks, in float32 where numbers have 16 bits, and rounded once, at the end.

Every accumulation of the library comes here, so that all keep one rule: numbers are added in `computed_in` of their
dtype, at most sixteen in a row before the next level begins. NumPy's own sums do so along the last axis only; along
another they add one by one, which loses terms as soon as the sum has outgrown them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, InputValueError, ShapeError

CHAIN = 16  # so many numbers are added one by one, as in the innermost loop of NumPy's pairwise sums
_TILE = 2048  # numbers that are added to others at once: enough for vector code, few enough for the first cache
_CAST = 4096  # numbers that NumPy converts and adds pairwise in one of its buffers

_added: Callable[..., np.ndarray] = np.add.reduce  # whose own type tells arrays from scalars by literal arguments


def total(
    array: np.ndarray,
    axis: Sequence[int] | None = None,
    keepdims: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> np.ndarray:
    """Returns the sum over axes.

    Args:
        array: of any numeric dtype and any strides.
        axis: axes, each once, in [-ndim, ndim); all of them for None, none of them for an empty sequence.
        keepdims: whether the axes stay, with size 1.
        dtype: of the result, the array's own unless given. Sums that leave its range are infinite, without a warning.

    Raises:
        ShapeError: an axis lies outside of the array or occurs twice.
    """
    final = array.dtype if dtype is None else dtype
    wide = _added_in(array.dtype, final)
    axes = None if axis is None else tuple(axis)
    if array.__class__ is not np.ndarray or wide.kind in "biu":  # a device adds in a tree; whole numbers are exact
        return _rounded(np.sum(array, axis=axes, keepdims=keepdims, dtype=wide), final)
    with np.errstate(over="ignore", invalid="ignore"):  # inf and nan are values of a sum
        contiguous = array.flags.c_contiguous
        if axes is None and contiguous and array.dtype == wide:
            return _rounded(_added(array, axis=None, keepdims=keepdims), final)
        ndim = array.ndim
        axes = tuple(range(ndim)) if axes is None else _positive(axes, ndim)
        is_last = contiguous and array.dtype == wide and sorted(axes) == list(range(ndim - len(axes), ndim))
        if is_last or _count(array.shape, axes) <= CHAIN:
            return _rounded(_added(array, axis=axes, keepdims=keepdims, dtype=wide), final)
        made = _in_blocks(array, axes, wide) if contiguous else _in_order(array, axes, wide)
        shape = made.shape if keepdims else [size for i, size in enumerate(made.shape) if i not in axes]
        return _rounded(made.reshape(shape), final)


def mean(
    array: np.ndarray,
    axis: Sequence[int] | None = None,
    keepdims: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> np.ndarray:
    """Returns the mean over axes, nan of nothing, as `total` sums; the sum itself may leave the range of the dtype."""
    final = array.dtype if dtype is None else dtype
    wide = _added_in(array.dtype, final)
    summed = total(array, axis, keepdims, wide)
    count = array.size if axis is None else _count(array.shape, axis)
    with np.errstate(over="ignore", invalid="ignore"):
        return _rounded(np.divide(summed, count, dtype=wide), final)


def running(array: np.ndarray, axis: int, reverse: bool = False, dtype: np.dtype[Any] | None = None) -> np.ndarray:
    """Returns the sums of the elements up to each along an axis, or from each on, added as `total` adds.

    Args:
        array: of any numeric dtype and any strides.
        axis: in [-ndim, ndim).
        reverse: whether the sums begin at the end.
        dtype: of the result, the array's own unless given. Sums that leave its range are infinite, without a warning.
    """
    final = array.dtype if dtype is None else dtype
    wide = _added_in(array.dtype, final)
    (at,) = _positive((axis,), array.ndim)
    rows = np.moveaxis(array, at, -1)
    rows = (rows[..., ::-1] if reverse else rows).astype(wide)
    is_plain = array.__class__ is not np.ndarray or wide.kind in "biu"  # as of `total`: a device scans in a tree
    with np.errstate(over="ignore", invalid="ignore"):
        made = np.cumsum(rows, -1) if is_plain else _scanned(rows)
        found: np.ndarray = _rounded(np.moveaxis(made[..., ::-1] if reverse else made, -1, at), final).copy(order="C")
        return found


def _scanned(rows: np.ndarray) -> np.ndarray:
    """Returns the running sums along the last axis: those inside of blocks, and of the blocks before."""
    *lead, count = rows.shape
    if count <= CHAIN:
        return np.cumsum(rows, -1)
    blocks = -(-count // CHAIN)
    held = np.zeros((*lead, blocks * CHAIN), rows.dtype)
    held[..., :count] = rows
    made = np.cumsum(held.reshape(*lead, blocks, CHAIN), -1)
    made[..., 1:, :] += _scanned(made[..., -1])[..., :-1, None]
    found: np.ndarray = made.reshape(*lead, -1)[..., :count]
    return found


def sum_at(values: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    """Sums values by their positions: element `i` of the result is the sum of the values whose index is `i`.

    Args:
        values: numeric array of shape (*index.shape, *rest).
        index: integer positions in [0, size).
        size: length of the first axis of the result.

    Returns:
        An array of shape (size, *rest) and of the values' dtype, zero where no value belongs. Sums of many values are
        taken in blocks, those of float16 and bfloat16 in float32, and rounded once.

    Raises:
        DTypeError: the index holds other than integers.
        ShapeError: the values' shape does not begin with that of the index.
        InputValueError: a position lies outside.

    Example:
        >>> sum_at(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), 3)
        array([5., 0., 2.])
    """
    values, index = (np.asarray(value) if isinstance(value, (list, tuple)) else value for value in (values, index))
    if index.dtype.kind not in "iu":
        raise DTypeError(f"sum_at: index expected integers, got {index.dtype.name}; cast it to int64")
    if values.shape[: index.ndim] != index.shape:
        wanted = ", ".join(map(str, index.shape))
        raise ShapeError(f"sum_at: values expected shape ({wanted}, …) like index, got {values.shape}")
    if index.size and (index.min() < 0 or index.max() >= size):
        raise InputValueError(f"sum_at: index expected in [0, {size}), got {index.min()} to {index.max()}")
    wide = computed_in(values.dtype)
    rest = values.shape[index.ndim :]
    if values.__class__ is not np.ndarray or wide.kind in "biu" or index.size <= CHAIN:
        made = np.zeros((size, *rest), wide, like=values)
        np.add.at(made, index, values)
        return _rounded(made, values.dtype)
    at = index.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        if not rest and wide == np.float32:
            return np.bincount(at, values.reshape(-1), size).astype(values.dtype)  # which adds in float64
        order = np.argsort(at, kind="stable")
        slots, rows = _by_slot(at[order], values.reshape(at.size, -1)[order].astype(wide, copy=False))
        made = np.zeros((size, *rest), values.dtype)
        made[slots] = rows.reshape(len(slots), *rest)
    return made


def _added_in(given: np.dtype[Any], final: np.dtype[Any]) -> np.dtype[Any]:
    wide = computed_in(final)
    return wide if given == final or wide.kind in "biu" else np.promote_types(wide, computed_in(given))


def _rounded(value: Any, dtype: np.dtype[Any]) -> np.ndarray:  # Any: an array, or NumPy's scalar where that is 0-d
    array = value if value.__class__ is not np.ndarray and not isinstance(value, np.generic) else np.asarray(value)
    made: np.ndarray = array if array.dtype == dtype else array.astype(dtype)
    return made


def _positive(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    made = tuple([axis % ndim for axis in axes if -ndim <= axis < ndim])
    if len(set(made)) < len(axes):
        raise ShapeError(f"sum: axis expected each once in [{-ndim}, {ndim}), got {tuple(axes)}")
    return made


def _count(shape: Sequence[int], axes: Sequence[int]) -> int:
    return math.prod([shape[axis] for axis in axes])


def _in_order(array: np.ndarray, axes: Sequence[int], wide: np.dtype[Any]) -> np.ndarray:
    """Returns the sum with size 1 along the axes, of an array whose axes do not lie in order or have gaps."""
    order = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    made = _in_blocks(np.ascontiguousarray(array.transpose(order)), [order.index(axis) for axis in axes], wide)
    return np.ascontiguousarray(made.transpose(np.argsort(order)))


def _in_blocks(array: np.ndarray, axes: Sequence[int], wide: np.dtype[Any]) -> np.ndarray:
    """Returns the sum of a contiguous array with size 1 along the axes; neighbours among them are taken together."""
    made, stop = array, array.ndim
    while stop > 0:
        start = stop - 1
        if start in axes:
            while start - 1 in axes:
                start -= 1
            before, after = made.shape[:start], made.shape[stop:]
            shape = (math.prod(before), math.prod(made.shape[start:stop]), math.prod(after))
            made = _middle(made.reshape(shape), wide).reshape(*before, *(1,) * (stop - start), *after)
        stop = start
    return made


def _middle(x: np.ndarray, wide: np.dtype[Any]) -> np.ndarray:
    """Returns the sum of a contiguous array of three axes over the middle one, which is dropped."""
    lead, count, width = x.shape
    if width == 1 and x.dtype == wide:
        return _added(x, axis=1)
    group = _CAST if width == 1 else CHAIN
    side = 1 if width == 1 else max(1, _TILE // max(width, 1))  # rows that lie side by side, added as one
    while count > group:
        side = min(side, count // group)
        blocks = count // (group * side)
        taken = blocks * group * side
        parts = x[:, :taken].reshape(lead, blocks, group, side * width)
        made = _added(parts, axis=2, dtype=wide).reshape(lead, blocks * side, width)
        x = made if taken == count else np.concatenate([made, x[:, taken:].astype(wide)], axis=1)
        count = x.shape[1]
    return _added(x, axis=1, dtype=wide)


def _by_slot(slots: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns ascending slots without repetition, and the sums of the rows of each."""
    while True:
        is_first = np.empty(len(slots), bool)
        is_first[0] = True
        np.not_equal(slots[1:], slots[:-1], out=is_first[1:])
        starts = np.flatnonzero(is_first)
        if len(starts) == len(slots):
            return slots, rows
        lengths = np.diff(starts, append=len(slots))
        rank = (np.arange(len(slots)) - np.repeat(starts, lengths)) % CHAIN
        leads = np.flatnonzero(rank == 0)
        block = np.repeat(np.arange(len(leads)), np.diff(leads, append=len(slots)))
        made = rows[leads]
        for k in range(1, min(CHAIN, int(lengths.max()))):
            chosen = np.flatnonzero(rank == k)
            made[block[chosen]] += rows[chosen]
        slots, rows = slots[leads], made
