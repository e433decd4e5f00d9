"""What inputs may be, as values of `domain=`: intervals, matrices, vectors, positions and masks.

`symmetric`, `positive_definite`, `orthogonal`, `unit`, `simplex`, `sorted` are of floating numbers, complex ones where
that means something; along a direction that leaves the set nothing is judged, so a gradient counts as its part in the
tangent space. `permutation`, `positions`, `lengths`, `segment_ids`, `mask`, `prefix_mask` are of integers and bools,
which are drawn, varied and resized. `shape` says how long axes are, those of several inputs alike. `a & b` is what
lies in both; `constraint` makes one of a function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain, Rule, Shape, constraint, read_interval, with_options
from gradcheck.model.dims import Dims
from gradcheck.model.dtypes import FLOAT64_EPS, Array
from gradcheck.model.whole import lengths, mask, permutation, positions, prefix_mask, segment_ids

__all__ = [
    "Domain",
    "constraint",
    "interval",
    "lengths",
    "mask",
    "orthogonal",
    "permutation",
    "positions",
    "positive_definite",
    "prefix_mask",
    "segment_ids",
    "shape",
    "simplex",
    "sorted",
    "symmetric",
    "unit",
]

# The least eigenvalue, beside the greatest, of a matrix that was made positive definite; and of one that was drawn.
_LEAST_EIGENVALUE = 2.0**-10
_DRAWN_EIGENVALUE = 0.5
# Squared pivots as near as this are those of no matrix that is singular but for rounding.
_SURELY = 2.0**-20
# How far apart equal values are moved that are to differ, as a share of what they span for each of them.
_APART = 2.0**-4


def interval(low: float | None = None, high: float | None = None, *, inclusive: str = "both") -> Domain:
    """Gives the numbers from low to high; of a complex input each part is one.

    Args:
        low: the least; None for none.
        high: the greatest; None for none.
        inclusive: which ends belong to it: "both", "left", "right" or "neither", as in pandas.

    Raises:
        UsageError: nothing lies between the ends, or `inclusive` is something else.

    Example:
        >>> interval(0, inclusive="neither").name
        'in (0, inf]'
    """
    return read_interval(low, high, inclusive)


def shape(*sizes: Any) -> Domain:  # Any: `...` has no type that can be named
    """Gives the arrays of a shape: lengths that are fixed, and named ones, equal wherever the name stands.

    Args:
        sizes: one for each axis: a length, a name, None for any; `"K-1"`, `"2*K"` or `"2*K+1"` for what is made of the
            length of a name. Once `...` for any number of axes, or `"*B"` for those that are the same, as many and as
            long, wherever it stands. In `opsdk.op` a name may be that of an int attribute, whose value it then has.

    Raises:
        UsageError: one is something else, or two stand for any number of axes.

    Example:
        >>> shape("N", 2).name
        'of shape (N, 2)'
    """
    return Domain(dims=Dims.of(sizes))


def _adjoint(matrix: Array) -> Array:
    return np.conj(np.swapaxes(matrix, -1, -2))


def _square(shape: Shape) -> Shape:
    last = shape[-1] if shape else 1
    return (*shape[:-2], last, last)


def _expect_square(values: Array) -> None:
    if values.ndim < 2 or values.shape[-1] != values.shape[-2]:
        raise ValueError(f"expected matrices with as many rows as columns, got shape {values.shape}")


def _symmetrised(values: Array) -> Array:
    _expect_square(values)
    return np.asarray(0.5 * values + 0.5 * _adjoint(values))


def _positive(values: Array) -> Array:
    made = _symmetrised(values)
    if not made.size or not np.isfinite(made).all():
        return made
    try:
        pivots = np.diagonal(np.linalg.cholesky(made), axis1=-2, axis2=-1)
        if (pivots.min(axis=-1) ** 2 > _SURELY * pivots.max(axis=-1) ** 2).all():
            return made  # sooner known than by its eigenvalues
    except np.linalg.LinAlgError:
        pass
    sizes, vectors = np.linalg.eigh(made)
    most = np.max(np.abs(sizes), axis=-1, keepdims=True)
    if (sizes > made.shape[-1] * FLOAT64_EPS * most).all():
        return made
    # Not 0 for what is negative: equal eigenvalues are a case of their own.
    sizes = np.maximum(np.abs(sizes), _LEAST_EIGENVALUE * np.where(most > 0, most, 1.0))
    return _symmetrised((vectors * sizes[..., None, :]) @ _adjoint(vectors))


def _drawn_positive(shape: Shape, generator: np.random.Generator) -> Array:
    factor = generator.standard_normal(shape)
    count = max(shape[-1], 1)
    return np.asarray(factor @ _adjoint(factor) / count + _DRAWN_EIGENVALUE * np.eye(shape[-1]))


def _along(values: Array, direction: Array) -> Array:
    return _symmetrised(direction)


def _orthogonalised(values: Array) -> Array:
    if values.ndim < 2:
        raise ValueError(f"expected matrices, got shape {values.shape}")
    if not np.isfinite(values).all():
        return values
    left, _, right = np.linalg.svd(values, full_matrices=False)
    return np.asarray(left @ right)


def _turning(values: Array, direction: Array) -> Array:
    if values.shape[-2] < values.shape[-1]:
        return _adjoint(_turning(_adjoint(values), _adjoint(direction)))
    return np.asarray(direction - values @ _symmetrised(_adjoint(values) @ direction))


def _matrix(shape: Shape) -> Shape:
    return shape if len(shape) > 1 else _square(shape)


symmetric = Domain(
    rules=(Rule("symmetric", _symmetrised, tangent=_along, shape=_square),),
)
positive_definite = Domain(
    rules=(Rule("positive definite", _positive, sample=_drawn_positive, tangent=_along, shape=_square),),
)
orthogonal = Domain(
    rules=(Rule("orthogonal", _orthogonalised, tangent=_turning, shape=_matrix),),
)


def _real(values: Array, what: str) -> None:
    if values.dtype.kind == "c":
        raise ValueError(f"expected real numbers, as complex ones are never {what}")


@with_options
def unit(axis: int = -1) -> Rule:
    """Vectors of length one along an axis."""

    def project(values: Array) -> Array:
        length = np.sqrt(np.sum(np.abs(values) ** 2, axis=axis, keepdims=True))
        first = np.zeros_like(values)
        np.moveaxis(first, axis, -1)[..., :1] = 1.0
        return np.where(length > 0, values / np.where(length > 0, length, 1.0), first)

    def tangent(values: Array, direction: Array) -> Array:
        inner = np.sum(np.real(np.conj(values) * direction), axis=axis, keepdims=True)
        return np.asarray(direction - values * inner)

    return Rule("of length one", project, tangent=tangent)


@with_options
def simplex(axis: int = -1) -> Rule:
    """Numbers ≥ 0 that add up to one along an axis, as probabilities do; where one is 0 it stays so."""

    def project(values: Array) -> Array:
        _real(values, "probabilities")
        sizes = np.abs(values)
        total = np.sum(sizes, axis=axis, keepdims=True)
        return np.where(total > 0, sizes / np.where(total > 0, total, 1.0), 1.0 / max(values.shape[axis], 1))

    def tangent(values: Array, direction: Array) -> Array:
        moves = values > 0
        count = np.maximum(np.sum(moves, axis=axis, keepdims=True), 1)
        mean = np.sum(np.where(moves, direction, 0.0), axis=axis, keepdims=True) / count
        return np.where(moves, direction - mean, 0.0)

    def sample(shape: Shape, generator: np.random.Generator) -> Array:
        return np.asarray(generator.uniform(0.2, 1.0, shape))

    return Rule("on the simplex", project, sample=sample, tangent=tangent)


@with_options
def sorted(axis: int = -1, strict: bool = False) -> Rule:
    """Numbers in ascending order along an axis, strict where no two are equal."""

    def project(values: Array) -> Array:
        _real(values, "sorted")
        made = np.sort(values, axis=axis)
        if not strict or not made.size or (np.diff(made, axis=axis) > 0).all():
            return made
        count = made.shape[axis]
        if made.dtype.kind in "iu":
            step: Any = 1
        else:
            span = np.ptp(made, axis=axis, keepdims=True)
            step = _APART * np.where(span > 0, span, 1.0) / count
        steps = np.moveaxis(np.arange(count).reshape(-1, *[1] * (made.ndim - 1)), 0, axis)
        return np.asarray(made + step * steps)

    return Rule("strictly ascending" if strict else "ascending", project, tangent=lambda values, direction: direction)
