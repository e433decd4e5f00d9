"""Losses and accuracy for classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.expr import vmath
from opsdk.expr.decorators import rowwise

# Any, in this file: symbols, while an expression is read; values of any runtime.


def _picked(x: Any, label: Any, ignore_index: Any) -> tuple[Any, Any]:
    """Returns whether a row counts, and its element at the label; a row that does not count gives its first one."""
    counts = label != ignore_index
    return counts, vmath.row_take(x, vmath.where(counts, label, 0.0))


@rowwise(
    "opsdk::softmax_with_cross_entropy(Tensor logits, Tensor<int> label, *, int ignore_index=-100) "
    "-> (Tensor softmax, Tensor loss)",
    per_row=("label",),
    nondifferentiable={"softmax": "it is saved for the backward; softmax gives it with its gradient"},
    keepdim=True,
    lazy=True,
)
def softmax_with_cross_entropy(logits: Any, label: Any, *, ignore_index: Any) -> tuple[Any, Any]:
    """-log softmax(logits)[label] per row, and the softmax; who wants the loss alone takes `cross_entropy_with_logits`.

    Args:
        logits: float array of shape (..., classes).
        label: integer classes, of shape (...) or (..., 1).
        ignore_index: label of the rows that do not count.

    The loss has shape (..., 1); it is 0 in the rows that do not count.
    """
    total = vmath.row_logsumexp(logits)
    counts, picked = _picked(logits, label, ignore_index)
    return vmath.exp(logits - total), vmath.where(counts, total - picked, 0.0)


@rowwise(
    "opsdk::cross_entropy_with_logits(Tensor logits, Tensor<int> label, *, int ignore_index=-100) -> Tensor loss",
    per_row=("label",),
    keepdim=True,
    lazy=True,
)
def cross_entropy_with_logits(logits: Any, label: Any, *, ignore_index: Any) -> Any:
    """-log softmax(logits)[label] per row.

    Args:
        logits: float array of shape (..., classes).
        label: integer classes in [0, classes), of shape (...) or (..., 1).
        ignore_index: label of the rows that do not count: their loss and gradient are 0.

    The loss has shape (..., 1). Differentiable in the logits, to any order.
    """
    counts, picked = _picked(logits, label, ignore_index)
    return vmath.where(counts, vmath.row_logsumexp(logits) - picked, 0.0)


@cross_entropy_with_logits.samples
@softmax_with_cross_entropy.samples
def _logits(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(4, 3)), np.array([[0], [2], [1], [2]]), reason="labels as a column")
    yield Sample(rng.normal(size=(3, 4)), np.array([1, 3, 0]), reason="labels as a vector")
    yield Sample(rng.normal(size=(3, 4)), np.array([1, -100, 0]), reason="one row ignored")
    yield Sample(rng.normal(size=(2, 3, 2)), np.array([[0, 1, 1], [1, 7, 0]]), ignore_index=7, reason="3-d, ignore 7")
    yield Sample(np.array([[1000.0, 999.0], [999.5, 1000.0]]), np.array([0, 1]), reason="overflow without the maximum")
    yield Sample(rng.normal(size=(3,)), np.array([2]), reason="a single row, 1-d")
    yield Sample(np.zeros((0, 3)), np.zeros((0, 1), np.int64), reason="no rows")


@rowwise(
    "opsdk::cross_entropy(Tensor x, Tensor<int> label, *, int ignore_index=-100) -> Tensor out",
    per_row=("label",),
    keepdim=True,
    lazy=True,
)
def cross_entropy(x: Any, label: Any, *, ignore_index: Any) -> Any:
    """-log x[label] per row, for probabilities x of shape (..., classes); shape (..., 1).

    Probability 0 gives inf, without a warning; rows whose label is `ignore_index` give 0.
    """
    counts, picked = _picked(x, label, ignore_index)
    return vmath.where(counts, -vmath.log(picked), 0.0)


@cross_entropy.samples
def _probabilities(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.uniform(0.1, 1.0, (4, 3)), np.array([[0], [2], [1], [2]]), reason="labels as a column")
    yield Sample(rng.uniform(0.1, 1.0, (3, 4)), np.array([1, -100, 0]), reason="one row ignored")
    yield Sample(rng.uniform(0.1, 1.0, (2, 3, 2)), np.array([[0, 1, 1], [1, 0, 0]]), reason="3-d")
    yield Sample(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 0]), reason="probabilities 0 and 1")
    yield Sample(np.zeros((0, 3)), np.zeros((0, 1), np.int64), reason="no rows")


@op("opsdk::accuracy(Tensor x, Tensor label, *, int k=1) -> Tensor out", nondifferentiable=("x", "label", "out"))
def accuracy(x: np.ndarray, label: np.ndarray, *, k: int = 1) -> np.ndarray:
    """Share of rows whose label is among the k greatest scores; float32, 0-d."""
    flat = label.reshape(-1, 1)
    if flat.shape[0] != x.shape[0]:
        raise ShapeError(f"op 'opsdk::accuracy': label expected {x.shape[0]} rows like x, got shape {label.shape}")
    best = best_first(x)[:, :k]
    with np.errstate(invalid="ignore"):
        return np.divide((best == flat).any(axis=1).sum(), flat.shape[0]).astype(np.float32)


def among_best(x: Any, label: Any, k: int) -> Any:
    """Returns what `accuracy` gives, for any runtime.

    Raises:
        AttributeValueError: k below 1.
    """
    if k < 1:
        raise AttributeValueError(f"accuracy: k expected ≥ 1, got {k}")
    return accuracy(x, label, k=k)


def best_first(scores: np.ndarray) -> np.ndarray:
    """Returns the classes of each row of scores, the best first, of equal ones the first one first."""
    # ~x falls as x grows, as -x does, but does not wrap: -x of uint8 0 is 0, and greater than that of 1
    falling = np.invert(scores) if scores.dtype.kind in "biu" else -scores
    return np.argsort(falling, axis=1, kind="stable")


@accuracy.infer
def _accuracy(x: TensorSpec) -> TensorSpec:
    return TensorSpec((), "float32")


@accuracy.samples
def _scores(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(6, 3)), np.array([[0], [2], [1], [2], [0], [0]]), reason="labels as a column")
    yield Sample(rng.normal(size=(6, 4)), np.array([0, 2, 1, 3, 0, 0]), k=2, reason="labels as a vector, best two")
    yield Sample(np.zeros((3, 2)), np.array([0, 1, 0]), reason="ties, the first class wins")
    yield Sample(np.zeros((0, 3)), np.zeros((0, 1), np.int64), reason="no rows")
