"""Lengths of vectors and distances between them, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.nn.functions.words import in_both_words
from opsdk.ops import functions as ops
from opsdk.ops.shape import known_size


# Any, in this file: tensors, variables or arrays, and the same out.
@in_both_words
def normalize(x: Any, p: float = 2.0, axis: int = 1, epsilon: float = 1e-12) -> Any:
    """Returns x / max(‖x‖, epsilon) along an axis. Differentiable.

    Args:
        x: floats.
        p: which norm.
        axis: along which vectors lie.
        epsilon: the least that is divided by.
    """
    return ops.divide(x, ops.maximum(ops.norm(x, p, axis, keepdim=True), epsilon))


@in_both_words
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """Returns x1 · x2 / max(‖x1‖ ‖x2‖, eps) along an axis, as in Paddle; PyTorch holds each norm to eps.

    Differentiable in both, which broadcast.
    """
    lengths = ops.multiply(ops.norm(x1, 2.0, axis), ops.norm(x2, 2.0, axis))
    return ops.divide(ops.sum(ops.multiply(x1, x2), axis), ops.maximum(lengths, eps))


@in_both_words
def pairwise_distance(x: Any, y: Any, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False) -> Any:
    """Returns ‖x - y + epsilon‖ along the last axis, of the p-norm. Differentiable in both."""
    return ops.norm(ops.subtract(x, y) + epsilon, p, -1, keepdim=keepdim)


@in_both_words
def pdist(x: Any, p: float = 2.0) -> Any:
    """Returns the distances of the rows of a matrix from those that come later, in one line. Differentiable.

    Raises:
        ShapeError: x is no matrix.
    """
    if len(x.shape) != 2:
        raise ShapeError(f"pdist: x expected 2 axes, (points, size), got shape {tuple(x.shape)}")
    first, second = np.triu_indices(known_size(x, 0, "pdist"), 1)
    return ops.norm(ops.subtract(ops.gather(x, first), ops.gather(x, second)), p, -1)


@in_both_words
def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    """Returns Σ x1_i weight_oij x2_j + bias_o.

    Args:
        x1: floats of shape (..., i).
        x2: of shape (..., j).
        weight: of shape (out, i, j).
        bias: of shape (out,), or (1, out) as Paddle has it; or None.

    Returns:
        Of shape (..., out). Differentiable in all, to any order.
    """
    made = ops.einsum("...i,oij,...j->...o", x1, weight, x2)
    return made if bias is None else ops.add(made, bias)


FUNCTIONS = normalize, cosine_similarity, pairwise_distance, pdist, bilinear
