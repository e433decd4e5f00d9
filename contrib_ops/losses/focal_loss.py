"""Focal loss: cross entropy with logits in which what is predicted well already counts little."""

from typing import Any

import numpy as np

import opsdk
from opsdk import vmath

REDUCTIONS = ("none", "mean", "sum")


@opsdk.elementwise(
    "contrib::focal_terms(Tensor inputs, Tensor targets, *, float <= 1 alpha=0.25, float >= 0 gamma=2.0)"
    " -> Tensor loss",
    domain={"targets": (0.0, 1.0)},
)
def focal_terms(inputs, targets, alpha, gamma):
    """The focal loss of each element; `focal_loss` says what it is."""
    others = 1.0 - targets
    # 1 - p_t and -log p_t, without forming the 1 - p or the log of p that vanish in one of the directions.
    miss = vmath.sigmoid(inputs) * others + vmath.sigmoid(-inputs) * targets
    cross_entropy = vmath.softplus(inputs) * others + vmath.softplus(-inputs) * targets
    # Where miss is so small that it is 0, so is the cross entropy; the gradient of a power below 1 is infinite there.
    is_some = miss > 0
    focus = vmath.where(is_some, vmath.exp(gamma * vmath.log(vmath.where(is_some, miss, 1.0))), 0.0)
    weight = vmath.where(alpha < 0, 1.0, alpha * targets + (1.0 - alpha) * others)
    return weight * focus * cross_entropy


def focal_loss_infer(inputs, targets, reduction):
    spec: Any = focal_terms.opdef.infer(focal_terms.opdef.schema, [inputs, targets], {})[0]
    return spec if reduction == "none" else opsdk.TensorSpec((), spec.dtype)


@opsdk.op(
    "contrib::focal_loss(Tensor inputs, Tensor targets, *, float <= 1 alpha=0.25, float >= 0 gamma=2.0, "
    "'none' | 'mean' | 'sum' reduction='none') -> Tensor loss",
    composite=True,
    infer=focal_loss_infer,
    domain={"targets": (0.0, 1.0)},
)
def focal_loss(inputs, targets, *, alpha, gamma, reduction):
    """-α_t (1 - p_t)^γ log p_t (Lin et al. 2017, Focal Loss for Dense Object Detection, eq. 5).

    p = sigmoid(inputs), p_t = p t + (1 - p)(1 - t) and α_t = alpha t + (1 - alpha)(1 - t) for a target t. For log p_t
    the cross entropy t log p + (1 - t) log(1 - p) is taken, which is the same for t = 0 and t = 1. Arguments and
    results are those of `torchvision.ops.sigmoid_focal_loss`.

    Args:
        inputs: logits, float array of any shape.
        targets: 1 for the positive class, 0 for the negative, or in between; of a shape that broadcasts with inputs,
            usually the same. Outside of [0, 1] the loss is nan.
        alpha: weight of the positive class, at most 1; the negative one has 1 - alpha. Below 0: no weights.
        gamma: how much less an element counts that is predicted well, ≥ 0; 0 gives the weighted cross entropy.
        reduction: "none" for the loss of each element, "mean" (nan for no elements) or "sum" for a 0-d one.

    Nothing overflows, and no digits are lost, for finite logits of any size; infinite ones give nan.

    Raises ValueError: alpha, gamma or the reduction is another.

    Gradient: with respect to inputs and targets, to any order.
    """
    terms = focal_terms(inputs, targets, alpha=alpha, gamma=gamma)
    if reduction == "none":
        return terms
    return opsdk.mean(terms) if reduction == "mean" else opsdk.sum(terms)


@focal_terms.samples
def focal_terms_samples(rng):
    labels = rng.integers(0, 2, (3, 5)).astype(float)
    yield opsdk.Sample(rng.normal(size=(3, 5)), labels, reason="matrix")
    yield opsdk.Sample(rng.normal(size=(3, 5)), labels, alpha=-1.0, gamma=0.5, reason="no weights, a root")
    yield opsdk.Sample(rng.normal(size=(3, 5)), labels, alpha=0.9, gamma=0.0, reason="weighted cross entropy")
    yield opsdk.Sample(rng.normal(size=(2, 3)), rng.uniform(size=(2, 3)), reason="soft targets")
    yield opsdk.Sample(
        np.array([-40.0, 40.0, -300.0, 300.0] * 2), np.repeat([0.0, 1.0], 4), gamma=0.5, reason="far out, a root"
    )
    yield opsdk.Sample(rng.normal(size=(2, 3)), np.array([0.0, 1.0, 1.0]), reason="targets that broadcast")
    yield opsdk.Sample(np.array(0.3), np.array(1.0), reason="0-d")
    yield opsdk.Sample(np.zeros((0, 4)), np.zeros((0, 4)), reason="empty")


@focal_loss.samples
def focal_loss_samples(rng):
    labels = rng.integers(0, 2, (3, 5)).astype(float)
    for reduction in REDUCTIONS:
        yield opsdk.Sample(rng.normal(size=(3, 5)), labels, reduction=reduction, reason=f"reduction {reduction}")
    yield opsdk.Sample(np.zeros((0, 4)), np.zeros((0, 4)), reduction="sum", reason="empty, whose sum is 0")


@focal_terms.bench
@focal_loss.bench
def focal_bench(rng, n):
    """Logits of 80 classes, of which 2 % are right."""
    shape = max(1, n // 80), 80
    return opsdk.Sample(rng.normal(size=shape), (rng.uniform(size=shape) < 0.02).astype(float))
