"""Losses, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.call.constant import as_constant
from opsdk.core.dtype import computed_in, is_differentiable, promote_types
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.core.origin import warn
from opsdk.define.op import Op
from opsdk.ops import functions as ops
from opsdk.ops import loss as _loss
from opsdk.ops.logical import equal, not_equal
from opsdk.ops.nets.loss import nll_loss as _nll_loss


# Any, in this file: tensors, variables or arrays, and the same out.
def square_error_cost(input: Any, label: Any) -> Any:
    """Returns (input - label)², element by element. Differentiable in both.

    Raises:
        ShapeError: input and label are of two shapes, and neither is one number; broadcast, they would be compared all
            with all.
    """
    shapes = [getattr(value, "shape", None) for value in (input, label)]
    shape, other = (np.shape(value) if it is None else it for value, it in zip((input, label), shapes, strict=True))
    if len(shape) and len(other):
        check_shape("squared error: label", other, shape, "of the input")
    return ops.square(ops.subtract(input, label))


def mse_loss(input: Any, label: Any, reduction: str = "mean") -> Any:
    """Returns the squared error: its mean, its sum, or with "none" each, of the common dtype. Differentiable in both.

    Raises:
        AttributeValueError: another reduction.
        DTypeError: input and label are both integers, whose squares would wrap around.
        ShapeError: as of `square_error_cost`.
    """
    check_reduction(reduction, "mse_loss")
    dtypes = [dtype_of(value) or np.asarray(value).dtype for value in (input, label)]
    if not any(map(is_differentiable, dtypes)):
        got = " and ".join(dtype.name for dtype in dtypes)
        raise DTypeError(f"mse_loss: expected floats, got {got}, whose squares wrap around; cast one to float32")
    if reduction == "none":
        return square_error_cost(input, label)
    error = square_error_cost(widened(input), widened(label))
    return rounded(ops.mean(error) if reduction == "mean" else ops.sum(error), input, label)


def cross_entropy(
    input: Any,
    label: Any = None,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int | None = None,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
    *,
    target: Any = None,
) -> Any:
    """Returns -log of the probability of the label.

    Args:
        input: float scores, of shape (..., classes, ...) with the classes at `axis`.
        label: integer classes, of the input's shape without `axis` or with size 1 there; with `soft_label` a
            probability for every class, of the input's shape.
        weight: of shape (classes,), a factor for each class.
        ignore_index: rows with this label count for nothing; where no other is left the mean is 0, as in Paddle.
        reduction: mean over the rows that count (weighted, where `weight` is given), sum, or none.
        soft_label: whether labels are probabilities.
        axis: of the classes. Unless given the last, as in Paddle; or the second, as in PyTorch, where the classes of
            the label fit that alone. Where they fit both a warning says so.
        use_softmax: False: the input is probabilities already.
        label_smoothing: share of each label, in [0, 1], that all classes have alike, each with its own weight.
        name: without meaning.
        target: the label in PyTorch's word and with its meaning: classes at axis 1; floats of the input's shape are
            probabilities, whose rows count alike.

    Returns:
        A 0-d value, or with "none" one per row, of the common dtype of the input, soft labels and weights.
        Differentiable in the input and in soft labels.

    Raises:
        ShapeError: the label's shape does not fit the input's, or the weight's is not (classes,).
        AttributeValueError: another reduction, or a share that is none.
        DTypeError: input or label is no tensor or array.
    """
    check_reduction(reduction, "cross_entropy")
    as_torch = target is not None
    if as_torch and label is not None:
        raise AttributeValueError("cross_entropy: expected a label or a target, got both")
    if not 0 <= label_smoothing <= 1:
        raise AttributeValueError(f"cross_entropy: label_smoothing expected a share in [0, 1], got {label_smoothing!r}")
    label = target if as_torch else label
    for role, value in (("input", input), ("label", label)):
        if not hasattr(value, "shape"):
            raise DTypeError(f"cross_entropy: {role} expected a tensor or array, got {type(value).__name__}")
    if as_torch and len(label.shape) == len(input.shape) and is_differentiable(label.dtype):
        soft_label = True
    if isinstance(weight, (list, tuple)):  # looked up before it meets the scores, it would be float32
        weight = as_constant(weight, dtype_of(input), "cross_entropy: weight")
    given = input, weight, *([label] if soft_label else [])
    input, weight = widened(input), widened(weight)
    label = widened(label) if soft_label else label
    ndim = len(input.shape)
    if as_torch:
        axis = min(1, ndim - 1) if axis is None else axis
    axis = _class_axis(input.shape, label.shape) if axis is None else axis
    last = axis in (-1, ndim - 1)
    if not last:
        input, label = _last(input, axis), _last(label, axis) if len(label.shape) == ndim else label
    if weight is not None:
        check_shape("cross_entropy: weight", weight.shape, input.shape[-1:], "with a factor for each class")
    if soft_label:
        check_shape("cross_entropy: label", label.shape, input.shape, "of the input, a probability for each class")
        if label_smoothing:
            label = label * (1.0 - label_smoothing) + label_smoothing / input.shape[-1]
        rows, share = _soft_rows(input, label, weight, use_softmax, is_split=as_torch)
    else:
        if len(label.shape) not in (ndim, ndim - 1):
            raise ShapeError(
                f"cross_entropy: label expected {ndim - 1} dimensions, or {ndim} with size 1 for the classes, "
                f"got {len(label.shape)}"
            )
        if is_differentiable(label.dtype):
            probabilities = "; probabilities take soft_label=True" if len(label.shape) == ndim else "; cast it to int64"
            raise DTypeError(f"cross_entropy: label expected integers, got {label.dtype}{probabilities}")
        classes = label if len(label.shape) == ndim else ops.unsqueeze(label, -1)
        op = _loss.cross_entropy_with_logits if use_softmax else _loss.cross_entropy
        rows, share = _rows(op, input, classes, weight, ignore_index)
        if label_smoothing:
            all_alike = _soft_rows(input, 1.0 / input.shape[-1], weight, use_softmax, is_split=True)[0]
            counted = ops.cast(not_equal(classes, ignore_index), input.dtype)
            rows = rows * (1.0 - label_smoothing) + all_alike * counted * label_smoothing
    if reduction == "none":
        dropped = not soft_label and len(label.shape) < ndim
        return rounded(ops.squeeze(rows, -1) if dropped else rows if last else _back(rows, axis), *given)
    return rounded(ops.sum(rows) if reduction == "sum" else _mean(rows, share, weight), *given)


def nll_loss(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> Any:
    """Returns -input[label], the loss of log-probabilities.

    Args:
        input: log-probabilities of shape (N, classes), (N, classes, …), or (classes,).
        label: integer classes, of that shape without the classes.
        weight: of shape (classes,), a factor for each class.
        ignore_index: rows with this label count for nothing; where no other is left the mean is 0.
        reduction: mean over the rows that count (weighted, where `weight` is given), sum, or none.
        name: without meaning.

    Returns:
        A 0-d value, or with "none" one per label, of the common dtype of input and weights. Differentiable in the
        input.

    Raises:
        ShapeError: the label's shape does not fit the input's, or the weight's is not (classes,).
        AttributeValueError: another reduction, or a label is none of the classes.
    """
    check_reduction(reduction, "nll_loss")
    given = input, weight
    x, weight = widened(input), widened(weight)
    ndim = len(x.shape)
    if ndim > 2:
        x = _last(x, 1)
    check_shape("nll_loss: label", label.shape, x.shape[:-1], "of the input without its classes")
    if weight is not None:
        check_shape("nll_loss: weight", weight.shape, x.shape[-1:], "with a factor for each class")
    rows, share = _rows(_nll_loss, x, ops.unsqueeze(label, -1), weight, ignore_index)
    if reduction == "none":
        return rounded(ops.squeeze(rows, -1), *given)
    return rounded(ops.sum(rows) if reduction == "sum" else _mean(rows, share, weight), *given)


def _mean(rows: Any, share: Any, weight: Any) -> Any:
    if share is None:
        return ops.mean(rows)
    total = ops.sum(share)
    if weight is None:
        return ops.divide(ops.sum(rows), ops.maximum(total, 1.0))  # no rows that count: 0, not nan
    return ops.divide(ops.sum(rows), ops.add(total, ops.cast(equal(total, 0.0), rows.dtype)))


def _rows(op: Op, x: Any, label: Any, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """Returns the loss of each row by an op, and how much each counts."""
    rows = op(x, label, ignore_index=ignore_index)
    used = not_equal(label, ignore_index)
    share = ops.cast(used, x.dtype)
    if weight is None:
        return rows, share
    factor = ops.multiply(ops.gather(weight, ops.multiply(label, ops.cast(used, label.dtype))), share)
    return ops.multiply(rows, factor), factor


def _class_axis(shape: Any, label: Any) -> int:
    """Returns the axis of the classes of scores, by the shape of the labels: the last one, unless only the second fits.

    Warns where both fit, as whole labels of (N, 5) do beside scores of (N, 5, 5).
    """
    sizes, known = list(shape), [size for size in (*shape, *label) if isinstance(size, int) and size >= 0]
    if len(sizes) < 3 or len(label) != len(sizes) - 1 or len(known) < 2 * len(sizes) - 1:
        return -1
    fits_last, fits_second = list(label) == sizes[:-1], list(label) == [sizes[0], *sizes[2:]]
    if fits_last and fits_second:
        warn(
            f"cross_entropy: labels {tuple(label)} fit scores {tuple(shape)} with the classes at the last axis, which "
            "is taken, as in Paddle, and at the second, as in PyTorch; say which with axis=-1 or axis=1"
        )
    return 1 if fits_second and not fits_last else -1


def _soft_rows(x: Any, label: Any, weight: Any, use_softmax: bool, is_split: bool = False) -> tuple[Any, Any]:
    logarithm = ops.log_softmax(x) if use_softmax else ops.log(x)
    if is_split and weight is not None:  # each class has its own weight
        logarithm, weight = ops.multiply(logarithm, weight), None
    rows = ops.sum(ops.multiply(label, logarithm) * -1.0, -1, keepdim=True)
    if weight is None:
        return rows, None
    factor = ops.sum(ops.multiply(label, weight), -1, keepdim=True)
    return ops.multiply(rows, factor), factor


def dtype_of(value: Any) -> Any:
    """Returns the dtype of a value that has one, else None."""
    return getattr(value, "dtype", None)


def widened(value: Any) -> Any:
    """Returns what a loss is computed with: float16 and bfloat16 as float32, since it is a long sum of small terms."""
    dtype = dtype_of(value)
    return value if dtype is None or computed_in(dtype) == dtype else ops.cast(value, computed_in(dtype))


def rounded(loss: Any, *given: Any) -> Any:
    """Returns a loss that was computed with widened values, rounded to the common dtype of those that were given."""
    dtypes = [dtype for value in given if (dtype := dtype_of(value)) is not None]
    common = promote_types(*dtypes)
    return loss if computed_in(common) == common else ops.cast(loss, common)


def _last(x: Any, axis: int) -> Any:
    order = list(range(len(x.shape)))
    order.append(order.pop(axis))
    return ops.transpose(x, order)


def _back(x: Any, axis: int) -> Any:
    order = list(range(len(x.shape) - 1))
    order.insert(axis % (len(order) + 1), len(order))
    return ops.transpose(x, order)


_OPEN = (-1, None)


def check_shape(subject: str, got: Any, wanted: Any, whose: str) -> None:
    """Checks a shape; sizes that only a run can tell are not looked at."""
    pairs = zip(got, wanted) if len(got) == len(wanted) else [(0, 1)]  # noqa: B905 - lengths are compared
    if any(size not in _OPEN and other not in _OPEN and size != other for size, other in pairs):
        raise ShapeError(f"{subject} expected shape {tuple(wanted)}, {whose}, got {tuple(got)}; reshape it")


def check_reduction(reduction: str, subject: str) -> None:
    """Checks the name of a reduction.

    Raises:
        AttributeValueError: another one.
    """
    if reduction not in ("mean", "sum", "none"):
        raise AttributeValueError(f"{subject}: reduction expected mean, sum or none, got {reduction!r}")
