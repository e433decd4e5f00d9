"""Elements and axes arranged: parts taken and put back, pieces, stacks, turns and windows.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise. What takes a part or
moves axes gives a view where basic indexing does.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.define.infer import normalize_axes
from opsdk.ops import composed, elementwise, joining, resizing
from opsdk.ops import shape as moving
from opsdk.ops.complex import conj
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elements.index_put import index_put_
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.elements.indexing import index as index_by
from opsdk.ops.elements.windows import as_strided as _as_strided

# Any, in this file: arrays, tensors or Program variables, and the same out.


def _at(x: Any, axis: int, subject: str) -> int:
    return normalize_axes([axis], len(x.shape), subject)[0]


def _part(x: Any, *index: Any) -> Any:
    return getitem(x, index=encode_index(index)[0])


def _along(x: Any, axis: int, part: builtins.slice | int) -> Any:
    return _part(x, *[builtins.slice(None)] * axis, part)


# -- parts ------------------------------------------------------------------------------------------------------------


def narrow(input: Any, axis: int, start: int, length: int) -> Any:
    """Returns `length` elements along an axis, from `start` on, which counts from the end where it is below 0.

    Raises:
        ShapeError: they reach beyond the axis.
    """
    x = moving.as_value(input)
    at = _at(x, axis, "narrow")
    size = moving.known_size(x, at, "narrow")
    first = start + size if start < 0 else start
    if not 0 <= first <= first + length <= size:
        raise ShapeError(f"narrow: expected start and length within {size} elements, got {start} and {length}")
    return _along(x, at, builtins.slice(first, first + length))


def select(input: Any, axis: int, index: int) -> Any:
    """Returns the slice at a position along an axis, which it no longer has.

    Raises:
        IndexError: the position lies outside.
    """
    x = moving.as_value(input)
    return _along(x, _at(x, axis, "select"), index)


def slice(input: Any, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> Any:
    """Returns the elements from starts up to ends along axes, as x[start:end] takes them."""
    return strided_slice(input, axes, starts, ends, [1] * len(axes))


def strided_slice(
    x: Any, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], strides: Sequence[int]
) -> Any:
    """Returns elements along axes as x[start:end:stride] takes them."""
    x = moving.as_value(x)
    for axis, start, end, stride in zip(axes, starts, ends, strides, strict=True):
        x = _along(x, _at(x, axis, "slice"), builtins.slice(start, end, stride))
    return x


def take(x: Any, index: Any, mode: str = "raise") -> Any:
    """Returns elements of x flattened, at positions, negative ones from the end.

    Args:
        x: of any dtype.
        index: integers, of whose shape the result is.
        mode: what becomes of positions outside: `raise` refuses them, `wrap` counts round, `clip` takes the nearest.

    Raises:
        AttributeValueError: another mode.
        IndexError: a position lies outside.
    """
    flat, index = moving.reshape(moving.as_value(x), shape=[-1]), moving.as_value(index)
    size = moving.known_size(flat, 0, "take")
    if mode not in ("raise", "wrap", "clip"):
        raise AttributeValueError(f"take: mode expected 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "wrap":
        index = elementwise.remainder(index, np.asarray(size, index.dtype))
    elif mode == "clip":
        low, high = (np.asarray(bound, index.dtype) for bound in (0, size - 1))
        index = elementwise.elementwise_min(elementwise.elementwise_max(index, low), high)
    code, arrays = encode_index(index)
    return index_by(flat, arrays, index=code)


def select_scatter(x: Any, values: Any, axis: int, index: int) -> Any:
    """Returns x with another slice at a position along an axis; x stays as it is."""
    x = moving.as_value(x)
    return _put(x, (*[builtins.slice(None)] * _at(x, axis, "select_scatter"), index), values)


def slice_scatter(
    x: Any, value: Any, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int], strides: Sequence[int]
) -> Any:
    """Returns x with other elements where `strided_slice` takes them; x stays as it is."""
    x = moving.as_value(x)
    index: list[Any] = [builtins.slice(None)] * len(x.shape)
    for axis, start, end, stride in zip(axes, starts, ends, strides, strict=True):
        index[_at(x, axis, "slice_scatter")] = builtins.slice(start, end, stride)
    return _put(x, tuple(index), value)


def diagonal_scatter(x: Any, y: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Returns x with other elements on a diagonal, as `diagonal` takes it; x stays as it is."""
    x = moving.as_value(x)
    mask = composed.diagonal(moving.reshape(np.arange(math.prod(x.shape)), shape=list(x.shape)), offset, axis1, axis2)
    flat = moving.reshape(x, shape=[-1])
    put = _put(flat, np.asarray(mask), y)
    return moving.reshape(put, shape=list(x.shape))


