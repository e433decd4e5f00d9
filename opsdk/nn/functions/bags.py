"""Sums of rows of a table, a bag of them at a time, for every runtime."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn.embedding import as_row, embedding
from opsdk.ops import functions as ops
from opsdk.ops.numpy_protocol import values_of


# Any: tensors, variables or arrays, and the same out.
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Returns the mean, sum or greatest of the rows of a table in each bag, in PyTorch's words.

    Args:
        input: whole numbers of rows, of shape (bags, size); or in one line, with offsets.
        weight: the table, of shape (rows, size).
        offsets: where each bag begins in a line; an array or a tensor.
        max_norm: None; rows are not renormalised.
        norm_type: of `max_norm`.
        scale_grad_by_freq: False; gradients are not divided by how often a row was taken.
        mode: `mean`, `sum` or `max`; of nothing all are 0.
        sparse: without meaning: gradients are dense.
        per_sample_weights: factors on the rows of a sum, of the shape of the input.
        include_last_offset: whether the offsets end with that of the end.
        padding_idx: a number whose rows are left out.

    Returns:
        Of shape (bags, size). Differentiable in the weight and in the factors.

    Raises:
        ShapeError: the input is neither, or a line without offsets, or offsets do not grow from 0.
        AttributeValueError: another mode, factors on other than a sum, or an option that is not served.
    """
    if mode not in ("mean", "sum", "max") or (per_sample_weights is not None and mode != "sum"):
        raise AttributeValueError(
            f"embedding_bag: mode expected mean, sum or max, and sum with per_sample_weights, got {mode!r}"
        )
    used: Any = np.ones((1, 1), bool)
    if (len(input.shape), offsets is None) not in ((1, False), (2, True)):
        raise ShapeError(
            f"embedding_bag: input expected shape (bags, size), or (rows,) with offsets, got {tuple(input.shape)} "
            f"{'without' if offsets is None else 'with'} them"
        )
    if offsets is not None:
        places, used = _bags(values_of(offsets), input.shape[0], include_last_offset)
        input = ops.gather(input, places)
        per_sample_weights = None if per_sample_weights is None else ops.gather(per_sample_weights, places)
    rows = embedding(input, weight, None, max_norm, norm_type, sparse, scale_grad_by_freq)
    if padding_idx is not None:
        used = ops.logical_and(ops.not_equal(input, as_row(padding_idx, weight.shape[0], "embedding_bag")), used)
    used = ops.unsqueeze(ops.logical_and(ops.equal(input, input), used), -1)
    counted = ops.cast(used, rows.dtype)
    count = ops.sum(counted, 1)
    if mode == "max":
        greatest = ops.max(ops.where(used, rows, float("-inf")), 1)
        return ops.where(ops.greater_than(count, 0.0), greatest, 0.0)
    if per_sample_weights is not None:
        counted = ops.multiply(counted, ops.unsqueeze(per_sample_weights, -1))
    total = ops.sum(ops.multiply(rows, counted), 1)
    return total if mode == "sum" else ops.divide(total, ops.maximum(count, 1.0))


def _bags(offsets: Any, size: int, include_last_offset: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each bag a row of places in a line, as many as the longest has, and which of them it has."""
    starts = np.asarray(offsets)
    ends = starts[1:] if include_last_offset else np.append(starts[1:], size)
    starts = starts[: len(ends)]
    if starts.ndim != 1 or (len(starts) and starts[0]) or (ends < starts).any() or (ends > size).any():
        raise ShapeError(f"embedding_bag: offsets expected to grow from 0 to {size} at most, got {np.asarray(offsets)}")
    along = np.arange(max((ends - starts).max(initial=0), 1))
    return np.minimum(starts[:, None] + along, max(size - 1, 0)), starts[:, None] + along < ends[:, None]


FUNCTIONS = (embedding_bag,)
