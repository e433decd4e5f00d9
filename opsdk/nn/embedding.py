"""Embedding, as a function of tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.ops.nets.embedding import embedding as _embedding


# Any: tensors, variables or arrays, and the same out; what a user gives for a row.
def embedding(
    x: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Any:
    """Returns rows of a table by their numbers.

    Args:
        x: whole numbers in [0, rows), of any shape.
        weight: the table, of shape (rows, size).
        padding_idx: a number, from the end where it is negative, whose rows come out as zeros and get no gradient, as
            in Paddle; PyTorch gives the row as it stands.
        max_norm: None; rows are not renormalised.
        norm_type: of `max_norm`.
        sparse: without meaning: gradients are dense.
        scale_grad_by_freq: False; gradients are not divided by how often a row was taken.
        name: without meaning.

    Returns:
        Values of shape (*x.shape, size). Differentiable in the weight, to any order.

    Raises:
        InputValueError: a number lies outside.
        DTypeError: x holds other than whole numbers.
        ShapeError: the table has no row `padding_idx`.
        AttributeValueError: `max_norm` or `scale_grad_by_freq` was asked for.
    """
    if max_norm is not None or scale_grad_by_freq:
        raise AttributeValueError(
            f"embedding: expected max_norm=None and scale_grad_by_freq=False, the only ones served, got {max_norm!r} "
            f"and {scale_grad_by_freq!r}; change the weight, or its gradient in a hook"
        )
    return _embedding(
        x, weight, padding=-1 if padding_idx is None else as_row(padding_idx, weight.shape[0], "embedding")
    )


def as_row(padding_idx: Any, rows: Any, subject: str) -> int:
    """Returns the row for padding, counted from the start.

    Raises:
        AttributeValueError: it is no whole number.
        ShapeError: there is no such row.
    """
    if not isinstance(padding_idx, (int, np.integer)) or isinstance(padding_idx, bool):
        raise AttributeValueError(f"{subject}: padding_idx expected a whole number or None, got {padding_idx!r}")
    if not -rows <= padding_idx < rows:
        raise ShapeError(f"{subject}: padding_idx expected a row in [{-rows}, {rows}), got {padding_idx!r}")
    return int(padding_idx) % int(rows)
