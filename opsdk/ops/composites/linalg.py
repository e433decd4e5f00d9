"""opsdk.linalg: functions of vectors and matrices under the names that Paddle, PyTorch and NumPy have in `linalg`."""

from __future__ import annotations

from typing import Any

from opsdk.core.spellings import point, spelled
from opsdk.ops import functions
from opsdk.ops.composites import factoring
from opsdk.ops.functions import (
    corrcoef,
    cov,
    cross,
    det,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    norm,
    slogdet,
    solve,
    vecdot,
)
from opsdk.ops.functions import inverse as inv


# Any: arrays, tensors or Program variables, and the same out.
@spelled
def vander(x: Any, N: int | None = None) -> Any:
    """Returns the powers of each element of a vector from 0 up, a row each, as in PyTorch, which alone has it here."""
    return functions.vander(x, N, increasing=True)


cholesky = spelled(factoring.cholesky)
cholesky_inverse = spelled(factoring.cholesky_inverse)
cholesky_solve = spelled(factoring.cholesky_solve)
cond = spelled(factoring.cond)
eigh = spelled(factoring.eigh)
eigvalsh = spelled(factoring.eigvalsh)
lstsq = spelled(factoring.lstsq)
matrix_rank = spelled(factoring.matrix_rank)
pinv = spelled(factoring.pinv)
qr = spelled(factoring.qr)
solve_triangular = spelled(factoring.solve_triangular)
svd = spelled(factoring.svd)
svdvals = spelled(factoring.svdvals)
triangular_solve = spelled(factoring.triangular_solve)

point(globals(), "opsdk.linalg")

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "cond",
    "corrcoef",
    "cov",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "triangular_solve",
    "vander",
    "vecdot",
]
