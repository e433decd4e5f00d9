"""Losses that compare two values element by element, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.nn.loss import check_reduction, check_shape, dtype_of, rounded, widened
from opsdk.ops import functions as ops
from opsdk.ops.activation import softplus
from opsdk.ops.nets import loss as _ops


# Any, in this file: tensors, variables or arrays, and the same out.
def compared(subject: str, reduction: Any, input: Any, label: Any) -> tuple[Any, Any]:
    """Returns two values to compare, wide enough for long sums.

    Raises:
        AttributeValueError: another reduction.
        DTypeError: both are integers.
        ShapeError: their shapes differ, and neither is one number; broadcast, they would be compared all with all.
    """
    check_reduction(reduction, subject)
    dtypes = [dtype_of(value) or np.asarray(value).dtype for value in (input, label)]
    if not any(map(is_differentiable, dtypes)):
        raise DTypeError(f"{subject}: expected floats, got {dtypes[0].name} and {dtypes[1].name}; cast one to float32")
    shapes = [tuple(getattr(value, "shape", None) or np.shape(value)) for value in (input, label)]
    if all(shapes):
        check_shape(f"{subject}: label", shapes[1], shapes[0], "of the input")
    return widened(input), widened(label)


def reduced(each: Any, reduction: str, *given: Any) -> Any:
    """Returns the mean, the sum or each of the losses, of the common dtype of what was given."""
    return rounded(each if reduction == "none" else getattr(ops, reduction)(each), *given)


def weighted(each: Any, weight: Any) -> Any:
    """Returns losses times factors, where there are some."""
    return each if weight is None else ops.multiply(each, widened(weight))


def binary_cross_entropy(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> Any:
    """Returns -(label · log input + (1 - label) · log(1 - input)), with logarithms of -100 at least.

    Args:
        input: probabilities, of any shape.
        label: probabilities of that shape, or one number.
        weight: factors on the losses, which broadcast.
        reduction: mean, sum, or none.
        name: without meaning.

    Returns:
        A 0-d value, or with "none" one each. Differentiable in input and label; the gradient divides by input (1 -
        input), 1e-12 at least.

    Raises:
        ShapeError: the shapes differ.
        AttributeValueError: another reduction.
        DTypeError: both are integers.
    """
    x, y = compared("binary_cross_entropy", reduction, input, label)
    return reduced(weighted(_ops.bce_loss(x, y), weight), reduction, input, label)


def binary_cross_entropy_with_logits(
    logit: Any,
    label: Any,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
    name: str | None = None,
) -> Any:
    """Returns `binary_cross_entropy` of σ(logit), without overflow.

    Args:
        logit: floats of any shape.
        label: probabilities of that shape, or one number.
        weight: factors on the losses, which broadcast.
        reduction: mean, sum, or none.
        pos_weight: factors on what is labelled 1, which broadcast.
        name: without meaning.

    Returns:
        A 0-d value, or with "none" one each. Differentiable in logit and label, to any order.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`.
    """
    x, y = compared("binary_cross_entropy_with_logits", reduction, logit, label)
    each = _ops.bce_with_logits(x, y)
    if pos_weight is not None:
        more = ops.multiply(ops.multiply(widened(pos_weight) - 1.0, y), softplus(x * -1.0))
        each = ops.add(each, more)
    return reduced(weighted(each, weight), reduction, logit, label)


def l1_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Returns |input - label|: its mean, its sum, or with "none" each. Differentiable in both; 0 at the kink.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`.
    """
    x, y = compared("l1_loss", reduction, input, label)
    return reduced(ops.abs(ops.subtract(x, y)), reduction, input, label)


def smooth_l1_loss(
    input: Any,
    label: Any,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
    *,
    beta: float | None = None,
) -> Any:
    """Returns z² / 2 where |z| ≤ delta, else delta (|z| - delta / 2), with z = input - label.

    Args:
        input: floats of any shape.
        label: floats of that shape, or one number.
        reduction: mean, sum, or none.
        delta: up to where the loss is a square, > 0.
        is_huber: False divides by delta, which makes the slope 1, as in PyTorch's `smooth_l1_loss`.
        name: without meaning.
        beta: `delta`, with `is_huber=False`, in PyTorch's words.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`; or delta is not above 0.
    """
    if beta is not None:
        delta, is_huber = beta, False
    if not delta > 0:
        raise AttributeValueError(f"smooth_l1_loss: delta expected a number above 0, got {delta!r}")
    x, y = compared("smooth_l1_loss", reduction, input, label)
    each = _ops.huber_loss(x, y, delta=float(delta))
    return reduced(each if is_huber else each * (1.0 / delta), reduction, input, label)


def huber_loss(input: Any, label: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    """Returns `smooth_l1_loss` as Huber (1964) has it, in PyTorch's words."""
    return smooth_l1_loss(input, label, reduction, delta)


def kl_div(input: Any, label: Any, reduction: str = "mean", log_target: bool = False, name: str | None = None) -> Any:
    """Returns label (log label - input), the terms of the divergence of Kullback and Leibler.

    Args:
        input: log-probabilities of any shape.
        label: probabilities of that shape; where one is not above 0 the term is 0.
        reduction: batchmean, the sum over the first size, which is the divergence; mean, over all; sum, or none.
        log_target: labels are log-probabilities as well.
        name: without meaning.

    Returns:
        A 0-d value, or with "none" one each. Differentiable in both, to any order.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`.
    """
    by_rows = reduction == "batchmean"
    x, y = compared("kl_div", "sum" if by_rows else reduction, input, label)
    each = ops.multiply(ops.exp(y), ops.subtract(y, x)) if log_target else _ops.kl_div(x, y)
    if not by_rows:
        return reduced(each, reduction, input, label)
    rows = ops.sum(each, list(range(1, len(each.shape)))) if len(each.shape) > 1 else each
    return reduced(rows, "mean", input, label)


def margin_ranking_loss(
    input: Any, other: Any, label: Any, margin: float = 0.0, reduction: str = "mean", name: str | None = None
) -> Any:
    """Returns max(0, margin - label (input - other)), with labels 1 where input is to be the greater, else -1.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`.
    """
    x, y = compared("margin_ranking_loss", reduction, input, other)
    each = ops.relu(ops.multiply(widened(label), ops.subtract(y, x)) + float(margin))
    return reduced(each, reduction, input, other)


def hinge_embedding_loss(
    input: Any, label: Any, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Any:
    """Returns input where the label is 1, and max(0, margin - input) where it is -1.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`.
    """
    x, y = compared("hinge_embedding_loss", reduction, input, label)
    return reduced(ops.where(ops.equal(y, 1.0), x, ops.relu(x * -1.0 + float(margin))), reduction, input)


def soft_margin_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """Returns log(1 + exp(-label · input)), with labels 1 and -1.

    Raises:
        ShapeError, AttributeValueError, DTypeError: as of `binary_cross_entropy`.
    """
    x, y = compared("soft_margin_loss", reduction, input, label)
    return reduced(softplus(ops.multiply(x, y) * -1.0), reduction, input)


FUNCTIONS = (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    l1_loss,
    smooth_l1_loss,
    huber_loss,
    kl_div,
    margin_ranking_loss,
    hinge_embedding_loss,
    soft_margin_loss,
)