def _put(x: Any, index: Any, values: Any) -> Any:
    code, arrays = encode_index(index)
    return index_put_(moving.assign(x), arrays, values, index=code)


# -- axes and shapes --------------------------------------------------------------------------------------------------


def ravel(input: Any) -> Any:
    """Returns x with all its axes as one."""
    return moving.reshape(moving.as_value(input), shape=[-1])


def view_as(x: Any, other: Any) -> Any:
    """Returns x in the shape of another value."""
    return moving.reshaped(x, other.shape)


def unflatten(x: Any, axis: int, shape: Sequence[int]) -> Any:
    """Returns x with an axis as several, of the sizes given; -1 once for one that follows."""
    x = moving.as_value(x)
    at = _at(x, axis, "unflatten")
    sizes = [moving.known_size(x, i, "unflatten") for i in range(len(x.shape))]
    wanted = list(moving.as_axes(shape))
    known = math.prod(size for size in wanted if size != -1)
    if wanted.count(-1) == 1 and known > 0 and sizes[at] % known == 0:
        wanted[wanted.index(-1)] = sizes[at] // known
    if math.prod(wanted) != sizes[at]:
        raise ShapeError(f"unflatten: shape expected sizes of {sizes[at]} elements, got {shape}")
    return moving.reshape(x, shape=[*sizes[:at], *wanted, *sizes[at + 1 :]])


def mT(x: Any) -> Any:
    """Returns matrices with their last two axes in each other's place."""
    return composed.swapaxes(moving.with_axes(x, 2, "mT"), -2, -1)


def adjoint(x: Any) -> Any:
    """Returns matrices transposed, and conjugated."""
    return conj(mT(x))


def atleast_1d(*inputs: Any) -> Any:
    """Returns values with one axis at least; several as a list."""
    return _each(inputs, lambda x: x if len(x.shape) else moving.reshape(x, shape=[1]))


def atleast_2d(*inputs: Any) -> Any:
    """Returns values with two axes at least, new ones in front; several as a list."""
    return _each(inputs, lambda x: moving.unsqueeze(x, axis=list(range(max(2 - len(x.shape), 0)))))


def atleast_3d(*inputs: Any) -> Any:
    """Returns values with three axes at least, of a matrix the new one last, as NumPy has it; several as a list."""
    at = {0: [0, 1, 2], 1: [0, 2], 2: [2]}
    return _each(inputs, lambda x: moving.unsqueeze(x, axis=at.get(len(x.shape), [])))


def _each(inputs: Sequence[Any], function: Any) -> Any:
    values = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    made = [function(moving.as_value(value)) for value in values]
    return made[0] if len(made) == 1 and values is inputs else made


def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """Returns the shape that two shapes broadcast to.

    Raises:
        ShapeError: they do not.
    """
    return broadcast_shapes(x_shape, y_shape)


def broadcast_shapes(*shapes: Any) -> list[int]:
    """Returns the shape that shapes broadcast to.

    Raises:
        ShapeError: they do not.
    """
    try:
        return list(np.broadcast_shapes(*[tuple(moving.as_axes(shape)) for shape in shapes]))
    except ValueError as error:
        raise ShapeError(f"broadcast_shapes: expected shapes that broadcast, got {[*map(tuple, shapes)]}") from error


