"""Functions that are made of several ops: products of matrices by name, elements moved about, and comparisons.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import DTypeLike, as_dtype, computed_in, float64, is_differentiable, promote_types
from opsdk.core.errors import ShapeError
from opsdk.core.spec import shape_text
from opsdk.define.infer import normalize_axes
from opsdk.ops import elementary, elementwise, joining, logical, reduction, resizing
from opsdk.ops import shape as moving
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.lines import product
from opsdk.ops.matmul import matmul

# Any, in this file: arrays, tensors or Program variables, and the same out.
_Axis = int | Sequence[int] | None


def _taken(x: Any, axis: int, part: slice | int) -> Any:
    return getitem(x, index=encode_index((*[slice(None)] * axis, part))[0])


# -- reductions -------------------------------------------------------------------------------------------------------


def prod(x: Any, axis: _Axis = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
    """Returns the product over axes, all unless given. Differentiable, also where elements are 0."""
    x = moving.as_value(x) if dtype is None else moving.cast(x, dtype=as_dtype(dtype, "prod"))
    return product.reduce_prod(x, axis=moving.as_axes(axis), keepdim=keepdim)


def cumprod(x: Any, dim: int | None = None, dtype: DTypeLike | None = None) -> Any:
    """Returns the products of the elements up to each along an axis, of x flattened unless given. Differentiable."""
    x = moving.as_value(x) if dtype is None else moving.cast(x, dtype=as_dtype(dtype, "cumprod"))
    return product.cumprod(moving.reshape(x, shape=[-1]) if dim is None else x, axis=0 if dim is None else dim)


def all(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns True where all elements over axes are, all axes unless given. Not differentiable."""
    return logical.reduce_all(x, axis=moving.as_axes(axis), keepdim=keepdim)


def any(x: Any, axis: _Axis = None, keepdim: bool = False) -> Any:
    """Returns True where any element over axes is, all axes unless given. Not differentiable."""
    return logical.reduce_any(x, axis=moving.as_axes(axis), keepdim=keepdim)


# -- matrices ---------------------------------------------------------------------------------------------------------


def _of_rank(x: Any, rank: int, subject: str, name: str) -> Any:
    x = moving.as_value(x)
    if len(x.shape) != rank:
        raise ShapeError(f"{subject}: {name} expected {rank} axes, got shape {shape_text(tuple(x.shape))}")
    return x


def mm(input: Any, mat2: Any) -> Any:
    """Returns the product of two matrices."""
    return matmul(_of_rank(input, 2, "mm", "input"), _of_rank(mat2, 2, "mm", "mat2"))


def bmm(x: Any, y: Any) -> Any:
    """Returns the products of matrices, one pair for each place along the first axis."""
    return matmul(_of_rank(x, 3, "bmm", "x"), _of_rank(y, 3, "bmm", "y"))


def mv(x: Any, vec: Any) -> Any:
    """Returns the product of a matrix and a vector."""
    return matmul(_of_rank(x, 2, "mv", "x"), _of_rank(vec, 1, "mv", "vec"))


def dot(x: Any, y: Any) -> Any:
    """Returns the sum of the products of the elements along the last axis, as Paddle has it."""
    return reduction.reduce_sum(elementwise.elementwise_mul(x, y), axis=[-1])


def outer(x: Any, y: Any) -> Any:
    """Returns the products of each element of x, flattened, with each of y."""
    x, y = (moving.reshape(moving.as_value(value), shape=[-1]) for value in (x, y))
    return elementwise.elementwise_mul(moving.unsqueeze(x, axis=[1]), moving.unsqueeze(y, axis=[0]))


def t(input: Any) -> Any:
    """Returns a matrix with its axes in the other order; a vector or a number as it is.

    Raises:
        ShapeError: it has more than two axes.
    """
    x = moving.as_value(input)
    if len(x.shape) > 2:
        raise ShapeError(f"t: input expected at most 2 axes, got shape {shape_text(tuple(x.shape))}; use transpose")
    return moving.transpose(x, perm=list(range(len(x.shape)))[::-1])


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Returns the sum of a diagonal."""
    return reduction.reduce_sum(diagonal(x, offset, axis1, axis2), axis=[-1])


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Returns the elements x[i, i + offset] of two axes along a new last one. Their sizes have to be known.

    Raises:
        ShapeError: the axes are one.
    """
    x = moving.as_value(x)
    first, second = (normalize_axes([axis], len(x.shape), "diagonal")[0] for axis in (axis1, axis2))
    if first == second:
        raise ShapeError(f"diagonal: expected two axes, got axis1={axis1} and axis2={axis2} of {len(x.shape)}")
    rows, columns = moving.known_size(x, first, "diagonal"), moving.known_size(x, second, "diagonal")
    held = range(max(-offset, 0), min(rows, columns - offset))
    places = [row * columns + row + offset for row in held]
    rest = [i for i in range(len(x.shape)) if i not in (first, second)]
    lines = moving.flatten(moving.transpose(x, perm=[*rest, first, second]), start_axis=-2)
    return joining.gather(lines, np.array(places, np.int64), axis=len(rest))


