"""Losses and accuracy for classification."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def _classes(label: np.ndarray, rows: int, classes: int, ignore_index: int, subject: str) -> np.ndarray:
    """Returns labels as a vector, checked: one integer class in [0, classes) per row, or `ignore_index`."""
    flat = label.reshape(-1)
    if label.dtype.kind not in "iu":
        raise DTypeError(f"{subject}: label expected an integer dtype, got {label.dtype}")
    if flat.size != rows:
        raise ShapeError(f"{subject}: label expected one class per row, {rows} of them, got shape {label.shape}")
    used = flat[flat != ignore_index]
    if used.size and (used.min() < 0 or used.max() >= classes):
        wrong = used[(used < 0) | (used >= classes)][0]
        raise ShapeError(f"{subject}: label expected in [0, {classes}) or ignore_index={ignore_index}, got {wrong}")
    return flat


@op(
    "opsdk::softmax_with_cross_entropy(Tensor logits, Tensor label, *, int ignore_index=-100) "
    "-> (Tensor softmax, Tensor loss)",
    nondifferentiable=("label", "softmax"),
)
def softmax_with_cross_entropy(
    logits: np.ndarray, label: np.ndarray, *, ignore_index: int = -100
) -> tuple[np.ndarray, np.ndarray]:
    """-log softmax(logits)[label] per row, and the softmax that the backward needs.

    Args:
        logits: float array of shape (..., classes).
        label: integer classes, of shape (...) or (..., 1).
        ignore_index: label of the rows that do not count.

    The loss has shape (..., 1); it is 0 in the rows that do not count.
    """
    classes = logits.shape[-1]
    shifted = logits - logits.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(shifted)
    total = weights.sum(axis=-1, keepdims=True)
    flat = _classes(label, total.size, classes, ignore_index, "op 'opsdk::softmax_with_cross_entropy'")
    used = flat != ignore_index
    picked = shifted.reshape(-1, classes)[np.arange(flat.size), np.where(used, flat, 0)]
    loss = np.where(used, np.log(total.reshape(-1)) - picked, logits.dtype.type(0)).astype(logits.dtype)
    return weights / total, loss.reshape(total.shape).copy()


@softmax_with_cross_entropy.infer
def _softmax_with_cross_entropy(logits: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    return logits, TensorSpec((*logits.shape[:-1], 1), logits.dtype)


@softmax_with_cross_entropy.backward
def softmax_with_cross_entropy_grad(
    label: np.ndarray, softmax: np.ndarray, dloss: np.ndarray, ignore_index: int
) -> np.ndarray:
    """(softmax - onehot(label)) · dloss; zero for ignored rows."""
    classes = softmax.shape[-1]
    flat = label.reshape(-1)
    used = flat != ignore_index
    grad = softmax.reshape(-1, classes).copy()
    grad[np.arange(flat.size), np.where(used, flat, 0)] -= 1
    grad *= np.where(used, dloss.reshape(-1), 0).astype(dloss.dtype)[:, None]
    return grad.reshape(softmax.shape).copy()


@softmax_with_cross_entropy.samples
def _logits(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(4, 3)), np.array([[0], [2], [1], [2]]), reason="labels as a column")
    yield Sample(rng.normal(size=(3, 4)), np.array([1, 3, 0]), reason="labels as a vector")
    yield Sample(rng.normal(size=(3, 4)), np.array([1, -100, 0]), reason="one row ignored")
    yield Sample(rng.normal(size=(2, 3, 2)), np.array([[0, 1, 1], [1, 7, 0]]), ignore_index=7, reason="3-d, ignore 7")
    yield Sample(np.array([[1000.0, 999.0], [999.5, 1000.0]]), np.array([0, 1]), reason="overflow without the maximum")
    yield Sample(rng.normal(size=(3,)), np.array([2]), reason="a single row, 1-d")
    yield Sample(np.zeros((0, 3)), np.zeros((0, 1), np.int64), reason="no rows")


@op(
    "opsdk::cross_entropy(Tensor x, Tensor label, *, int ignore_index=-100) -> Tensor out", nondifferentiable=("label",)
)
def cross_entropy(x: np.ndarray, label: np.ndarray, *, ignore_index: int = -100) -> np.ndarray:
    """-log x[label] per row, for probabilities x of shape (..., classes); shape (..., 1).

    Probability 0 gives inf, without a warning; rows whose label is `ignore_index` give 0.
    """
    classes = x.shape[-1]
    flat = _classes(label, x.size // max(classes, 1), classes, ignore_index, "op 'opsdk::cross_entropy'")
    used = flat != ignore_index
    picked = x.reshape(-1, classes)[np.arange(flat.size), np.where(used, flat, 0)]
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(used, -np.log(picked), x.dtype.type(0)).astype(x.dtype)
    return loss.reshape(*x.shape[:-1], 1).copy()


@cross_entropy.infer
def _cross_entropy(x: TensorSpec) -> TensorSpec:
    return TensorSpec((*x.shape[:-1], 1), x.dtype)


@cross_entropy.backward
def cross_entropy_grad(x: np.ndarray, label: np.ndarray, dout: np.ndarray, ignore_index: int) -> np.ndarray:
    """-dout / x at the label, zero elsewhere."""
    classes = x.shape[-1]
    flat = label.reshape(-1)
    rows = np.arange(flat.size)[flat != ignore_index]
    columns = flat[flat != ignore_index]
    grad = np.zeros((flat.size, classes), x.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        grad[rows, columns] = -dout.reshape(-1)[rows] / x.reshape(-1, classes)[rows, columns]
    return grad.reshape(x.shape).copy()


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
    best = np.argsort(-x, axis=1, kind="stable")[:, :k]
    with np.errstate(invalid="ignore"):
        return np.divide(np.float32((best == flat).any(axis=1).sum()), np.float32(flat.shape[0]))


@accuracy.infer
def _accuracy(x: TensorSpec) -> TensorSpec:
    return TensorSpec((), "float32")


@accuracy.samples
def _scores(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(6, 3)), np.array([[0], [2], [1], [2], [0], [0]]), reason="labels as a column")
    yield Sample(rng.normal(size=(6, 4)), np.array([0, 2, 1, 3, 0, 0]), k=2, reason="labels as a vector, best two")
    yield Sample(np.zeros((3, 2)), np.array([0, 1, 0]), reason="ties, the first class wins")
    yield Sample(np.zeros((0, 3)), np.zeros((0, 1), np.int64), reason="no rows")