def broadcast_tensors(*inputs: Any) -> list[Any]:
    """Returns values broadcast to the shape that they have together."""
    values = [moving.as_value(x) for x in (inputs[0] if isinstance(inputs[0], (list, tuple)) else inputs)]
    wanted = broadcast_shapes(*[value.shape for value in values])
    return [resizing.expanded(value, wanted) for value in values]


def meshgrid(*inputs: Any, indexing: str = "ij") -> list[Any]:
    """Returns for each vector a grid of its elements along its own axis, of the sizes of all; "xy" swaps the first two.

    Raises:
        AttributeValueError: another order.
    """
    if indexing not in ("ij", "xy"):
        raise AttributeValueError(f"meshgrid: indexing expected 'ij' or 'xy', got {indexing!r}")
    values = [ravel(x) for x in (inputs[0] if isinstance(inputs[0], (list, tuple)) else inputs)]
    order = list(range(len(values)))
    if indexing == "xy" and len(values) > 1:
        order[:2] = [1, 0]
    shaped = [moving.reshape(x, shape=[-1 if i == at else 1 for i in order]) for at, x in enumerate(values)]
    return broadcast_tensors(shaped)


def cartesian_prod(*tensors: Any) -> Any:
    """Returns the rows of all choices of one element of each vector; of one vector its elements."""
    values = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    if len(values) == 1:
        return moving.as_value(values[0])
    return joining.stack([ravel(grid) for grid in meshgrid(*values)], axis=-1)


# -- stacks and pieces ------------------------------------------------------------------------------------------------


def hstack(x: Sequence[Any]) -> Any:
    """Returns values side by side: along the second axis, vectors along their only one."""
    values = [atleast_1d(value) for value in x]
    return joining.concat(values, axis=0 if len(values[0].shape) == 1 else 1)


def vstack(x: Sequence[Any]) -> Any:
    """Returns values above one another, vectors as rows."""
    return joining.concat([atleast_2d(value) for value in x], axis=0)


def dstack(x: Sequence[Any]) -> Any:
    """Returns values behind one another, along the third axis."""
    return joining.concat([atleast_3d(value) for value in x], axis=2)


def column_stack(x: Sequence[Any]) -> Any:
    """Returns values side by side, vectors as columns."""
    values = [moving.as_value(value) for value in x]
    return hstack([v if len(v.shape) > 1 else moving.reshape(v, shape=[-1, 1]) for v in values])


