"""The solution of a sparse linear system, whose factorisation is made once and kept for the backward."""

import numpy as np

import opsdk
from opsdk import errors

NAME = "op 'contrib::sparse_solve'"


@opsdk.op(
    "contrib::sparse_solve(Tensor data, Tensor<int> indices, Tensor<int> indptr, Tensor b) -> Tensor x, "
    "residuals (object lu)",
    infer=opsdk.infer.like("b"),
)
def sparse_solve(data, indices, indptr, b):
    """x with A x = b, where A is a square sparse matrix in rows (CSR), as `scipy.sparse.linalg.spsolve` solves it.

    Args:
        data: float array (nnz,) of the elements of A, row by row; float32 or float64.
        indices: int array (nnz,) of their columns, ascending and each once in a row (`A.sum_duplicates()`).
        indptr: int array (n + 1,) of where the rows begin, and the last ends; A is n × n.
        b: float array (n,) or (n, k), of the dtype of data.

    Returns x of the shape and dtype of b.

    Raises ValueError: the arrays are no CSR matrix, do not fit, or A is singular. Needs SciPy: `opsdk[scipy]`.

    Gradient: with respect to data and b, to order 2; w = A⁻ᵀ dx is that of b, and -w[i] · x[j] that of element i, j
    (Giles 2008, An extended collection of matrix derivative results, 2.2.3). It solves with the factors that the
    forward made (SuperLU), so that a step costs one factorisation.
    """
    lu = factored(data, indices, indptr)
    return lu.solve(b, "T"), lu


def factored(data, indices, indptr):
    """Returns the factors of Aᵀ, whose columns are the rows of A."""
    try:
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu
    except ImportError as error:
        raise errors.MissingDependencyError(f'{NAME} needs SciPy, not installed: pip install "opsdk[scipy]"') from error
    n = len(indptr) - 1
    try:
        parts = np.ascontiguousarray(data), indices.astype(np.intc), indptr.astype(np.intc)
        return splu(csc_array(parts, (n, n)))
    except RuntimeError as error:
        raise errors.InputValueError(f"{NAME}: A expected to be regular, got a singular matrix ({error})") from error


def rows_of(indptr):
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def dots(left, right):
    """Returns the products of rows, summed where a right-hand side has several columns."""
    return left * right if left.ndim == 1 else (left * right).sum(axis=1)


@sparse_solve.backward
def sparse_solve_grad(data, indices, indptr, b, x, lu, dx):
    w = lu.solve(dx)
    return -dots(w[rows_of(indptr)], x[indices]), w


@sparse_solve_grad.backward(disconnected=["b"])
def sparse_solve_grad_grad(data, indices, indptr, b, x, lu, dx, dddata, ddb):
    rows, w = rows_of(indptr), lu.solve(dx)
    weights = dddata if b.ndim == 1 else dddata[:, None]
    u = lu.solve(ddb - opsdk.sum_at(weights * x[indices], rows, len(b)), "T")
    return -dots(w[rows], u[indices]), None, -opsdk.sum_at(weights * w[rows], indices, len(b)), u


@sparse_solve.check
def sparse_solve_check(data, indices, indptr, b):
    n = indptr.size - 1
    if indptr.ndim != 1 or n < 1 or data.ndim != 1 or indices.shape != data.shape:
        return (
            "data and indices expected of one shape (nnz,) and indptr of shape (n + 1,), n from 1, got "
            f"{data.shape}, {indices.shape} and {indptr.shape}"
        )
    if b.ndim not in (1, 2) or b.shape[0] != n:
        return f"b expected shape ({n},) or ({n}, k), got {b.shape}"
    if data.dtype.name not in ("float32", "float64") or b.dtype != data.dtype:
        return f"data and b expected both float32 or both float64, got {data.dtype} and {b.dtype}; cast one"
    if indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        return f"indptr expected to rise from 0 to {data.size}, got {indptr}"
    if data.size and not 0 <= indices.min() <= indices.max() < n:
        return f"indices expected in [0, {n}), got {indices.min()} to {indices.max()}"
    follows = np.diff(rows_of(indptr)) == 0
    if (np.diff(indices)[follows] <= 0).any():
        return "indices expected to ascend within a row, each column once; A.sum_duplicates() sees to it"
    return None


def tridiagonal(n, rng, extra=()):
    """Returns a diagonally dominant matrix in rows; `extra` has elements beside the three diagonals."""
    entries = {(i, j): rng.normal() + 5 * (i == j) for i in range(n) for j in range(n) if abs(i - j) < 2}
    entries |= {place: rng.normal() for place in extra}
    places = np.array(sorted(entries)).reshape(-1, 2)
    data = np.array([entries[tuple(place)] for place in places])
    return data, places[:, 1], np.searchsorted(places[:, 0], np.arange(n + 1))


@sparse_solve.samples
def sparse_solve_samples(rng):
    yield opsdk.Sample(*tridiagonal(5, rng), rng.normal(size=5), reason="three diagonals")
    corner = tridiagonal(4, rng, extra=[(0, 3), (3, 0)])
    yield opsdk.Sample(*corner, rng.normal(size=(4, 3)), reason="fill-in, several right-hand sides")
    data, indices, indptr = tridiagonal(6, rng, extra=[(5, 0)])
    yield opsdk.Sample(data, indices.astype(np.int32), indptr.astype(np.int32), rng.normal(size=6), reason="int32")
    swap = (np.array([2.0, -3.0]), np.array([1, 0]), np.array([0, 1, 2]))
    yield opsdk.Sample(*swap, rng.normal(size=2), reason="zeros on the diagonal, which need a pivot")
    yield opsdk.Sample(*tridiagonal(1, rng), rng.normal(size=(1, 1)), reason="one unknown")
    yield opsdk.Sample(*tridiagonal(3, rng), np.zeros((3, 0)), reason="no right-hand side")


@sparse_solve.bench
def sparse_solve_bench(rng, n):
    """The five-point Laplacian of a square, plus the identity; about n elements."""
    side = max(2, round((n / 5) ** 0.5))
    at = np.arange(side * side).reshape(side, side)
    pairs = [(at[1:], at[:-1]), (at[:-1], at[1:]), (at[:, 1:], at[:, :-1]), (at[:, :-1], at[:, 1:]), (at, at)]
    rows = np.concatenate([left.ravel() for left, _ in pairs])
    columns = np.concatenate([right.ravel() for _, right in pairs])
    order = np.lexsort((columns, rows))
    data = np.where(rows == columns, 5.0, -1.0)[order]
    indptr = np.searchsorted(rows[order], np.arange(side * side + 1))
    return opsdk.Sample(data, columns[order], indptr, rng.normal(size=side * side))
