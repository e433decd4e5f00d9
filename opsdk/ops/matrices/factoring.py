"""Factors of matrices: Cholesky, QR, singular values, eigenvalues of symmetric ones; and pseudoinverses.

What LAPACK leaves open is chosen: of the two signs of a vector, or the phases, that in which its first element of more
than half the greatest magnitude is positive, so that results are functions that have a derivative. Derivatives are
those of real matrices; of complex ones they are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opsdk.core.dtype import as_floating
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.infer import like
from opsdk.define.sample import Sample
from opsdk.ops.complex import real_dtype
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elementary import abs
from opsdk.ops.elementwise import (
    elementwise_add,
    elementwise_div,
    elementwise_mul,
    elementwise_sub,
    scale,
)
from opsdk.ops.joining import where
from opsdk.ops.logical import greater_than
from opsdk.ops.matmul import matmul
from opsdk.ops.matrices.solving import check_square, inverse, turned, widened
from opsdk.ops.shape import unsqueeze

_LEAST = 1e-3  # of the greatest eigenvalue, what a matrix that is drawn has at least


# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
def _factored(compute: Callable[..., Any], x: np.ndarray, failed: str) -> Any:
    """Returns what NumPy computes, in the dtype of x: 16-bit floats in float32, whole numbers in float64.

    Raises:
        InputValueError: LAPACK finds no factors.
    """
    try:
        made = compute(x.astype(widened(x.dtype), copy=False))
    except np.linalg.LinAlgError as error:
        raise InputValueError(failed) from error
    dtype = as_floating(x.dtype)
    each = made if isinstance(made, tuple) else (made,)
    cast = tuple(one.astype(real_dtype(dtype) if one.dtype.kind == "f" else dtype, copy=False) for one in each)
    return cast if isinstance(made, tuple) else cast[0]


def _turns(vectors: np.ndarray) -> np.ndarray:
    """Returns the factor of each vector, a column, that makes its first large element positive."""
    size = np.abs(vectors)
    if not size.size:
        return np.ones_like(vectors[..., :1, :])
    first = np.argmax(size > size.max(axis=-2, keepdims=True) / 2, axis=-2)[..., None, :]
    found = np.take_along_axis(vectors, first, axis=-2)
    return found.conj() / np.abs(found)


def _sizes(x: TensorSpec | np.ndarray, subject: str) -> tuple[Any, Any]:
    if len(x.shape) < 2:
        raise ShapeError(f"op 'opsdk::{subject}': x expected matrices, got shape {shape_text(tuple(x.shape))}")
    return x.shape[-2], x.shape[-1]


def _symmetrised(x: Any) -> Any:
    return scale(elementwise_add(x, turned(x)), scale=0.5)


def _quotient(x: Any, y: Any) -> Any:
    """Returns x / y, and 0 where both are 0, which is what nobody asks for."""
    is_asked = greater_than(elementwise_add(abs(x), abs(y)), 0.0)
    return elementwise_div(x, where(is_asked, y, fill_any_like(x, value=1.0)))


def _skewed(x: Any, dx: Any) -> Any:
    product = matmul(x, dx, transpose_x=True)
    return elementwise_sub(product, turned(product))


# -- Cholesky ---------------------------------------------------------------------------------------------------------


def _nearest_definite(x: np.ndarray) -> np.ndarray:
    """Returns x made symmetric, its eigenvalues without their signs and not near 0: what `cholesky` is of."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not x.size or not np.isfinite(x).all():
        return x
    even = 0.5 * x + 0.5 * np.swapaxes(x, -1, -2).conj()
    values, vectors = np.linalg.eigh(even)
    most = np.abs(values).max(-1, keepdims=True)
    if (values > _LEAST * most / 2).all():
        return np.asarray(even)
    values = np.maximum(np.abs(values), _LEAST * np.where(most > 0, most, 1.0))
    made = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2).conj()
    return np.asarray(0.5 * made + 0.5 * np.swapaxes(made, -1, -2).conj())


def _nearest_symmetric(x: np.ndarray) -> np.ndarray:
    is_square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
    return 0.5 * x + 0.5 * np.swapaxes(x, -1, -2).conj() if is_square else x


@op("opsdk::half_lower(Tensor x) -> Tensor out", infer=like())
def half_lower(x: np.ndarray) -> np.ndarray:
    """The lower triangles of matrices, with half of their diagonals."""
    return np.tril(x) - np.tril(np.triu(x)) / 2


@half_lower.backward(composite=True)
def half_lower_grad(dout: Any) -> Any:
    """The same of the cotangent."""
    return half_lower(dout)


def _square(x: TensorSpec) -> TensorSpec:
    check_square(x, "cholesky")
    return TensorSpec(x.shape, as_floating(x.dtype))