def tensor_split(x: Any, num_or_indices: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Returns the pieces of x along an axis: so many, the first ones longer by one, or those between positions.

    Raises:
        ShapeError: no number of pieces above 0.
    """
    x = moving.as_value(x)
    at = _at(x, axis, "tensor_split")
    size = moving.known_size(x, at, "tensor_split")
    if isinstance(num_or_indices, (int, np.integer)):
        count = int(num_or_indices)
        if count < 1:
            raise ShapeError(f"tensor_split: expected a number of pieces > 0, got {count}")
        lengths = [size // count + (i < size % count) for i in range(count)]
        ends = list(itertools.accumulate(lengths))[:-1]
    else:
        ends = list(moving.as_axes(num_or_indices))
    return [_along(x, at, builtins.slice(start, end)) for start, end in zip([0, *ends], [*ends, size], strict=True)]


def hsplit(x: Any, num_or_indices: int | Sequence[int]) -> list[Any]:
    """Returns the pieces of x along the second axis, of a vector along its only one, as `tensor_split` has them."""
    return tensor_split(x, num_or_indices, 0 if len(moving.as_value(x).shape) == 1 else 1)


def vsplit(x: Any, num_or_indices: int | Sequence[int]) -> list[Any]:
    """Returns the pieces of x along the first axis, as `tensor_split` has them."""
    return tensor_split(moving.with_axes(x, 2, "vsplit"), num_or_indices, 0)


def dsplit(x: Any, num_or_indices: int | Sequence[int]) -> list[Any]:
    """Returns the pieces of x along the third axis, as `tensor_split` has them."""
    return tensor_split(moving.with_axes(x, 3, "dsplit"), num_or_indices, 2)


# -- turns, diagonals, windows ----------------------------------------------------------------------------------------


def fliplr(x: Any) -> Any:
    """Returns x with the elements along the second axis from the last to the first."""
    return composed.flip(moving.with_axes(x, 2, "fliplr"), 1)


def flipud(x: Any) -> Any:
    """Returns x with the elements along the first axis from the last to the first."""
    return composed.flip(moving.with_axes(x, 1, "flipud"), 0)


def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Returns x turned k times by 90° in the plane of two axes, from the first to the second.

    Raises:
        ShapeError: not two axes.
    """
    x = moving.as_value(x)
    plane = normalize_axes(list(axes), len(x.shape), "rot90")
    if len(plane) != 2:
        raise ShapeError(f"rot90: axes expected two, got {tuple(axes)}")
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return composed.flip(x, plane)
    turned = composed.swapaxes(x, *plane)
    return composed.flip(turned, plane[0] if k % 4 == 1 else plane[1])


def diag_embed(input: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Returns matrices with the lines along the last axis on a diagonal, whose rows and columns lie along two axes.

    Raises:
        ShapeError: the axes are one.
    """
    x = moving.as_value(input)
    size = moving.known_size(x, -1, "diag_embed") + abs(offset)
    first, second = normalize_axes([axis1, axis2], len(x.shape) + 1, "diag_embed")
    padded = resizing.pad(x, pad=[0, 0] * (len(x.shape) - 1) + [max(-offset, 0), max(offset, 0)])
    column = moving.unsqueeze(padded, axis=[-1])
    square = joining.where(np.eye(size, k=offset, dtype=bool), column, fill_any_like(column))
    return composed.moveaxis(square, [-2, -1], [first, second])


def diagflat(x: Any, offset: int = 0) -> Any:
    """Returns a matrix with the elements of x on a diagonal."""
    return composed.diag(ravel(x), offset)


def block_diag(inputs: Sequence[Any], *others: Any) -> Any:
    """Returns a matrix with matrices, a list or one after another, along its diagonal, and zeros elsewhere."""
    given = (inputs, *others) if others or hasattr(inputs, "shape") else inputs
    blocks = [atleast_2d(value) for value in given]
    widths = [moving.known_size(block, 1, "block_diag") for block in blocks]
    around = [[0, 0, sum(widths[:i]), sum(widths[i + 1 :])] for i in range(len(widths))]
    return joining.concat([resizing.pad(x, pad=at) for x, at in zip(blocks, around, strict=True)], axis=0)


def unfold(x: Any, axis: int, size: int, step: int) -> Any:
    """Returns the windows of x along an axis, a new last axis running through each; a copy.

    Raises:
        ShapeError: the axis has fewer elements than a window, or the step is none.
    """
    x = moving.as_value(x)
    at = _at(x, axis, "unfold")
    have = moving.known_size(x, at, "unfold")
    if not 0 <= size <= have or step < 1:
        raise ShapeError(f"unfold: expected a size in [0, {have}] and a step > 0, got {size} and {step}")
    starts = np.arange(0, have - size + 1, step)
    windows = joining.gather(x, starts[:, None] + np.arange(size), axis=at)
    return composed.moveaxis(windows, at + 1, -1)


def as_strided(x: Any, shape: Sequence[int], stride: Sequence[int], offset: int = 0) -> Any:
    """Returns elements at regular steps through those of x in C order; a copy.

    Raises:
        ShapeError: they reach beyond x.
    """
    return _as_strided(moving.as_value(x), size=list(shape), stride=list(stride), offset=offset)


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
