"""Ops that find: what is other than 0, distinct elements, places in a sorted line, and how many fall where.

How much most of them find only a run can tell. None has a derivative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from opsdk.core import sums
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.elements.indexing import encode_index
from opsdk.ops.elements.indexing import index as index_by


@op("opsdk::nonzero(Tensor x) -> Tensor<int> out", nondifferentiable=("x",))
def nonzero(x: np.ndarray) -> np.ndarray:
    """Positions of the elements other than 0, a row each, in C order; int64."""
    return np.stack(np.nonzero(np.atleast_1d(x)), axis=-1)[:, : x.ndim].astype(np.int64).copy(order="C")


@nonzero.infer
def _nonzero(x: TensorSpec) -> TensorSpec:
    return TensorSpec([None, x.ndim], "int64")


@op(
    "opsdk::unique(Tensor x, *, int? axis=None, bool neighbours=False) "
    "-> (Tensor<int> index, Tensor<int> inverse, Tensor<int> counts)",
    nondifferentiable=("x",),
)
def unique(x: np.ndarray, *, axis: int | None, neighbours: bool) -> Any:  # three arrays
    """First positions of the distinct elements in order, or slices along an axis; their numbers for each; how often.

    With `neighbours` an element is dropped only where the one before is equal, and the order stays.
    """
    if axis is not None:
        normalize_axes([axis], x.ndim, "op 'opsdk::unique'")
    if not neighbours:
        return tuple(each.astype(np.int64).reshape(-1) for each in np.unique(x, True, True, True, axis)[1:])
    lines = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    rows = lines.reshape(len(lines), -1)
    starts = np.ones_like(lines, bool, shape=len(lines))
    starts[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    (first,) = np.nonzero(starts)
    return first, np.cumsum(starts) - 1, np.diff(first, append=len(lines))


@unique.infer
def _unique(x: TensorSpec, axis: int | None) -> tuple[TensorSpec, ...]:
    found = TensorSpec([None], "int64")
    if axis is None:
        size = None if None in x.shape else math.prod(n or 0 for n in x.shape)
        return found, TensorSpec([size], "int64"), found
    (at,) = normalize_axes([axis], x.ndim, "op 'opsdk::unique'")
    return found, TensorSpec([x.shape[at]], "int64"), found


@op(
    "opsdk::searchsorted(Tensor line, Tensor values, *, bool right=False) -> Tensor<int> out",
    nondifferentiable=("line", "values"),
)
def searchsorted(line: np.ndarray, values: np.ndarray, *, right: bool) -> np.ndarray:
    """Positions in a sorted line before which values belong, behind equal ones with `right`; int64.

    Args:
        line: ascending along the last axis; lines of their own for the leading axes of the values, or one for all.
        values: numbers.
        right: whether a value belongs behind equal ones.
    """
    side: Literal["left", "right"] = "right" if right else "left"
    if line.ndim == 1:
        return np.asarray(np.searchsorted(line, values, side), np.int64, like=values)
    rows, sought = line.reshape(-1, line.shape[-1]), values.reshape(-1, values.shape[-1])
    made = np.empty_like(sought, np.int64)
    for k, row in enumerate(rows):
        made[k] = np.searchsorted(row, sought[k], side)
    return made.reshape(values.shape)


@searchsorted.infer
def _searchsorted(line: TensorSpec, values: TensorSpec) -> TensorSpec:
    pairs = zip(line.shape[:-1], values.shape[:-1], strict=False)
    apart = line.ndim != values.ndim or any(None not in (a, b) and a != b for a, b in pairs)
    if not line.ndim or (line.ndim > 1 and apart):
        raise ShapeError(
            "op 'opsdk::searchsorted': line expected one axis, or the leading sizes of values, got "
            f"{line.shape} beside {values.shape}"
        )
    return TensorSpec(values.shape, "int64")


@op(
    "opsdk::bincount(Tensor<int> x, Tensor? weights, *, int minlength=0) -> Tensor out",
)
def bincount(x: np.ndarray, weights: np.ndarray | None, *, minlength: int) -> np.ndarray:
    """How often each whole number from 0 on is in a vector, or the sums of the weights of each; or more."""
    if x.size and x.min() < 0:
        raise InputValueError(f"op 'opsdk::bincount': x expected numbers >= 0, got {x.min()}")
    size = max(minlength, int(x.max()) + 1 if x.size else 0)
    values = np.ones_like(x, np.int64) if weights is None else weights.astype(_weighed(weights.dtype))
    return sums.sum_at(values, x, size)


def _weighed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype("float64") if dtype.kind in "biu" else dtype


@bincount.infer
def _bincount(x: TensorSpec, weights: TensorSpec | None) -> TensorSpec:
    if x.ndim != 1 or (weights is not None and weights.ndim != 1):
        raise ShapeError(f"op 'opsdk::bincount': x and weights expected one axis, got {x} and {weights}")
    return TensorSpec([None], "int64" if weights is None else _weighed(weights.dtype))


# Any: arrays, tensors or Program variables, whichever runtime calls.
@bincount.backward(composite=True)
def bincount_grad(x: Any, dout: Any) -> Any:
    """To each weight the cotangent of its sum."""
    code, arrays = encode_index(x)
    return index_by(dout, arrays, index=code)


_COUNTS = "it counts, as it does in PyTorch and Paddle"


@op(
    "opsdk::histogram(Tensor x, Tensor? weight, *, int bins=100, float min=0.0, float max=0.0, bool density=False) "
    "-> Tensor out",
    nondifferentiable={"x": _COUNTS, "weight": _COUNTS, "out": _COUNTS},
)
def histogram(
    x: np.ndarray, weight: np.ndarray | None, *, bins: int, min: float, max: float, density: bool
) -> np.ndarray:
    """How many elements fall into each of so many parts of [min, max], of the range of x where both are 0."""
    low, high = (x.min(), x.max()) if min == max == 0 and x.size else (min, max)
    if not low <= high:
        raise InputValueError(f"op 'opsdk::histogram': expected min <= max, finite, got {low} and {high}")
    low, high = (low - 1, high + 1) if low == high else (low, high)
    made, _ = np.histogram(x, bins, (low, high), weights=weight, density=density or None)
    return made.astype(_counted(weight is None and not density))


def _counted(is_count: bool) -> np.dtype[Any]:
    return np.dtype("int64" if is_count else "float32")


@histogram.infer
def _histogram(x: TensorSpec, weight: TensorSpec | None, bins: int, density: bool) -> TensorSpec:
    if bins < 1:
        raise ShapeError(f"op 'opsdk::histogram': bins expected a number > 0, got {bins}")
    return TensorSpec([bins], _counted(weight is None and not density))


@op(
    "opsdk::isin(Tensor x, Tensor values, *, bool invert=False) -> Tensor out", nondifferentiable=("x", "values", "out")
)
def isin(x: np.ndarray, values: np.ndarray, *, invert: bool) -> np.ndarray:
    """True where x is one of the values; the opposite with `invert`."""
    return np.asarray(np.isin(x, values, invert=invert), like=x)


@isin.infer
def _isin(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, "bool")


@nonzero.samples
def _nonzeros(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.integers(-1, 2, (3, 4)).astype(float), reason="a matrix")
    yield Sample(np.array([False, True, True]), reason="a mask")
    yield Sample(np.zeros((0, 3)), reason="empty")


@unique.samples
def _uniques(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.integers(0, 3, (4, 2)).astype(float)
    for neighbours in (False, True):
        yield Sample(x, neighbours=neighbours, reason="all elements")
        yield Sample(x, axis=0, neighbours=neighbours, reason="rows")
        yield Sample(x, axis=-1, neighbours=neighbours, reason="columns")
    yield Sample(np.zeros(0), reason="empty")


@searchsorted.samples
def _searches(rng: np.random.Generator) -> Iterator[Sample]:
    line = np.array([1.0, 2.0, 2.0, 5.0])
    yield Sample(line, np.array([[0.0, 2.0], [5.0, 6.0]]), reason="one line")
    yield Sample(line, np.array([2.0]), right=True, reason="behind equal ones")
    yield Sample(np.sort(rng.normal(size=(3, 5)), -1), rng.normal(size=(3, 2)), reason="a line for each row")


@bincount.samples
def _bincounts(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(np.array([0, 3, 1, 3]), rng.normal(size=4), minlength=6, reason="weights, and a least length")
    yield Sample(np.array([0, 3, 1, 3]), None, reason="counts")
    yield Sample(np.zeros(0, np.int64), None, minlength=2, reason="empty")


@histogram.samples
def _histograms(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 4)), None, bins=4, reason="the range of x")
    yield Sample(rng.normal(size=12), rng.uniform(size=12), bins=3, min=-1.0, max=1.0, reason="weights")
    yield Sample(rng.normal(size=12), None, bins=3, min=-1.0, max=1.0, density=True, reason="density")


@isin.samples
def _memberships(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.integers(0, 5, (3, 4)), np.array([1, 3]), reason="whole numbers")
    yield Sample(np.array([0.5, 1.0]), np.array([[1.0]]), invert=True, reason="the opposite")
