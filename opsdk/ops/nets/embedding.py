"""Embedding: rows of a table by their numbers, of which one may stand for padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.sums import sum_at
from opsdk.define.decorators import op
from opsdk.define.sample import Sample

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
_NONE = -1  # of `padding`: no number


@op("opsdk::embedding(Tensor<int> x, Tensor weight, *, int padding=-1) -> Tensor out")
def embedding(x: np.ndarray, weight: np.ndarray, *, padding: int) -> np.ndarray:
    """Rows of a table by their numbers.

    Args:
        x: numbers in [0, rows), of any shape.
        weight: the table, of shape (rows, size), of any dtype.
        padding: the number whose rows are zeros and have no gradient; -1 for no number.

    Returns:
        Of shape (*x.shape, size).

    Gradient: with respect to the weight, to any order, with zeros in the rows that were not taken.

    Raises:
        InputValueError: a number lies outside.
    """
    rows = weight.shape[0]
    _check_padding(padding, rows)
    if x.size and not (x.min() >= 0 and x.max() < rows):
        raise InputValueError(f"op 'opsdk::embedding': x expected numbers in [0, {rows}), got {x.min()} to {x.max()}")
    made = weight[x]
    if padding != _NONE:
        made[x == padding] = 0
    return made


def _check_padding(padding: int, rows: int | None) -> None:
    if rows is not None and not _NONE <= padding < rows:
        raise ShapeError(f"op 'opsdk::embedding': padding expected in [0, {rows}), or -1, got {padding}")


@embedding.infer
def _embedding(x: TensorSpec, weight: TensorSpec, padding: int) -> TensorSpec:
    if weight.ndim != 2:
        raise ShapeError(f"op 'opsdk::embedding': weight expected shape (rows, size), got {shape_text(weight.shape)}")
    _check_padding(padding, weight.shape[0])
    return TensorSpec([*x.shape, weight.shape[1]], weight.dtype)


@embedding.backward(complex=True)
def embedding_grad(x: np.ndarray, weight_spec: Any, dout: np.ndarray, padding: int) -> np.ndarray:
    """Zeros, with the cotangents added to the rows that were taken."""
    made = sum_at(dout, x, weight_spec.shape[0])
    if padding != _NONE:
        made[padding] = 0
    return made


@embedding_grad.backward(composite=True, complex=True)
def embedding_grad_grad(x: Any, ddweight: Any, padding: int) -> Any:
    """The same rows of what enters."""
    return embedding(x, ddweight, padding=padding)


@embedding.samples
def _embeddings(rng: np.random.Generator) -> Iterator[Sample]:
    weight = rng.normal(size=(4, 3))
    yield Sample(np.array([[0, 2], [2, 3]]), weight, reason="a row that is taken twice")
    yield Sample(np.array([1, 0, 1]), weight, padding=1, reason="padding")
    yield Sample(np.array(3), weight, reason="a 0-d number")
    yield Sample(np.zeros((0, 2), np.int64), weight, reason="no numbers")