def diag(x: Any, offset: int = 0, padding_value: float = 0.0) -> Any:
    """Returns a matrix with a vector on a diagonal, or the diagonal of a matrix.

    Raises:
        ShapeError: x has neither one axis nor two.
    """
    x = moving.as_value(x)
    if len(x.shape) == 2:
        return diagonal(x, offset)
    size = moving.known_size(_of_rank(x, 1, "diag", "x"), 0, "diag") + abs(offset)
    lead = max(-offset, 0), max(offset, 0)
    column = resizing.pad(x, pad=[lead[0], lead[1]], mode="constant", value=0.0)
    square = resizing.expanded(moving.unsqueeze(column, axis=[1]), [size, size])
    return joining.where(np.eye(size, k=offset, dtype=bool), square, fill_any_like(square, value=padding_value))


def _triangle(x: Any, diagonal: int, subject: str, upper: bool) -> Any:
    x = moving.with_axes(x, 2, subject)
    mask = np.tri(moving.known_size(x, -2, subject), moving.known_size(x, -1, subject), diagonal - upper, dtype=bool)
    return joining.where(~mask if upper else mask, x, fill_any_like(x))


def tril(x: Any, diagonal: int = 0) -> Any:
    """Returns matrices with 0 above a diagonal. Sizes have to be known."""
    return _triangle(x, diagonal, "tril", upper=False)


def triu(x: Any, diagonal: int = 0) -> Any:
    """Returns matrices with 0 below a diagonal. Sizes have to be known."""
    return _triangle(x, diagonal, "triu", upper=True)


# -- elements moved about ---------------------------------------------------------------------------------------------


def flip(x: Any, axis: int | Sequence[int]) -> Any:
    """Returns x with the elements along axes from the last to the first."""
    x = moving.as_value(x)
    for at in normalize_axes(moving.as_axes(axis), len(x.shape), "flip"):
        x = _taken(x, at, slice(None, None, -1))
    return x


