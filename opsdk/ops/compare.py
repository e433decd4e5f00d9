"""Comparison and logic, and one_hot, which compares with every class: results carry no gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.core.written import entry, written
from opsdk.define.decorators import op
from opsdk.define.infer import broadcast
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.expr.exact import check_mixed

_BOOL = broadcast.with_dtype("bool")


def _comparison(name: str, compared: np.ufunc, doc: str) -> Op:
    """Returns the op of a comparison."""

    def compare(x: np.ndarray, y: np.ndarray) -> Any:
        # whole numbers beside floats are compared as they are; those beside one another NumPy compares so
        if x.dtype.kind in "fc" or y.dtype.kind in "fc":
            check_mixed("xy", (x, y), f"op 'opsdk::{name}'")
        return compared(x, y)

    types = {"x": "np.ndarray", "y": "np.ndarray", "return": "np.ndarray"}
    made = written(compare, name, types, module=__name__, doc=doc, origin=entry())
    schema = f"opsdk::{name}(Tensor x, Tensor y) -> Tensor out"
    return op(schema, infer=_BOOL, nondifferentiable=("x", "y", "out"))(made)


equal = _comparison("equal", np.equal, "x == y.")
not_equal = _comparison("not_equal", np.not_equal, "x != y.")
less_than = _comparison("less_than", np.less, "x < y.")
less_equal = _comparison("less_equal", np.less_equal, "x <= y.")
greater_than = _comparison("greater_than", np.greater, "x > y.")
greater_equal = _comparison("greater_equal", np.greater_equal, "x >= y.")


@op("opsdk::logical_not(Tensor x) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "out"))
def logical_not(x: np.ndarray) -> np.ndarray:
    """True where x is zero or False."""
    return np.logical_not(x)


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
