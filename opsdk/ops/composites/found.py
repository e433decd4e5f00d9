"""What functions give of several values by name, as PyTorch names them."""

from __future__ import annotations

from typing import Any, NamedTuple


# Any, in this file: arrays, tensors or Program variables.
class Found(NamedTuple):
    """Elements, and their positions."""

    values: Any
    indices: Any


class Extremes(NamedTuple):
    """The least and the greatest element."""

    min: Any
    max: Any


class Eigen(NamedTuple):
    """Eigenvalues, and their vectors."""

    eigenvalues: Any
    eigenvectors: Any


class QR(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


class SVD(NamedTuple):
    """Singular values, and the vectors on both sides of them."""

    U: Any
    S: Any
    Vh: Any


class LeastSquares(NamedTuple):
    """What solves equations best, and what is known of them."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any
