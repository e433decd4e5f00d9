"""one_hot: integer classes as rows that are 1 at the class and 0 elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample


@op("opsdk::one_hot(Tensor<int|bool> x, *, int num_classes) -> Tensor out", nondifferentiable=("out",))
def one_hot(x: np.ndarray, *, num_classes: int) -> np.ndarray:
    """1 where the last axis equals the class, else 0; float32, of shape (*x.shape, num_classes), of integers x."""
    if x.size and (x.min() < 0 or x.max() >= num_classes):
        raise ShapeError(f"op 'opsdk::one_hot': x expected in [0, {num_classes}), got {x.min()} to {x.max()}")
    return np.equal(x[..., None], np.arange(num_classes, like=x)).astype(np.float32)


@one_hot.infer
def _one_hot(x: TensorSpec, num_classes: int) -> TensorSpec:
    return TensorSpec((*x.shape, num_classes), "float32")


@one_hot.samples
def _classes() -> Iterator[Sample]:
    yield Sample(np.array([0, 2, 1]), num_classes=3, reason="vector")
    yield Sample(np.array([[1], [0]]), num_classes=2, reason="column")
    yield Sample(np.array(1), num_classes=4, reason="0-d")
    yield Sample(np.zeros((0,), np.int64), num_classes=3, reason="empty")
