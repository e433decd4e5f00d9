"""Losses of margins, distances and distributions, for every runtime."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, InputValueError
from opsdk.nn.elementwise_loss import binary_cross_entropy_with_logits, compared, reduced, weighted
from opsdk.nn.functions.distance import pairwise_distance
from opsdk.nn.functions.words import in_both_words
from opsdk.nn.loss import check_reduction, check_shape, cross_entropy, widened
from opsdk.ops import functions as ops
from opsdk.ops.activation import softplus
from opsdk.ops.shape import known_size
from opsdk.static.ir.variable import Variable


# Any, in this file: tensors, variables or arrays, and the same out.
@in_both_words
def cosine_embedding_loss(input1: Any, input2: Any, label: Any, margin: float = 0.0, reduction: str = "mean") -> Any:
    """Returns 1 - cos of two vectors where the label is 1, max(0, cos - margin) where it is -1.

    Args:
        input1: floats of shape (N, size), or (size,).
        input2: of that shape.
        label: 1 or -1, of shape (N,), or ().
        margin: in [-1, 1].
        reduction: mean, sum, or none.

    Returns:
        A 0-d value, or with "none" one for each pair. Differentiable in both; 10⁻¹¹ is added to squares of lengths.

    Raises:
        ShapeError: the shapes differ.
        AttributeValueError: another reduction.
        DTypeError: both are integers.
    """
    x, y = compared("cosine_embedding_loss", reduction, input1, input2)
    lengths = [ops.sqrt(ops.sum(ops.square(each), -1) + 1e-11) for each in (x, y)]
    cos = ops.divide(ops.sum(ops.multiply(x, y), -1), ops.multiply(*lengths))
    if tuple(label.shape) not in (tuple(cos.shape), (1,)):
        check_shape("cosine_embedding_loss: label", label.shape, cos.shape, "of the input without its last axis")
    far = ops.multiply(ops.relu(cos - float(margin)), ops.cast(ops.equal(label, -1), cos.dtype))
    return reduced(ops.where(ops.equal(label, 1), 1.0 - cos, far), reduction, input1, input2)


@in_both_words
def gaussian_nll_loss(
    input: Any, label: Any, variance: Any, full: bool = False, epsilon: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Returns ½ (log v + (input - label)² / v), v the variance, epsilon at least.

    Args:
        input: means, of any shape.
        label: of that shape.
        variance: ≥ 0, of that shape, or without its last axis or with size 1 there; or a number.
        full: adds ½ log 2π.
        epsilon: > 0; a variance that is held to it has no gradient there.
        reduction: mean, sum, or none.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `cosine_embedding_loss`.
    """
    x, y = compared("gaussian_nll_loss", reduction, input, label)
    shape, v = tuple(x.shape), variance
    if isinstance(v, (int, float)):
        v = np.asarray(v, x.dtype)
    elif tuple(v.shape) == shape[:-1] and shape:
        v = ops.unsqueeze(v, -1)
    if tuple(v.shape) not in ((), (*shape[:-1], 1), shape):
        check_shape("gaussian_nll_loss: variance", v.shape, shape, "of the input")
    v, is_below = widened(v), ops.less_than(v, 0.0)
    if not isinstance(v, Variable) and ops.any(is_below):
        raise InputValueError(f"gaussian_nll_loss: variance expected numbers ≥ 0, got {ops.min(v).item()}")
    v = ops.where(is_below, float("nan"), ops.maximum(v, epsilon))  # a Program cannot refuse it
    each = ops.add(ops.log(v), ops.divide(ops.square(ops.subtract(x, y)), v)) * 0.5
    return reduced(each + 0.5 * math.log(2 * math.pi) if full else each, reduction, input, label)


