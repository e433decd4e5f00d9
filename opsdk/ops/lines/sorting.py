"""Sorting along an axis: the values in order, and the positions that they had; equal ones stay in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.lines.along_axis import take_along_axis

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op("opsdk::argsort(Tensor x, *, int axis=-1, bool descending=False) -> Tensor<int> out", nondifferentiable=("x",))
def argsort(x: np.ndarray, *, axis: int, descending: bool) -> np.ndarray:
    """Positions of the elements along an axis in order, int64; equal ones stay in their order, nan is the greatest."""
    normalize_axes([axis], x.ndim, "op 'opsdk::argsort'")  # to NumPy no axes are one
    return _order(x, axis, descending).copy(order="C")


@argsort.infer
def _argsort(x: TensorSpec, axis: int) -> TensorSpec:
    normalize_axes([axis], x.ndim, "op 'opsdk::argsort'")
    return TensorSpec(x.shape, "int64")


@op("opsdk::sort(Tensor x, *, int axis=-1, bool descending=False) -> Tensor out")
def sort(x: np.ndarray, *, axis: int, descending: bool) -> np.ndarray:
    """The elements along an axis in order; equal ones stay in their order, nan is the greatest.

    Gradient: with respect to x, to any order: each cotangent goes back to where its element was.
    """
    normalize_axes([axis], x.ndim, "op 'opsdk::sort'")
    made = np.sort(_turned(x, axis, descending), axis, kind="stable")
    return _turned(made, axis, descending).copy(order="C")


@sort.infer
def _sort(x: TensorSpec, axis: int) -> TensorSpec:
    normalize_axes([axis], x.ndim, "op 'opsdk::sort'")
    return x


@sort.backward(complex=True)
def sort_grad(x: np.ndarray, dout: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The cotangents, each where its element was."""
    back = np.argsort(_order(x, axis, descending), axis, kind="stable")
    return np.take_along_axis(dout, back, axis)


@sort_grad.backward(composite=True, disconnected=("x",), complex=True)
def sort_grad_grad(x: Any, ddx: Any, axis: int, descending: bool) -> Any:
    """What enters, in the order of the elements."""
    return None, take_along_axis(ddx, argsort(x, axis=axis, descending=descending), axis=axis)


def _turned(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Returns a view with the elements along an axis from the last to the first, where they are to descend."""
    return x[(slice(None),) * (axis % x.ndim) + (slice(None, None, -1),)] if descending else x


def _order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Returns positions in order; those of equal elements ascend, also where the elements descend."""
    order = _turned(np.argsort(_turned(x, axis, descending), axis, kind="stable"), axis, descending)
    return x.shape[axis] - 1 - order if descending else order


@argsort.samples
@sort.samples
def _samples(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 5))
    yield Sample(x, reason="rows")
    yield Sample(x, axis=0, descending=True, reason="columns, the greatest first")
    yield Sample(rng.normal(size=(2, 40, 2)), axis=1, reason="an inner axis")
    yield Sample(np.array([2.0, 1.0, 2.0, 1.0, 1.0]), descending=True, reason="equal ones stay in their order")
    yield Sample(rng.normal(size=(2, 1)), reason="one element in a line")
    yield Sample(np.zeros((0, 3)), descending=True, reason="no lines")
    yield Sample(np.zeros((3, 0)), reason="nothing in a line")


@argsort.samples
def _integers(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _samples(rng)
    yield Sample(np.array([[3, -1, 3, 0]]), reason="integers")