def roll(x: Any, shifts: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Any:
    """Returns x with the elements along axes moved on, those that leave the end coming in at the start.

    Without axes x is moved flattened. Sizes have to be known.

    Raises:
        ShapeError: not one shift for each axis.
    """
    x = moving.as_value(x)
    if axis is None:
        return moving.reshape_like(roll(moving.reshape(x, shape=[-1]), shifts, 0), x)
    given, axes = moving.as_axes(shifts), moving.as_axes(axis)
    if len(given) != len(axes):
        raise ShapeError(f"roll: expected a shift for each of {len(axes)} axes, got {len(given)}")
    for shift, at in zip(given, normalize_axes(axes, len(x.shape), "roll"), strict=True):
        size = moving.known_size(x, at, "roll")
        start = size - shift % size if size else 0
        if 0 < start < size:
            x = joining.concat([_taken(x, at, slice(start, None)), _taken(x, at, slice(start))], axis=at)
    return x


def tile(x: Any, repeat_times: int | Sequence[int]) -> Any:
    """Returns x repeated whole along its axes, new ones in front for more numbers. Sizes have to be known."""
    x = moving.as_value(x)
    times = moving.as_axes(repeat_times)
    lead = max(len(times) - len(x.shape), 0)
    x = moving.unsqueeze(x, axis=list(range(lead))) if lead else x
    times = [1] * (len(x.shape) - len(times)) + list(times)
    sizes = [moving.known_size(x, at, "tile") for at in range(len(times))]
    apart = moving.reshape(x, shape=[part for size in sizes for part in (1, size)]) if times else x
    wide = resizing.expanded(apart, [part for pair in zip(times, sizes, strict=True) for part in pair])
    return moving.reshape(wide, shape=[count * size for count, size in zip(times, sizes, strict=True)])


def repeat_interleave(x: Any, repeats: int, axis: int | None = None) -> Any:
    """Returns x with each element along an axis repeated so often, side by side; flattened without an axis."""
    x = moving.as_value(x)
    x, at = (moving.reshape(x, shape=[-1]), 0) if axis is None else (x, axis)
    at = normalize_axes([at], len(x.shape), "repeat_interleave")[0]
    size = moving.known_size(x, at, "repeat_interleave")
    return joining.gather(x, np.repeat(np.arange(size), repeats), axis=at)


def chunk(x: Any, chunks: int, axis: int = 0) -> list[Any]:
    """Returns the pieces of x along an axis: so many of one size; the last is smaller where they do not share it."""
    x = moving.as_value(x)
    size = moving.known_size(x, normalize_axes([axis], len(x.shape), "chunk")[0], "chunk")
    if chunks < 1:
        raise ShapeError(f"chunk: chunks expected a number > 0, got {chunks}")
    each = -(-size // chunks) or 1
    sections = [min(each, size - start) for start in range(0, size, each)] or [0]
    return list(joining.split(x, sections=sections, axis=axis))


def unbind(input: Any, axis: int = 0) -> list[Any]:
    """Returns the slices of a value along an axis, which they no longer have."""
    x = moving.as_value(input)
    at = normalize_axes([axis], len(x.shape), "unbind")[0]
    return [_taken(x, at, i) for i in range(moving.known_size(x, at, "unbind"))]


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """Returns x broadcast to a shape; -1 for its own size there."""
    return resizing.expanded(moving.as_value(x), shape)


def expand_as(x: Any, y: Any) -> Any:
    """Returns x broadcast to the shape of y."""
    return reduction.expand_as(x, y)


def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Returns x with axes moved to other places; the others stay in their order.

    Raises:
        ShapeError: not one place for each axis.
    """
    x = moving.as_value(x)
    ndim = len(x.shape)
    sources = normalize_axes(moving.as_axes(source), ndim, "moveaxis")
    places = normalize_axes(moving.as_axes(destination), ndim, "moveaxis")
    if len(sources) != len(places):
        raise ShapeError(f"moveaxis: expected a place for each of {len(sources)} axes, got {len(places)}")
    perm = [i for i in range(ndim) if i not in sources]
    moved = zip(moving.as_axes(destination), moving.as_axes(source), strict=True)
    for place, at in sorted((place % ndim, at % ndim) for place, at in moved):
        perm.insert(place, at)
    return moving.transpose(x, perm=perm)


def swapaxes(x: Any, axis0: int, axis1: int) -> Any:
    """Returns x with two axes in each other's place."""
    x = moving.as_value(x)
    perm = list(range(len(x.shape)))
    first, second = (normalize_axes([axis], len(perm), "swapaxes")[0] for axis in (axis0, axis1))
    perm[first], perm[second] = second, first
    return moving.transpose(x, perm=perm)


def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """Returns x with a value where a mask of bools is True, which broadcasts with it."""
    x = moving.as_value(x)
    held = fill_any_like(x, value=value) if isinstance(value, (int, float)) else value
    return joining.where(mask, held, x)


def lerp(x: Any, y: Any, weight: Any) -> Any:
    """Returns x + weight (y - x)."""
    return elementwise.elementwise_add(x, elementwise.elementwise_mul(weight, elementwise.elementwise_sub(y, x)))


def add_n(inputs: Any) -> Any:
    """Returns the sum of values of one shape and dtype."""
    return reduction.sum(list(inputs)) if isinstance(inputs, (list, tuple)) else inputs


# -- comparisons ------------------------------------------------------------------------------------------------------


def isclose(x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Returns True where |x - y| ≤ atol + rtol |y|, and where x equals y. Not differentiable."""
    x, y = moving.as_value(x), moving.as_value(y)
    wide = promote_types(*(computed_in(v.dtype) if is_differentiable(v.dtype) else float64 for v in (x, y)))
    left, right = moving.cast(x, dtype=wide), moving.cast(y, dtype=wide)
    apart = elementary.abs(elementwise.elementwise_sub(left, right))
    near = logical.less_equal(apart, elementwise.scale(elementary.abs(right), scale=rtol, bias=atol))
    found = logical.logical_or(logical.logical_and(near, logical.isfinite(right)), logical.equal(left, right))
    if equal_nan:
        return logical.logical_or(found, logical.logical_and(logical.isnan(left), logical.isnan(right)))
    return found


def allclose(x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Returns one bool: whether all elements are close, as `isclose` tells it. Not differentiable."""
    return logical.reduce_all(isclose(x, y, rtol, atol, equal_nan))


def equal_all(x: Any, y: Any) -> Any:
    """Returns one bool: whether two values have one shape and equal elements. Not differentiable."""
    x, y = moving.as_value(x), moving.as_value(y)
    if tuple(x.shape) != tuple(y.shape):
        return logical.reduce_any(fill_any_like(moving.cast(x, dtype=np.dtype("bool"))))
    return logical.reduce_all(logical.equal(x, y))


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
