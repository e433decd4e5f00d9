"""Comparison and logic: results are bool and carry no gradient."""

from __future__ import annotations

import numpy as np

from opsdk.define.decorators import op
from opsdk.define.infer import broadcast
from opsdk.expr.exact import check_mixed

_BOOL = broadcast.with_dtype("bool")


def _check_floats(x: np.ndarray, y: np.ndarray, name: str) -> None:
    """Checks that whole numbers beside floats are compared as they are; those beside one another NumPy compares so."""
    if x.dtype.kind in "fc" or y.dtype.kind in "fc":
        check_mixed("xy", (x, y), f"op 'opsdk::{name}'")


@op("opsdk::equal(Tensor x, Tensor y) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "y", "out"))
def equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x == y."""
    _check_floats(x, y, "equal")
    return np.equal(x, y)


@op("opsdk::not_equal(Tensor x, Tensor y) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "y", "out"))
def not_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x != y."""
    _check_floats(x, y, "not_equal")
    return np.not_equal(x, y)


@op("opsdk::less_than(Tensor x, Tensor y) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "y", "out"))
def less_than(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x < y."""
    _check_floats(x, y, "less_than")
    return np.less(x, y)


@op("opsdk::less_equal(Tensor x, Tensor y) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "y", "out"))
def less_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x <= y."""
    _check_floats(x, y, "less_equal")
    return np.less_equal(x, y)


@op("opsdk::greater_than(Tensor x, Tensor y) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "y", "out"))
def greater_than(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x > y."""
    _check_floats(x, y, "greater_than")
    return np.greater(x, y)


@op("opsdk::greater_equal(Tensor x, Tensor y) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "y", "out"))
def greater_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x >= y."""
    _check_floats(x, y, "greater_equal")
    return np.greater_equal(x, y)


@op("opsdk::logical_not(Tensor x) -> Tensor out", infer=_BOOL, nondifferentiable=("x", "out"))
def logical_not(x: np.ndarray) -> np.ndarray:
    """True where x is zero or False."""
    return np.logical_not(x)
