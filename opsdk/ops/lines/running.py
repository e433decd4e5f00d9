"""Extremes, and sums of exponentials, of the elements up to each along an axis; and the most frequent element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.spec import TensorSpec
from opsdk.core.written import entry, written
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.op import Op
from opsdk.define.sample import Sample


def _places(x: TensorSpec, axis: int) -> TensorSpec:
    normalize_axes([axis], x.ndim, "op of positions")
    return TensorSpec(x.shape, "int64")


def _counts(size: int, ndim: int, axis: int, like: np.ndarray) -> np.ndarray:
    """Returns 0, 1, 2 … along an axis."""
    return np.arange(size, like=like).reshape([-1 if i == axis % ndim else 1 for i in range(ndim)])


# Any: a ufunc of NumPy's.
def _extreme(name: str, function: Any, extreme: str) -> Op:
    """Returns the op that tells where the extreme of the elements up to each is."""

    def place(x: np.ndarray, *, axis: int) -> np.ndarray:
        found = function.accumulate(x, axis)
        is_it = (x == found) | (x != x)
        counts = _counts(x.shape[axis], x.ndim, axis, x)
        return np.asarray(np.maximum.accumulate(np.where(is_it, counts, 0), axis), np.int64, like=x)

    types = {"x": "np.ndarray", "axis": "int", "return": "np.ndarray"}
    doc = f"Position of the {extreme} of the elements up to each along an axis, of equal ones the last; int64."
    made = written(place, name, types, module=__name__, doc=doc, origin=entry())
    return op(f"opsdk::{name}(Tensor x, *, int axis) -> Tensor<int> out", infer=_places, nondifferentiable=("x",))(made)


cummax_place = _extreme("cummax_place", np.maximum, "greatest")
cummin_place = _extreme("cummin_place", np.minimum, "least")


@op("opsdk::mode_place(Tensor x, *, int axis=-1) -> Tensor<int> out", nondifferentiable=("x",))
def mode_place(x: np.ndarray, *, axis: int) -> np.ndarray:
    """Last position of the most frequent element along an axis, of several the least; int64, the axis of size 1."""
    counts = _counts(x.shape[axis], x.ndim, axis, x)
    ordered = np.sort(x, axis)
    before = np.roll(ordered, 1, axis)
    starts = np.maximum.accumulate(np.where(ordered != before, counts, 0), axis)
    at = np.argmax(counts - starts, axis, keepdims=True)
    return np.max(np.where(x == np.take_along_axis(ordered, at, axis), counts, 0), axis, keepdims=True)


@mode_place.infer
def _mode_place(x: TensorSpec, axis: int) -> TensorSpec:
    (at,) = normalize_axes([axis], x.ndim, "op 'opsdk::mode_place'")
    return TensorSpec([1 if i == at else size for i, size in enumerate(x.shape)], "int64")


@op("opsdk::logcumsumexp(Tensor x, *, int axis=0) -> Tensor out")
def logcumsumexp(x: np.ndarray, *, axis: int) -> np.ndarray:
    """Logarithms of the sums of exp(x) up to each along an axis; nothing overflows.

    Its derivative is there, one of second order is not.
    """
    wide = x.astype(computed_in(x.dtype))
    return np.asarray(np.logaddexp.accumulate(wide, axis).astype(x.dtype), like=x)


@logcumsumexp.infer
def _logcumsumexp(x: TensorSpec, axis: int) -> TensorSpec:
    normalize_axes([axis], x.ndim, "op 'opsdk::logcumsumexp'")
    return x


@logcumsumexp.backward
def logcumsumexp_grad(x: np.ndarray, out: np.ndarray, dout: np.ndarray, axis: int) -> np.ndarray:
    """To each element the cotangents of all sums that it is in, times its share of them.

    A sum's share of the next one is at most 1, so that going back from sum to sum overflows nowhere.
    """
    wide = computed_in(x.dtype)
    values, sums, total = (np.moveaxis(each.astype(wide), axis, 0) for each in (x, out, dout))
    total = total.copy()
    for i in range(len(total) - 2, -1, -1):
        total[i] += np.exp(np.where(sums[i] == sums[i + 1], 0, sums[i] - sums[i + 1])) * total[i + 1]
    share = np.exp(np.where(values == sums, 0, values - sums))
    return np.moveaxis(total * share, 0, axis).astype(x.dtype).copy(order="C")


@cummax_place.samples
@cummin_place.samples
def _samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), axis=1, reason="rows")
    yield Sample(rng.normal(size=(3, 5, 2)), axis=-2, reason="an inner axis")
    yield Sample(np.array([1.0, 3.0, 3.0, 2.0]), axis=0, reason="equal ones, the last counts")
    yield Sample(np.array([2, 1, 3]), axis=0, reason="integers")
    yield Sample(np.zeros((0, 4)), axis=1, reason="no lines")


@logcumsumexp.samples
def _sums(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), axis=1, reason="rows")
    yield Sample(rng.normal(size=(3, 5, 2)), axis=-2, reason="an inner axis")
    yield Sample(np.array([1000.0, -1000.0, 0.0]), reason="far apart")
    yield Sample(np.zeros((0, 4)), axis=1, reason="no lines")


@mode_place.samples
def _modes(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.integers(0, 3, (3, 8)), reason="rows")
    yield Sample(rng.integers(0, 3, (3, 8, 2)).astype(float), axis=1, reason="an inner axis")
    yield Sample(np.array([2.0, 1.0]), reason="of several the least")
