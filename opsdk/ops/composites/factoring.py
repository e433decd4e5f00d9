"""Factors of matrices and what follows from them: functions of `opsdk.linalg` alone.

Each is differentiable as the ops are that it calls, in any runtime, unless it says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.ops import composed, elementary, elementwise, joining, logical, reduction
from opsdk.ops import shape as moving
from opsdk.ops.composites import products
from opsdk.ops.composites.arranging import adjoint
from opsdk.ops.composites.found import QR, SVD, Eigen, LeastSquares
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.matmul import matmul
from opsdk.ops.matrices import factoring, solving
from opsdk.ops.matrices.solving import turned

# Any, in this file: arrays, tensors or Program variables, and the same out.


def cholesky(x: Any, upper: bool = False) -> Any:
    """Returns the triangular factors of positive definite matrices: L with L Lᵀ = x, or its transpose. Differentiable.

    Args:
        x: of shape (…, n, n), symmetric; the lower triangle alone is looked at, the gradient is symmetric.
        upper: returns Lᵀ, of the upper triangle.

    Raises:
        InputValueError: a matrix is not positive definite.
    """
    x = moving.with_axes(x, 2, "cholesky")
    made = factoring.cholesky(adjoint(x) if upper else x)
    return adjoint(made) if upper else made


def cholesky_solve(x: Any, y: Any, upper: bool = False) -> Any:
    """Returns the solutions of A out = x, where y is the Cholesky factor of A, its lower one or the upper."""
    first = solve_triangular(y if not upper else adjoint(y), x, upper=False)
    return solve_triangular(adjoint(y) if not upper else y, first, upper=True)


def cholesky_inverse(x: Any, upper: bool = False) -> Any:
    """Returns the inverses of the matrices whose Cholesky factors x are."""
    back = solving.inverse(composed.triu(x) if upper else composed.tril(x))
    return matmul(back, adjoint(back)) if upper else matmul(adjoint(back), back)


def eigh(x: Any, UPLO: str = "L") -> Eigen:
    """Returns the eigenvalues of symmetric matrices, ascending, and their vectors, a column each.

    Of the two signs of a vector it is that in which its first element of more than half the greatest magnitude is
    positive. Differentiable; vectors of equal eigenvalues have no derivative, and a gradient that asks for it is not
    finite. Of complex matrices not differentiable.

    Args:
        x: of shape (…, n, n), symmetric; one triangle is looked at, the gradient is symmetric.
        UPLO: which triangle, L or U.

    Raises:
        AttributeValueError: another letter.
    """
    if UPLO not in ("L", "U"):
        raise AttributeValueError(f"eigh: UPLO expected 'L' or 'U', got {UPLO!r}")
    x = moving.with_axes(x, 2, "eigh")
    return Eigen(*factoring.eigh(adjoint(x) if UPLO == "U" else x))


def eigvalsh(x: Any, UPLO: str = "L") -> Any:
    """Returns the eigenvalues of symmetric matrices, ascending; otherwise as `eigh`."""
    return eigh(x, UPLO).eigenvalues


def svd(x: Any, full_matrices: bool = False) -> SVD:
    """Returns matrices as U diag(S) Vh, the singular values S descending.

    Of the two signs of a pair of vectors it is that in which the first element of more than half the greatest magnitude
    of the column of U is positive. Differentiable; vectors of equal values have no derivative, and a gradient that asks
    for it is not finite. Of complex matrices not differentiable.

    Args:
        x: of shape (…, m, n).
        full_matrices: False: as many vectors as there are values.

    Raises:
        AttributeValueError: full matrices.
        InputValueError: a number is nan or inf.
    """
    if full_matrices:
        raise AttributeValueError(
            "svd: full_matrices expected False, got True; the vectors beyond are any basis of what is left, as "
            "numpy.linalg.svd of x.numpy() gives one"
        )
    return SVD(*factoring.svd(moving.with_axes(x, 2, "svd")))


def svdvals(x: Any) -> Any:
    """Returns the singular values of matrices, descending."""
    return svd(x).S


def qr(x: Any, mode: str = "reduced") -> Any:
    """Returns matrices as Q R: orthonormal columns, and an upper triangle. Differentiable where the rank is full.

    Args:
        x: of shape (…, m, n).
        mode: reduced: as many columns as the lesser of the sizes; r: R alone.

    Raises:
        AttributeValueError: another mode.
    """
    if mode not in ("reduced", "r"):
        raise AttributeValueError(f"qr: mode expected 'reduced' or 'r', got {mode!r}")
    x = moving.with_axes(x, 2, "qr")
    rows, columns = moving.known_size(x, -2, "qr"), moving.known_size(x, -1, "qr")
    if rows >= columns:
        made = QR(*factoring.qr(x))
    else:  # the first columns decide on Q
        first, rest = (
            getitem(x, index=encode_index((..., part))[0]) for part in (slice(None, rows), slice(rows, None))
        )
        q, r = factoring.qr(first)
        made = QR(q, joining.concat([r, matmul(adjoint(q), rest)], axis=-1))
    return made.R if mode == "r" else made


def solve_triangular(x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Returns what a triangle of matrices gives y multiplied by it, as in PyTorch.

    Args:
        x: of shape (…, n, n).
        y: of shape (…, n, k), and (…, k, n) where x stands at its right.
        upper: the upper triangle counts, else the lower.
        left: x out = y, else out x = y.
        unitriangular: the diagonal counts as ones.

    Raises:
        InputValueError: a diagonal has a 0.
    """
    x, shift = moving.with_axes(x, 2, "solve_triangular"), int(unitriangular)
    made = composed.triu(x, shift) if upper else composed.tril(x, -shift)
    if unitriangular:
        made = elementwise.elementwise_add(made, np.eye(moving.known_size(x, -1, "solve_triangular"), dtype=made.dtype))
    return products.solve(made, y) if left else turned(products.solve(turned(made), turned(y)))


