"""Losses of each element, as expressions: of probabilities, logits, differences, and log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.define.sample import Sample
from opsdk.expr import vmath
from opsdk.expr.decorators import elementwise, rowwise
from opsdk.ops.elementary import FLOATING
from opsdk.ops.elementary import log as log_of
from opsdk.ops.elementary import log1p as log1p_of
from opsdk.ops.elementwise import elementwise_div, elementwise_max, elementwise_mul, elementwise_sub

# Any, in this file: symbols, while an expression is read; values of any runtime in a backward.
_LEAST_LOG = -100.0  # of a probability, as in PyTorch and Paddle
_LEAST_RANGE = 1e-12  # by which its gradient is divided at least, as there


@elementwise(
    "opsdk::bce_loss(Tensor x, Tensor label) -> Tensor out",
    infer=FLOATING,
    domain={"x": (0.0, 1.0), "label": (0.0, 1.0)},
    lazy=True,
)
def bce_loss(x: Any, label: Any) -> Any:
    """-(label · log x + (1 - label) · log(1 - x)) of probabilities x; logarithms are -100 at least, as in PyTorch.

    The gradient divides by x (1 - x), which is 1e-12 at least, so that a wrong certainty is corrected.
    """
    hit, miss = vmath.maximum(vmath.log(x), _LEAST_LOG), vmath.maximum(vmath.log1p(-x), _LEAST_LOG)
    return -(label * hit + (1.0 - label) * miss)


@bce_loss.backward(composite=True)
def bce_loss_grad(x: Any, label: Any, dout: Any) -> Any:
    """(x - label) / (x (1 - x)), and log(1 - x) - log x."""
    spread = elementwise_max(elementwise_mul(x, 1.0 - x), _LEAST_RANGE)
    dx = elementwise_mul(dout, elementwise_div(elementwise_sub(x, label), spread))
    hit, miss = elementwise_max(log_of(x), _LEAST_LOG), elementwise_max(log1p_of(x * -1.0), _LEAST_LOG)
    return dx, elementwise_mul(dout, elementwise_sub(miss, hit))


@elementwise("opsdk::bce_with_logits(Tensor x, Tensor label) -> Tensor out", infer=FLOATING, lazy=True)
def bce_with_logits(x: Any, label: Any) -> Any:
    """`bce_loss` of σ(x): log(1 + exp(-x)) + (1 - label) x, without overflow."""
    return vmath.softplus(-x) + (1.0 - label) * x


@elementwise(
    "opsdk::huber_loss(Tensor x, Tensor label, *, float > 0 delta=1.0) -> Tensor out", infer=FLOATING, lazy=True
)
def huber_loss(x: Any, label: Any, *, delta: Any) -> Any:
    """(x - label)² / 2 where |x - label| ≤ delta, else delta (|x - label| - delta / 2) (Huber 1964)."""
    z = x - label
    size = vmath.abs(z)
    return vmath.where(size > delta, delta * (size - 0.5 * delta), 0.5 * z * z)


@elementwise(
    "opsdk::kl_div(Tensor x, Tensor label) -> Tensor out", infer=FLOATING, lazy=True, domain={"label": (0.0, None)}
)
def kl_div(x: Any, label: Any) -> Any:
    """label (log label - x) of log-probabilities x; 0 where the label is not above 0."""
    some = vmath.where(label > 0.0, label, 1.0)
    return vmath.where(label > 0.0, label * (vmath.log(some) - x), 0.0)


@rowwise(
    "opsdk::nll_loss(Tensor x, Tensor<int> label, *, int ignore_index=-100) -> Tensor out",
    per_row=("label",),
    keepdim=True,
    lazy=True,
)
def nll_loss(x: Any, label: Any, *, ignore_index: Any) -> Any:
    """-x[label] per row, for log-probabilities x of shape (..., classes); of shape (..., 1), 0 where ignored."""
    counts = label != ignore_index
    return vmath.where(counts, -vmath.row_take(x, vmath.where(counts, label, 0.0)), 0.0)


@nll_loss.samples
def _log_probabilities(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(4, 3)), np.array([0, 2, 1, 2]), reason="labels as a vector")
    yield Sample(
        rng.normal(size=(2, 3, 2)), np.array([[0, 7, 1], [1, 0, 0]]), ignore_index=7, reason="3-d, one ignored"
    )
    yield Sample(np.zeros((0, 3)), np.zeros(0, np.int64), reason="no rows")


@bce_loss.samples
@bce_with_logits.samples
@kl_div.samples
def _of_labels(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.uniform(0.1, 0.9, (3, 5)), rng.uniform(0.1, 0.9, (3, 5)), reason="probabilities as labels")
    yield Sample(rng.uniform(0.1, 0.9, (7, 13)), rng.uniform(0.1, 0.9, 13), reason="past one vector, broadcast")
    yield Sample(np.array(0.3), np.array(0.5), reason="0-d")
    yield Sample(np.zeros((0, 4)), np.zeros((0, 4)), reason="empty")
