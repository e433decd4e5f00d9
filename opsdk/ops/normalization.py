"""Functions of rows: softmax, log_softmax, logsumexp, layer_norm, standardize, rms_norm, cosine_similarity.

Each is one expression over a row; `rowwise` derives the gradients and the backends compile both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.define.sample import Sample
from opsdk.expr import vmath
from opsdk.expr.decorators import rowwise

# Any, in this file: symbols, while an expression is read.


@rowwise("opsdk::softmax(Tensor x, *, int axis=-1) -> Tensor out", lazy=True)
def softmax(x: Any) -> Any:
    """exp(x) normalised to sum 1 along an axis; nothing overflows, a row of -inf gives nan."""
    return vmath.exp(x - vmath.row_logsumexp(x))


@rowwise("opsdk::log_softmax(Tensor x, *, int axis=-1) -> Tensor out", lazy=True)
def log_softmax(x: Any) -> Any:
    """log of softmax, without forming the softmax."""
    return x - vmath.row_logsumexp(x)


@rowwise("opsdk::logsumexp(Tensor x, *, int axis=-1) -> Tensor out", lazy=True)
def logsumexp(x: Any) -> Any:
    """log of the sum of exp(x) along an axis; nothing overflows, -inf of a row of -inf."""
    return vmath.row_logsumexp(x)


@softmax.samples
@logsumexp.samples
@log_softmax.samples
def _along_an_axis(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="matrix, last axis")
    yield Sample(rng.normal(size=(2, 3, 2)), axis=1, reason="inner axis")
    yield Sample(rng.normal(size=(2, 3)), axis=-2, reason="axis counted from the end")
    yield Sample(np.array([1000.0, 999.0, -1000.0]), reason="overflow, were the maximum not taken off")
    yield Sample(np.array([0.5, 0.5, 0.5]), reason="ties")
    yield Sample(np.ones((3, 1)), reason="one element per row")
    yield Sample(np.zeros((0, 4)), reason="no rows")
    yield Sample(np.zeros((3, 0)), reason="rows of nothing")


@rowwise(
    "opsdk::layer_norm(Tensor x, Tensor weight, Tensor bias, *, float epsilon=1e-5) -> Tensor out",
    per_column=("weight", "bias"),
    lazy=True,
)
def layer_norm(x: Any, weight: Any, bias: Any, *, epsilon: Any) -> Any:
    """(x - mean) / √(variance + epsilon) · weight + bias over the last axis (Ba, Kiros and Hinton 2016, eq. 3).

    Args:
        x: float array of shape (..., n).
        weight: of shape (n,).
        bias: of shape (n,).
        epsilon: added to the variance, > 0; same unit as x squared.
    """
    centred = x - vmath.row_mean(x)
    return centred * vmath.rsqrt(vmath.row_mean(centred * centred) + epsilon) * weight + bias


@rowwise("opsdk::standardize(Tensor x, *, float epsilon=1e-5) -> Tensor out", lazy=True)
def standardize(x: Any, *, epsilon: Any) -> Any:
    """(x - mean) / √(variance + epsilon) over the last axis: what group and instance norm are made of.

    Args:
        x: float array of shape (..., n).
        epsilon: added to the variance, > 0; same unit as x squared.
    """
    centred = x - vmath.row_mean(x)
    return centred * vmath.rsqrt(vmath.row_mean(centred * centred) + epsilon)


@standardize.samples
def _rows(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(2, 3, 4)), reason="3-d")
    yield Sample(np.ones((2, 3)), epsilon=0.1, reason="rows of equal elements")
    yield Sample(np.zeros((0, 4)), reason="no rows")


@rowwise(
    "opsdk::rms_norm(Tensor x, Tensor weight, *, float epsilon=1e-6) -> Tensor out",
    per_column=("weight",),
    lazy=True,
)
def rms_norm(x: Any, weight: Any, *, epsilon: Any) -> Any:
    """x / √(mean x² + epsilon) · weight over the last axis (Zhang and Sennrich 2019, eq. 4).

    Args:
        x: float array of shape (..., n).
        weight: of shape (n,).
        epsilon: added to the mean square, > 0; same unit as x squared.
    """
    return x * vmath.rsqrt(vmath.row_mean(x * x) + epsilon) * weight


@layer_norm.samples
def _with_weight_and_bias(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), rng.normal(size=5), rng.normal(size=5), reason="matrix")
    yield Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=4), rng.normal(size=4), epsilon=0.1, reason="3-d")
    yield Sample(rng.normal(size=(7,)), rng.normal(size=7), rng.normal(size=7), reason="one row, 1-d")
    yield Sample(1e4 + rng.normal(size=(2, 6)), np.ones(6), np.zeros(6), reason="a mean far from 0")
    yield Sample(np.ones((2, 3)), np.ones(3), np.ones(3), reason="rows of equal elements")
    yield Sample(np.zeros((0, 4)), np.ones(4), np.ones(4), reason="no rows")


@rms_norm.samples
def _with_weight(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), rng.normal(size=5), reason="matrix")
    yield Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=4), epsilon=0.1, reason="3-d")
    yield Sample(rng.normal(size=(7,)), rng.normal(size=7), reason="one row, 1-d")
    yield Sample(np.zeros((0, 4)), np.ones(4), reason="no rows")


@rowwise("opsdk::cosine_similarity(Tensor x1, Tensor x2, *, int axis=1, float eps=1e-8) -> Tensor out", lazy=True)
def cosine_similarity(x1: Any, x2: Any, *, eps: Any) -> Any:
    """Σ x1 · x2 / (max(‖x1‖, eps) · max(‖x2‖, eps)) along an axis, which is dropped.

    Args:
        x1: float array.
        x2: float array of the same shape.
        axis: along which the vectors lie.
        eps: least norm that is divided by, > 0.
    """
    norms = [vmath.sqrt(vmath.maximum(vmath.row_sum(x * x), eps * eps)) for x in (x1, x2)]
    return vmath.row_sum(x1 * x2) / (norms[0] * norms[1])


@cosine_similarity.samples
def _pairs(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), reason="matrix")
    yield Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4)), axis=0, reason="first axis")
    yield Sample(rng.normal(size=(4,)), rng.normal(size=(4,)), axis=-1, reason="one pair of vectors")
    yield Sample(np.zeros((0, 4)), np.ones((0, 4)), reason="no rows")