@op("opsdk::cholesky(Tensor x) -> Tensor out", infer=_square, domain={"x": _nearest_definite})
def cholesky(x: np.ndarray) -> np.ndarray:
    """The lower triangular L with positive diagonal and L Lᵀ = x; the lower triangle of x alone is looked at."""
    check_square(x, "cholesky")
    failed = "op 'opsdk::cholesky': x expected positive definite matrices, got another; add to its diagonal"
    return _factored(np.linalg.cholesky, x, failed)


@cholesky.backward(composite=True)
def cholesky_grad(out: Any, dout: Any) -> Any:
    """L⁻ᵀ Φ(Lᵀ dL) L⁻¹ made symmetric (Murray 2016, Differentiation of the Cholesky decomposition, eq. 10)."""
    back = inverse(out)
    inner = matmul(half_lower(matmul(out, dout, transpose_x=True)), back)
    return _symmetrised(matmul(back, inner, transpose_x=True))


# -- eigenvalues ------------------------------------------------------------------------------------------------------


def _eigh(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    check_square(x, "eigh")
    dtype = as_floating(x.dtype)
    return TensorSpec(x.shape[:-1], real_dtype(dtype)), TensorSpec(x.shape, dtype)


@op("opsdk::eigh(Tensor x) -> (Tensor values, Tensor vectors)", infer=_eigh, domain={"x": _nearest_symmetric})
def eigh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of symmetric matrices, ascending, and their vectors as columns; of the lower triangle alone."""
    check_square(x, "eigh")

    def compute(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(x)
        return values, vectors * _turns(vectors)

    return _factored(compute, x, "op 'opsdk::eigh': x expected numbers for which it converges")


@eigh.backward(composite=True)
def eigh_grad(values: Any, vectors: Any, dvalues: Any, dvectors: Any) -> Any:
    """V (diag(dw) + K / (wⱼ - wᵢ)) Vᵀ, K half of Vᵀ dV less its transpose (Magnus 1985, theorem 1)."""
    gaps = elementwise_sub(unsqueeze(values, axis=[-2]), unsqueeze(values, axis=[-1]))
    turns = scale(_quotient(_skewed(vectors, dvectors), gaps), scale=0.5)
    inner = elementwise_add(elementwise_mul(vectors, unsqueeze(dvalues, axis=[-2])), matmul(vectors, turns))
    return _symmetrised(matmul(inner, vectors, transpose_y=True))


# -- singular values --------------------------------------------------------------------------------------------------


def _svd(x: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    rows, columns = _sizes(x, "svd")
    least = None if None in (rows, columns) else min(rows, columns)
    lead, dtype = x.shape[:-2], as_floating(x.dtype)
    return (
        TensorSpec((*lead, rows, least), dtype),
        TensorSpec((*lead, least), real_dtype(dtype)),
        TensorSpec((*lead, least, columns), dtype),
    )


@op("opsdk::svd(Tensor x) -> (Tensor u, Tensor s, Tensor vh)", infer=_svd)
def svd(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Matrices as u diag(s) vh, singular values s descending, as many vectors as there are values."""
    _sizes(x, "svd")

    def compute(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        turns = _turns(u)
        return u * turns, s, vh * np.swapaxes(turns.conj(), -1, -2)

    return _factored(compute, x, "op 'opsdk::svd': x expected finite numbers, got nan or inf")


@svd.backward(composite=True)
def svd_grad(u: Any, s: Any, vh: Any, du: Any, ds: Any, dvh: Any) -> Any:
    """Townsend 2016, Differentiating the singular value decomposition, eq. 18, as a cotangent."""
    v, dv, row, column = turned(vh), turned(dvh), unsqueeze(s, axis=[-2]), unsqueeze(s, axis=[-1])
    gaps = elementwise_mul(elementwise_sub(row, column), elementwise_add(row, column))
    left, right = (_quotient(_skewed(each, dual), gaps) for each, dual in ((u, du), (v, dv)))
    inner = elementwise_add(elementwise_mul(left, row), elementwise_mul(right, column))
    spread = elementwise_add(matmul(u, inner), elementwise_mul(u, unsqueeze(ds, axis=[-2])))
    made = matmul(elementwise_add(spread, _beyond(u, du, row)), vh)
    return elementwise_add(made, matmul(u, turned(_beyond(v, dv, row))))


def _beyond(vectors: Any, dual: Any, s: Any) -> Any:
    """Returns the part of a cotangent that lies outside of what the vectors span, divided by the singular values."""
    rows, columns = vectors.shape[-2:]
    if isinstance(rows, int) and rows == columns:  # they span all, and what is left is rounding
        return fill_any_like(vectors)
    inside = matmul(vectors, matmul(vectors, dual, transpose_x=True))
    return _quotient(elementwise_sub(dual, inside), s)


# -- QR ---------------------------------------------------------------------------------------------------------------


def _tall(x: TensorSpec | np.ndarray) -> Any:
    """Returns the number of columns, of which there are no more than rows."""
    rows, columns = _sizes(x, "qr")
    if None not in (rows, columns) and rows < columns:
        raise ShapeError(
            f"op 'opsdk::qr': x expected as many rows as columns or more, got shape {shape_text(tuple(x.shape))}; "
            "opsdk.linalg.qr takes others too"
        )
    return columns


def _qr(x: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    columns = _tall(x)
    dtype = as_floating(x.dtype)
    return TensorSpec(x.shape, dtype), TensorSpec((*x.shape[:-2], columns, columns), dtype)


@op("opsdk::qr(Tensor x) -> (Tensor q, Tensor r)", infer=_qr)
def qr(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrices as q r: orthonormal columns, and an upper triangle; signs are LAPACK's."""
    _tall(x)
    return _factored(lambda x: tuple(np.linalg.qr(x)), x, "op 'opsdk::qr': x expected finite numbers")


@qr.backward(composite=True)
def qr_grad(q: Any, r: Any, dq: Any, dr: Any) -> Any:
    """(dQ + Q copyltu(R dRᵀ - dQᵀ Q)) R⁻ᵀ (Walter & Lehmann 2018, Algorithmic differentiation of linear algebra)."""
    lower = half_lower(elementwise_sub(matmul(r, dr, transpose_y=True), matmul(dq, q, transpose_x=True)))
    inner = elementwise_add(dq, matmul(q, elementwise_add(lower, turned(lower))))
    return matmul(inner, inverse(r), transpose_y=True)


# -- pseudoinverses ---------------------------------------------------------------------------------------------------


def _pinv(x: TensorSpec) -> TensorSpec:
    rows, columns = _sizes(x, "pinv")
    return TensorSpec((*x.shape[:-2], columns, rows), as_floating(x.dtype))


@op("opsdk::pinv(Tensor x, *, float rcond=-1.0) -> Tensor out", infer=_pinv)
def pinv(x: np.ndarray, rcond: float) -> np.ndarray:
    """The pseudoinverses of matrices (Moore 1920, Penrose 1955).

    Singular values of at most `rcond` times the greatest count as 0; below 0 it is the greater of the sizes times the
    distance of 1 from the next number.
    """
    sizes = _sizes(x, "pinv")
    least = max(sizes) * np.finfo(widened(x.dtype)).eps if rcond < 0 else rcond

    def compute(x: np.ndarray) -> np.ndarray:
        if not x.size:
            return np.swapaxes(x, -1, -2).copy()
        return np.linalg.pinv(x, rcond=least)

    return _factored(compute, x, "op 'opsdk::pinv': x expected finite numbers, got nan or inf")


@pinv.backward(composite=True)
def pinv_grad(x: Any, out: Any, dout: Any) -> Any:
    """The three terms of Golub & Pereyra 1973, eq. 4.12, for matrices whose rank stays."""
    first = matmul(matmul(out, dout, transpose_x=True), out, transpose_y=True)
    left = matmul(matmul(dout, out, transpose_x=True), out, transpose_y=True)
    right = matmul(matmul(out, out, transpose_x=True), dout, transpose_y=True)
    left = elementwise_sub(left, matmul(x, matmul(out, left)))
    right = elementwise_sub(right, matmul(matmul(right, out), x))
    return elementwise_sub(elementwise_add(left, right), first)


# -- samples ----------------------------------------------------------------------------------------------------------


def _matrix(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns matrices of singular values that lie apart, so that factors are functions of them."""
    least = min(shape[-2:])
    u, v = (np.linalg.qr(rng.normal(size=(*shape[:-2], size, least)))[0] for size in shape[-2:])
    return np.asarray(u * (1.0 + np.arange(least)) @ np.swapaxes(v, -1, -2))


@svd.samples
@pinv.samples
def _any_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4, 3), (2, 3, 5), (1, 1), (2, 1, 2, 2)):
        yield Sample(_matrix(rng, shape), reason=f"shape {shape}")
    yield Sample(np.zeros((0, 3, 3)), reason="no matrices")


@qr.samples
def _tall_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4, 3), (1, 1), (2, 1, 5, 2)):
        yield Sample(_matrix(rng, shape), reason=f"shape {shape}")
    yield Sample(np.zeros((0, 3, 3)), reason="no matrices")


@half_lower.samples
def _half_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 3, 3)):
        yield Sample(rng.normal(size=shape), reason=f"shape {shape}")


@cholesky.samples
@eigh.samples
def _even_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4, 4), (1, 1), (2, 1, 2, 2)):
        turn = np.linalg.qr(rng.normal(size=shape))[0]
        made = (turn * (1.0 + np.arange(shape[-1]))) @ np.swapaxes(turn, -1, -2)
        yield Sample(0.5 * made + 0.5 * np.swapaxes(made, -1, -2), reason=f"shape {shape}")
    yield Sample(np.zeros((0, 3, 3)), reason="no matrices")
