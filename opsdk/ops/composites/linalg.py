"""opsdk.linalg: functions of vectors and matrices under the names that Paddle, PyTorch and NumPy have in `linalg`."""

from __future__ import annotations

from typing import Any

from opsdk.core.spellings import point, spelled
from opsdk.ops import functions
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


point(globals(), "opsdk.linalg")

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
