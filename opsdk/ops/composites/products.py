"""Products of vectors, matrices and arrays of any rank.

Each is differentiable as the ops are that it calls, in any runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.define.infer import normalize_axes
from opsdk.ops import elementwise, joining, logical, reduction, resizing
from opsdk.ops import shape as moving
from opsdk.ops.complex import conj
from opsdk.ops.composites.arranging import broadcast_shapes
from opsdk.ops.creation import fill_any_like
from opsdk.ops.matmul import matmul
from opsdk.ops.matrices import solving

# Any, in this file: arrays, tensors or Program variables, and the same out.


def inner(x: Any, y: Any) -> Any:
    """Returns the sums of the products along the last axes of x and y; of a number its products."""
    x, y = moving.as_value(x), moving.as_value(y)
    if not len(x.shape) or not len(y.shape):
        return elementwise.elementwise_mul(x, y)
    return tensordot(x, y, [[-1], [-1]])


def vdot(x: Any, y: Any) -> Any:
    """Returns the sum of the products of two vectors, the first conjugated."""
    return matmul(conj(moving.as_value(x)), y)


def vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    """Returns the sums of the products along an axis, the first conjugated."""
    return reduction.reduce_sum(elementwise.elementwise_mul(conj(moving.as_value(x)), y), axis=[axis])


def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """Returns the sums of the products over axes.

    Args:
        x: numbers.
        y: numbers.
        axes: how many of the last axes of x and the first ones of y; or two lists of them.

    Raises:
        ShapeError: not as many axes of one as of the other.
    """
    x, y = moving.as_value(x), moving.as_value(y)
    if isinstance(axes, (int, np.integer)):
        axes = [list(range(len(x.shape) - axes, len(x.shape))), list(range(axes))]
    left, right = (
        list(normalize_axes(moving.as_axes(each), len(value.shape), "tensordot")) if moving.as_axes(each) else []
        for value, each in zip((x, y), axes, strict=True)
    )
    if len(left) != len(right):
        raise ShapeError(f"tensordot: expected as many axes of x as of y, got {left} and {right}")
    rest, other = ([i for i in range(len(v.shape)) if i not in at] for v, at in ((x, left), (y, right)))
    count = int(np.prod([moving.known_size(x, i, "tensordot") for i in left]))
    rows = moving.reshape(moving.transpose(x, perm=[*rest, *left]), shape=[-1, count])
    columns = moving.reshape(moving.transpose(y, perm=[*right, *other]), shape=[count, -1])
    sizes = [moving.known_size(v, i, "tensordot") for v, at in ((x, rest), (y, other)) for i in at]
    return moving.reshape(matmul(rows, columns), shape=sizes)


def kron(x: Any, y: Any) -> Any:
    """Returns the Kronecker product: for each element of x it times y, in its place."""
    x, y = moving.as_value(x), moving.as_value(y)
    ndim = max(len(x.shape), len(y.shape))
    x, y = (moving.unsqueeze(v, axis=list(range(ndim - len(v.shape)))) for v in (x, y))
    sizes = [[moving.known_size(v, i, "kron") for i in range(ndim)] for v in (x, y)]
    wide = moving.reshape(x, shape=[part for size in sizes[0] for part in (size, 1)])
    inside = moving.reshape(y, shape=[part for size in sizes[1] for part in (1, size)])
    made = elementwise.elementwise_mul(wide, inside)
    return moving.reshape(made, shape=[a * b for a, b in zip(*sizes, strict=True)])


def cross(x: Any, y: Any, axis: int | None = None) -> Any:
    """Returns the cross products of the vectors of three along an axis, the first of size 3 unless given.

    Raises:
        ShapeError: the axis has another size.
    """
    x, y = moving.as_value(x), moving.as_value(y)
    at = next((i for i, size in enumerate(x.shape) if size == 3), -1) if axis is None else axis
    at = normalize_axes([at], len(x.shape), "cross")[0]
    if x.shape[at] != 3 or y.shape[at] != 3:
        raise ShapeError(f"cross: expected size 3 along axis {at}, got shapes {tuple(x.shape)} and {tuple(y.shape)}")
    after, before = np.array([1, 2, 0]), np.array([2, 0, 1])
    left, right = (
        elementwise.elementwise_mul(joining.gather(x, one, axis=at), joining.gather(y, other, axis=at))
        for one, other in ((after, before), (before, after))
    )
    return elementwise.elementwise_sub(left, right)


def matrix_power(x: Any, n: int) -> Any:
    """Returns the product of n times a square matrix, the identity for 0, of its inverse below 0."""
    x = moving.with_axes(x, 2, "matrix_power")
    if n < 0:
        return matrix_power(solving.inverse(x), -n)
    if not n:
        return elementwise.elementwise_add(
            fill_any_like(x), np.eye(moving.known_size(x, -1, "matrix_power"), dtype=x.dtype)
        )
    made = x
    for bit in bin(n)[3:]:
        made = matmul(made, made)
        made = matmul(made, x) if bit == "1" else made
    return made


def multi_dot(x: Sequence[Any], *others: Any) -> Any:
    """Returns the product of matrices, a list or one after another, from the left."""
    made, *rest = (x, *others) if others or hasattr(x, "shape") else x
    for other in rest:
        made = matmul(made, other)
    return made


def vander(x: Any, n: int | None = None, increasing: bool = False) -> Any:
    """Returns the powers of each element of a vector, a row each, from the highest down to 0 unless increasing."""
    x = moving.as_value(x)
    count = moving.known_size(x, 0, "vander") if n is None else n
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return elementwise.elementwise_pow(moving.unsqueeze(x, axis=[1]), powers.astype(x.dtype))


def inverse(x: Any) -> Any:
    """Returns the inverses of square matrices.

    Raises:
        InputValueError: one has none.
    """
    return solving.inverse(x)


def det(x: Any) -> Any:
    """Returns the determinants of square matrices. Differentiable where they have an inverse."""
    return solving.det(x)


def slogdet(x: Any) -> Any:
    """Returns the signs of determinants, and the logarithms of their magnitudes, along a new first axis."""
    return joining.stack([solving.det_sign(x), solving.log_abs_det(x)], axis=0)


def logdet(x: Any) -> Any:
    """Returns the logarithms of determinants; nan below 0."""
    sign = solving.det_sign(x)
    return elementwise.elementwise_add(solving.log_abs_det(x), joining.where(logical.less_than(sign, 0), np.nan, 0.0))


def solve(x: Any, y: Any) -> Any:
    """Returns what x, square matrices, gives y multiplied by it: matrices, or a vector beside one of one axis.

    Raises:
        InputValueError: a matrix has no inverse.
    """
    x, y = moving.with_axes(x, 2, "solve"), moving.as_value(y)
    if len(y.shape) == 1:
        return moving.squeeze(solve(x, moving.unsqueeze(y, axis=[-1])), axis=[-1])
    if tuple(x.shape[:-2]) != tuple(y.shape[:-2]):
        lead = broadcast_shapes(x.shape[:-2], y.shape[:-2])
        x, y = (resizing.expanded(each, [*lead, *each.shape[-2:]]) for each in (x, y))
    return solving.solve(x, y)


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
