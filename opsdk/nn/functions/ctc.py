"""The loss of labels whose places in a sequence are not known (Graves et al. 2006), for every runtime."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.nn.functions.words import in_both_words
from opsdk.nn.loss import check_reduction, check_shape, rounded, widened
from opsdk.ops import functions as ops
from opsdk.ops.shape import known_size

_NEVER = -1e30  # the logarithm of what cannot be; -inf would leave nan in the gradient of what can


# Any, in this file: tensors, variables or arrays, and the same out.
@in_both_words
def ctc_loss(
    log_probs: Any,
    labels: Any,
    input_lengths: Any,
    label_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
    zero_infinity: bool = False,
) -> Any:
    """Returns -log of the probability of all alignments of labels with a sequence.

    Args:
        log_probs: scores of shape (time, batch, classes); `log_softmax` is taken of them, as in Paddle, which leaves
            PyTorch's logarithms of probabilities as they are.
        labels: integer classes of shape (batch, longest), of which the first `label_lengths` count.
        input_lengths: of shape (batch,), how many steps each sequence has.
        label_lengths: of shape (batch,).
        blank: the class that stands for no label.
        reduction: mean of the losses divided by the lengths of their labels, sum, or none.
        norm_by_times: divides losses by the lengths of their sequences.
        zero_infinity: takes 0 for the loss of what no alignment gives, inf otherwise; its gradient is 0.

    Returns:
        A 0-d value, or with "none" one for each sequence. Differentiable in the scores, to any order; sizes other than
        that of the batch have to be known.

    Raises:
        ShapeError: the shapes do not fit.
        AttributeValueError: another reduction.
        InputValueError: a label is none of the classes, or a length reaches beyond.
    """
    check_reduction(reduction, "ctc_loss")
    if len(log_probs.shape) != 3 or len(labels.shape) != 2:
        raise ShapeError(
            "ctc_loss: expected log_probs (time, batch, classes) and labels (batch, longest), got "
            f"{tuple(log_probs.shape)} and {tuple(labels.shape)}"
        )
    lengths = {"input_lengths": input_lengths.shape, "label_lengths": label_lengths.shape}
    for name, lead in {"labels": labels.shape[:1], **lengths}.items():
        check_shape(f"ctc_loss: {name}", lead, log_probs.shape[1:2], "one for each sequence")
    x = ops.log_softmax(widened(log_probs), -1)
    longest = known_size(labels, 1, "ctc_loss")
    length = ops.unsqueeze(_counted(label_lengths, longest), -1)
    used = ops.less_than(np.arange(longest), length)
    alphas = _alphas(x, ops.where(used, _counted(labels, x.shape[2]), np.int64(blank)), blank)
    last = ops.reshape(_counted(input_lengths, known_size(x, 0, "ctc_loss")), [1, -1, 1])
    final = ops.squeeze(ops.take_along_axis(alphas, last, 0), 0)
    in_blank = ops.take_along_axis(final, length * 2, -1)
    in_label = ops.take_along_axis(final, ops.maximum(length * 2 - 1, 0), -1)
    in_label = ops.where(ops.greater_than(length, 0), in_label, _NEVER)
    loss = ops.logsumexp(ops.concat([in_blank, in_label], -1), -1) * -1.0
    is_lost = ops.greater_than(loss, -0.5 * _NEVER)
    loss = ops.where(is_lost, 0.0 if zero_infinity else float("inf"), loss)
    if norm_by_times:
        loss = ops.divide(loss, ops.cast(input_lengths, loss.dtype))
    if reduction == "mean":
        loss = ops.mean(ops.divide(loss, ops.cast(ops.maximum(label_lengths, 1), loss.dtype)))
    return rounded(ops.sum(loss) if reduction == "sum" else loss, log_probs)


def _counted(numbers: Any, most: Any) -> Any:
    """Returns whole numbers, those below 0 as one beyond the greatest, which is refused; -1 would be the last."""
    wide = ops.cast(numbers, "int64")
    return ops.where(ops.less_than(wide, 0), np.int64(2 * most + 2), wide)


def _alphas(x: Any, labels: Any, blank: int) -> Any:
    """Returns logarithms of the probabilities of states before the first step and after each, (time, batch, states).

    States are the labels, with a blank before, between and after them; one may be skipped if it is a blank between two
    labels that differ.
    """
    steps, longest = known_size(x, 0, "ctc_loss"), known_size(labels, 1, "ctc_loss")
    at, dtype = np.arange(2 * longest + 1), x.dtype
    is_label, around = at % 2 == 1, cast("Any", [(0, 0), (0, 1)])
    spread = ops.gather(ops.pad(labels, around), at // 2, 1)
    classes = ops.where(is_label, spread, np.int64(blank))
    two_before = ops.gather(classes, np.maximum(at - 2, 0), 1)
    may_skip = ops.logical_and(ops.not_equal(classes, two_before), is_label & (at > 1))
    barred = ops.where(may_skip, 0.0, _NEVER)
    made = [ops.cast(ops.where(ops.less_than(classes, 0), 0.0, np.where(at == 0, 0.0, _NEVER)), dtype)]
    for step in range(steps):
        alpha = made[-1]
        shifted = ops.pad(alpha, cast("Any", [(0, 0), (2, 0)]), value=_NEVER)
        ways = [alpha, shifted[:, 1:-1], ops.add(shifted[:, :-2], ops.cast(barred, dtype))]
        made.append(ops.add(ops.logsumexp(ops.stack(ways, 0), 0), ops.take_along_axis(x[step], classes, -1)))
    return ops.stack(made, 0)


FUNCTIONS = (ctc_loss,)