@in_both_words
def poisson_nll_loss(
    input: Any,
    label: Any,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """Returns exp(input) - label · input; of rates that are no logarithms input - label · log(input + epsilon).

    Args:
        input: logarithms of rates, of any shape; or rates.
        label: counts, of that shape.
        log_input: whether the input are logarithms.
        full: adds Stirling's label log label - label + ½ log 2π label where the label is above 1.
        epsilon: > 0.
        reduction: mean, sum, or none.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `cosine_embedding_loss`.
    """
    if not epsilon > 0:
        raise AttributeValueError(f"poisson_nll_loss: epsilon expected a number > 0, got {epsilon!r}")
    x, y = compared("poisson_nll_loss", reduction, input, label)
    each = ops.subtract(ops.exp(x) if log_input else x, ops.multiply(y, x if log_input else ops.log(x + epsilon)))
    if full:
        large = ops.maximum(y, 1.0)
        more = ops.multiply(large, ops.log(large)) - large + ops.log(large * (2 * math.pi)) * 0.5
        each = ops.add(each, ops.where(ops.greater_than(y, 1.0), more, ops.multiply(more, 0.0)))
    return reduced(each, reduction, input, label)


@in_both_words
def multi_label_soft_margin_loss(input: Any, label: Any, weight: Any = None, reduction: str = "mean") -> Any:
    """Returns the mean over classes of binary cross entropy of σ(input); labels are 1 and 0, one for each class.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `cosine_embedding_loss`.
    """
    x, y = compared("multi_label_soft_margin_loss", reduction, input, label)
    each = weighted(binary_cross_entropy_with_logits(x, y, reduction="none"), weight)
    return reduced(ops.mean(each, -1), reduction, input)


@in_both_words
def multi_margin_loss(
    input: Any, label: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:
    """Returns Σ max(0, margin - input[label] + input[i])ᵖ over the other classes i, divided by their number.

    Args:
        input: scores of shape (N, classes), or (classes,).
        label: integer classes of shape (N,), or ().
        p: 1 or 2.
        margin: by how much the score of the label is to be the greatest.
        weight: of shape (classes,), a factor for each label.
        reduction: mean, sum, or none.

    Raises:
        ShapeError: the shapes do not fit.
        AttributeValueError: another reduction or p, or a label is none of the classes.
    """
    check_reduction(reduction, "multi_margin_loss")
    if p not in (1, 2):
        raise AttributeValueError(f"multi_margin_loss: p expected 1 or 2, got {p!r}")
    check_shape("multi_margin_loss: label", label.shape, input.shape[:-1], "of the input without its classes")
    x, at = widened(input), ops.unsqueeze(label, -1)
    apart = ops.relu(ops.subtract(x, ops.take_along_axis(x, at, -1)) + float(margin))
    each = ops.square(apart) if p == 2 else apart
    others = ops.cast(ops.not_equal(np.arange(known_size(x, len(x.shape) - 1, "multi_margin_loss")), at), x.dtype)
    each = ops.mean(ops.multiply(each, others), -1)
    if weight is not None:
        check_shape("multi_margin_loss: weight", weight.shape, x.shape[-1:], "with a factor for each class")
        each = ops.multiply(each, ops.gather(weight, label))
    return reduced(each, reduction, input)


@in_both_words
def multi_label_margin_loss(input: Any, label: Any, reduction: str = "mean") -> Any:
    """Returns Σ max(0, 1 - input[j] + input[i]) / classes over labels j and all i that are none.

    Args:
        input: scores of shape (N, classes), or (classes,).
        label: integer classes of that shape; the first -1 of a row ends its labels.
        reduction: mean, sum, or none.

    Raises:
        ShapeError: the shapes differ.
        AttributeValueError: another reduction, or a label is none of the classes.
    """
    check_reduction(reduction, "multi_label_margin_loss")
    check_shape("multi_label_margin_loss: label", label.shape, input.shape, "of the input")
    x, classes = widened(input), known_size(input, len(input.shape) - 1, "multi_label_margin_loss")
    used = ops.cumprod(ops.cast(ops.not_equal(label, -1), "int64"), -1)
    at = ops.multiply(ops.cast(label, "int64"), used)
    share = ops.cast(used, x.dtype)
    marked = ops.multiply(ops.one_hot(at, classes, x.dtype), ops.unsqueeze(share, -1))
    others = 1.0 - ops.max(marked, -2)
    apart = ops.relu(ops.subtract(ops.unsqueeze(x, -2), ops.unsqueeze(ops.take_along_axis(x, at, -1), -1)) + 1.0)
    counted = ops.multiply(ops.multiply(apart, ops.unsqueeze(others, -2)), ops.unsqueeze(share, -1))
    return reduced(ops.sum(counted, [-2, -1]) * (1.0 / classes), reduction, input)


@in_both_words
def triplet_margin_with_distance_loss(
    input: Any,
    positive: Any,
    negative: Any,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """Returns max(0, d(input, positive) - d(input, negative) + margin), d the distance (Balntas et al. 2016).

    Args:
        input: floats of shape (N, size).
        positive: of that shape, what is to be near.
        negative: of that shape, what is to be far.
        distance_function: d of two such values; `pairwise_distance` unless given.
        margin: ≥ 0.
        swap: takes d(positive, negative) where that is less than d(input, negative).
        reduction: mean, sum, or none.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `cosine_embedding_loss`; or the margin lies below 0.
    """
    if not margin >= 0:
        raise AttributeValueError(f"triplet_margin_loss: margin expected a number ≥ 0, got {margin!r}")
    x, near = compared("triplet_margin_loss", reduction, input, positive)
    _, far = compared("triplet_margin_loss", reduction, input, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    away = distance(x, far)
    away = ops.minimum(away, distance(near, far)) if swap else away
    return reduced(ops.relu(ops.subtract(distance(x, near), away) + float(margin)), reduction, input, positive)


@in_both_words
def triplet_margin_loss(
    input: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """Returns `triplet_margin_with_distance_loss` of `pairwise_distance` with p and epsilon."""
    distance = lambda a, b: pairwise_distance(a, b, p, epsilon)  # noqa: E731 - of two arguments, as a user's own
    return triplet_margin_with_distance_loss(input, positive, negative, distance, margin, swap, reduction)


def sigmoid_focal_loss(
    logit: Any,
    label: Any,
    normalizer: Any = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Any:
    """Returns α (1 - p)^γ · cross entropy, p the probability of what is labelled (Lin et al. 2017).

    Args:
        logit: floats of any shape.
        label: 1 or 0, of that shape.
        normalizer: what losses are divided by, of one element; or None.
        alpha: α where the label is 1, 1 - α where it is 0.
        gamma: γ ≥ 0.
        reduction: mean, sum, or none.
        name: without meaning.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `cosine_embedding_loss`.
    """
    x, y = compared("sigmoid_focal_loss", reduction, logit, label)
    signed = ops.multiply(x, y * 2.0 - 1.0)
    missed = ops.sigmoid(signed * -1.0)  # 1 - p, without cancellation
    each = ops.multiply(softplus(signed * -1.0), y * (2.0 * alpha - 1.0) + (1.0 - alpha))
    each = ops.multiply(each, ops.pow(missed, float(gamma)))
    return reduced(each if normalizer is None else ops.divide(each, normalizer), reduction, logit)


def dice_loss(input: Any, label: Any, epsilon: float = 1e-5, name: str | None = None) -> Any:
    """Returns the mean of 1 - 2 Σ pq / (Σ p + Σ q + epsilon), p probabilities, q 1 where the label is.

    Args:
        input: probabilities of shape (N, ..., classes).
        label: integer classes of shape (N, ..., 1).
        epsilon: what keeps the quotient a number.
        name: without meaning.

    Raises:
        ShapeError: the label's shape does not fit.
    """
    shape = tuple(input.shape)
    check_shape("dice_loss: label", label.shape, (*shape[:-1], 1), "of the input with size 1 for the classes")
    marked = ops.one_hot(ops.squeeze(label, -1), shape[-1], input.dtype)
    axes = list(range(1, len(shape)))
    both = ops.sum(ops.multiply(input, marked), axes) * 2.0
    each = 1.0 - ops.divide(both, ops.add(ops.sum(input, axes), ops.sum(marked, axes)) + epsilon)
    return ops.mean(each)


def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> Any:
    """Returns -label log(input + epsilon) - (1 - label) log(1 - input + epsilon), each. Differentiable in both."""
    x, y = compared("log_loss", "none", input, label)
    hit = ops.multiply(y, ops.log(x + epsilon))
    return reduced(ops.add(hit, ops.multiply(1.0 - y, ops.log(1.0 - x + epsilon))) * -1.0, "none", input, label)


def npair_loss(anchor: Any, positive: Any, labels: Any, l2_reg: float = 0.002) -> Any:
    """Returns the cross entropy of anchor · positiveᵀ towards equal labels, plus l2_reg / 4 · mean squared lengths.

    Args:
        anchor: floats of shape (N, size).
        positive: of that shape.
        labels: of shape (N,).
        l2_reg: ≥ 0 (Sohn 2016).
    """
    x, y = compared("npair_loss", "none", anchor, positive)
    column = ops.reshape(labels, [-1, 1])
    same = ops.cast(ops.equal(column, ops.transpose(column, [1, 0])), x.dtype)
    share = ops.divide(same, ops.sum(same, 1, keepdim=True))
    lengths = [ops.mean(ops.sum(ops.square(each), 1)) for each in (x, y)]
    rows = cross_entropy(ops.matmul(x, y, transpose_y=True), share, soft_label=True, reduction="none")
    return ops.add(ops.mean(ops.sum(ops.multiply(share, rows), 0)), ops.add(*lengths) * (0.25 * l2_reg))


def label_smooth(label: Any, prior_dist: Any = None, epsilon: float = 0.1, name: str | None = None) -> Any:
    """Returns (1 - epsilon) · label + epsilon · prior, the prior 1 / classes unless given (Szegedy et al. 2016).

    Args:
        label: floats of shape (..., classes), such as those of `one_hot`.
        prior_dist: of shape (1, classes).
        epsilon: in [0, 1].
        name: without meaning.

    Raises:
        AttributeValueError: epsilon lies outside.
    """
    if not 0 <= epsilon <= 1:
        raise AttributeValueError(f"label_smooth: epsilon expected a number in [0, 1], got {epsilon!r}")
    kept = label * (1.0 - epsilon)
    if prior_dist is None:
        return kept + epsilon / known_size(label, len(label.shape) - 1, "label_smooth")
    return ops.add(kept, prior_dist * epsilon)


multilabel_margin_loss = multi_label_margin_loss
multilabel_soft_margin_loss = multi_label_soft_margin_loss
FUNCTIONS = (
    *(cosine_embedding_loss, gaussian_nll_loss, poisson_nll_loss, multi_margin_loss, multi_label_margin_loss),
    *(multi_label_soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss),
    *(sigmoid_focal_loss, dice_loss, log_loss, npair_loss, label_smooth),
)