def triangular_solve(x: Any, y: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """Returns what a triangle of matrices, or its transpose, gives y multiplied by it, as in Paddle."""
    if transpose:
        x, upper = turned(moving.with_axes(x, 2, "triangular_solve")), not upper
    return solve_triangular(x, y, upper=upper, unitriangular=unitriangular)


def pinv(x: Any, rcond: float | None = None, hermitian: bool = False) -> Any:
    """Returns the pseudoinverses of matrices. Differentiable where the rank stays.

    Args:
        x: of shape (…, m, n).
        rcond: singular values of at most this share of the greatest count as 0; the greater of the sizes times the
            distance of 1 from the next number unless given.
        hermitian: without meaning: says that x is symmetric.
    """
    return factoring.pinv(moving.with_axes(x, 2, "pinv"), rcond=-1.0 if rcond is None else float(rcond))


def lstsq(x: Any, y: Any, rcond: float | None = None, driver: str | None = None) -> LeastSquares:
    """Returns what solves x out = y best: of the least sum of squares, and of all such the least.

    Args:
        x: of shape (…, m, n).
        y: of shape (…, m, k).
        rcond: as of `pinv`.
        driver: without meaning: the pseudoinverse is what is computed.

    Returns:
        The solution, differentiable where the rank stays; the sums of squares that are left, one for each column of y;
        the ranks; the singular values.
    """
    x, y = moving.with_axes(x, 2, "lstsq"), moving.as_value(y)
    made = matmul(pinv(x, rcond), y)
    values = svdvals(x)
    rank = matrix_rank(x, rtol=rcond)
    left = reduction.reduce_sum(elementary.square(elementwise.elementwise_sub(y, matmul(x, made))), axis=[-2])
    return LeastSquares(made, left, rank, values)


def matrix_rank(x: Any, tol: float | None = None, hermitian: bool = False, *, rtol: float | None = None) -> Any:
    """Returns the ranks of matrices: how many singular values are above a threshold; int64. Not differentiable.

    Args:
        x: of shape (…, m, n).
        tol: the threshold.
        hermitian: without meaning: says that x is symmetric.
        rtol: the threshold as a share of the greatest; as `rcond` of `pinv` unless given.
    """
    x = moving.with_axes(x, 2, "matrix_rank")
    values = svdvals(x)
    most: Any = tol
    if tol is None:
        sizes = [moving.known_size(x, at, "matrix_rank") for at in (-2, -1)]
        share = max(sizes) * float(np.finfo(solving.widened(x.dtype)).eps) if rtol is None else rtol
        most = elementwise.elementwise_mul(reduction.reduce_max(values, axis=[-1], keepdim=True), share)
    found = moving.cast(logical.greater_than(values, most), dtype=np.dtype("int64"))
    return reduction.reduce_sum(found, axis=[-1])


def cond(x: Any, p: Any = None) -> Any:
    """Returns the condition numbers of matrices in a norm: 2 unless given, -2, fro, nuc, 1, -1, inf or -inf.

    Raises:
        AttributeValueError: another norm.
    """
    x = moving.with_axes(x, 2, "cond")
    if p in (None, 2, -2):
        values = svdvals(x)
        ends = [getitem(values, index=encode_index((..., at))[0]) for at in (0, -1)]
        return elementwise.elementwise_div(*(ends[::-1] if p == -2 else ends))
    norms = [_norm(each, p) for each in (x, solving.inverse(x))]
    return elementwise.elementwise_mul(*norms)


def _norm(x: Any, p: Any) -> Any:
    if p == "fro":
        return elementary.sqrt(reduction.reduce_sum(elementary.square(elementary.abs(x)), axis=[-2, -1]))
    if p == "nuc":
        return reduction.reduce_sum(svdvals(x), axis=[-1])
    if p not in (1, -1, np.inf, -np.inf):
        raise AttributeValueError(f"cond: p expected 2, -2, 'fro', 'nuc', 1, -1, inf or -inf, got {p!r}")
    sums = reduction.reduce_sum(elementary.abs(x), axis=[-2 if abs(p) == 1 else -1])
    return (reduction.reduce_max if p > 0 else reduction.reduce_min)(sums, axis=[-1])


__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
