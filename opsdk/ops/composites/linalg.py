"""opsdk.linalg: functions of vectors and matrices under the names that Paddle, PyTorch and NumPy have in `linalg`."""

from __future__ import annotations

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
    vander,
    vecdot,
)
from opsdk.ops.functions import inverse as inv

__all__ = [
    "corrcoef",
    "cov",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "slogdet",
    "solve",
    "vander",
    "vecdot",
]
