"""Reductions over axes: sum, mean, max, min, argmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opsdk.core import sums
from opsdk.core.dtype import computed_in
from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import Attrs, Inferred, Specs, normalize_axes, reduce
from opsdk.define.sample import Sample
from opsdk.define.schema.schema import OpSchema
from opsdk.ops.compare import equal
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elementwise import elementwise_div
from opsdk.ops.joining import where
from opsdk.ops.shape import cast, unsqueeze

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def _axes(axis: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return tuple(axis) if axis else None


def _kept(x: Any, value: Any, axis: tuple[int, ...] | None, keepdim: bool) -> Any:
    """Returns a reduced value with the reduced axes back as size 1."""
    return value if keepdim else unsqueeze(value, axis=list(normalize_axes(axis, len(x.shape), "reduction")))


class _ReduceTo:
    """The reduced shape, with the dtype that a function of the input's dtype gives."""

    reduces_gradients = False

    def __init__(self, dtype_of: Callable[[np.dtype[Any]], np.dtype[Any]]) -> None:
        self.dtype_of = dtype_of

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns one spec."""
        (spec,) = reduce(schema, specs, attrs)
        assert isinstance(spec, TensorSpec)
        return (TensorSpec(spec.shape, self.dtype_of(spec.dtype)),)


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.sum(np.zeros(1, dtype)).dtype if dtype.kind in "biu" else dtype


def _mean_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype("float64") if dtype.kind in "biu" else dtype


@op(
    "opsdk::reduce_sum(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out",
    infer=_ReduceTo(_sum_dtype),
)
def reduce_sum(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Sum over axes, over all of them unless given; integers and bools add up in int64, other dtypes stay.

    float16 and bfloat16 are added in float32; all sums are taken in blocks and rounded once.
    """
    return sums.total(x, _axes(axis), keepdim, _sum_dtype(x.dtype))


@reduce_sum.backward(complex=True)
def reduce_sum_grad(x: np.ndarray, dout: np.ndarray, axis: Any, keepdim: bool) -> np.ndarray:
    """The cotangent, broadcast back."""
    kept = dout if keepdim else np.expand_dims(dout, normalize_axes(axis, x.ndim, "reduce_sum"))
    return np.broadcast_to(kept, x.shape).copy()


@reduce_sum_grad.backward(composite=True, disconnected=("x",), complex=True)
def reduce_sum_grad_grad(ddx: Any, axis: Any, keepdim: bool) -> Any:
    """The sum of what enters: the gradient of a sum is linear in its cotangent, and x only lends its shape."""
    return None, reduce_sum(ddx, axis=axis, keepdim=keepdim)


@op(
    "opsdk::reduce_mean(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out",
    infer=_ReduceTo(_mean_dtype),
)
def reduce_mean(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Mean over axes, over all of them unless given; of integers it is float64, of nothing nan, without a warning."""
    return sums.mean(x, _axes(axis), keepdim, _mean_dtype(x.dtype))


@reduce_mean.backward(complex=True)
def reduce_mean_grad(x: np.ndarray, dout: np.ndarray, axis: Any, keepdim: bool) -> np.ndarray:
    """The cotangent, divided by the number of elements averaged, and broadcast back."""
    axes = normalize_axes(axis, x.ndim, "reduce_mean")
    count = int(np.prod([x.shape[i] for i in axes])) or 1
    kept = dout if keepdim else np.expand_dims(dout, axes)
    share = np.divide(kept, count, dtype=computed_in(x.dtype)).astype(x.dtype, copy=False)  # float16 has no 65,536
    return np.broadcast_to(share, x.shape).copy()


@reduce_mean_grad.backward(composite=True, disconnected=("x",), complex=True)
def reduce_mean_grad_grad(ddx: Any, axis: Any, keepdim: bool) -> Any:
    """The mean of what enters: the gradient of a mean is linear in its cotangent, and x only lends its shape."""
    return None, reduce_mean(ddx, axis=axis, keepdim=keepdim)


@op("opsdk::reduce_max(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_max(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Greatest element over axes, over all of them unless given."""
    _check_some(x, axis, "reduce_max")
    return np.max(x, axis=_axes(axis), keepdims=keepdim)


@reduce_max.backward(composite=True)
def reduce_max_grad(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent at the greatest elements; where several tie, it is shared equally."""
    return _at_extreme(x, out, dout, axis, keepdim)


@op("opsdk::reduce_min(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_min(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Least element over axes, over all of them unless given."""
    _check_some(x, axis, "reduce_min")
    return np.min(x, axis=_axes(axis), keepdims=keepdim)


@reduce_min.backward(composite=True)
def reduce_min_grad(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent at the least elements; where several tie, it is shared equally."""
    return _at_extreme(x, out, dout, axis, keepdim)


def _check_some(x: np.ndarray, axis: tuple[int, ...] | None, name: str) -> None:
    if not x.size and any(x.shape[i] == 0 for i in normalize_axes(axis, x.ndim, f"op 'opsdk::{name}'")):
        raise ShapeError(f"op 'opsdk::{name}': expected at least one element to compare, got shape {x.shape}")


def _at_extreme(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    wide = computed_in(x.dtype)  # in which the number of ties is exact
    found = _kept(x, out, axis, keepdim)
    is_extreme = equal(x, found)
    count = reduce_sum(cast(is_extreme, dtype=wide), axis=axis, keepdim=True)
    arriving = _kept(x, dout, axis, keepdim)
    if wide == x.dtype:
        share = elementwise_div(arriving, count)
    else:
        share = cast(elementwise_div(cast(arriving, dtype=wide), count), dtype=x.dtype)
    # 0, also beside an infinite share, but for rows with nan, whose extreme is nan
    nothing = where(equal(found, found), fill_any_like(found), found)
    return where(is_extreme, share, nothing)


@op("opsdk::argmax(Tensor x, *, int? axis=None, bool keepdim=False) -> Tensor<int> out", nondifferentiable=("x",))
def argmax(x: np.ndarray, *, axis: int | None = None, keepdim: bool = False) -> np.ndarray:
    """Position of the greatest element along an axis, or in the flattened array; the first where several tie; int64."""
    axes = normalize_axes(axis, x.ndim, "op 'opsdk::argmax'")
    if not all(x.shape[at] for at in axes):
        where = "" if axis is None else f" along axis {axis}"
        raise ShapeError(f"op 'opsdk::argmax': expected at least one element{where}, got shape {x.shape}")
    return np.asarray(np.argmax(x, axis=axis, keepdims=keepdim), dtype=np.int64, like=x)


@argmax.infer
def _argmax(x: TensorSpec, axis: int | None, keepdim: bool) -> TensorSpec:
    axes = normalize_axes(axis, x.ndim, "op 'opsdk::argmax'")
    return TensorSpec([1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdim or i not in axes], "int64")


@reduce_sum.samples
@reduce_mean.samples
def _sums(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _over_axes(rng)
    yield Sample(np.array([[True, False], [True, True]]), axis=[0], reason="bools are counted")
    yield Sample(np.array([1, 2, 4], dtype=np.int32), reason="integers")
    yield Sample(np.zeros((0, 4)), reason="nothing to add")
    yield Sample(np.zeros((0, 4)), axis=[0], reason="nothing to add, per column")


@reduce_max.samples
@reduce_min.samples
def _extremes(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _over_axes(rng)
    yield Sample(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]), axis=[1], reason="ties, which share the gradient")


def _over_axes(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 4))
    yield Sample(x, reason="all axes")
    yield Sample(x, axis=[1], reason="one axis")
    yield Sample(x, axis=[0, -1], keepdim=True, reason="two axes, kept")
    yield Sample(x, keepdim=True, reason="all axes, kept")
    yield Sample(rng.normal(size=(5,)), axis=0, reason="vector")
    yield Sample(np.array(3.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), axis=[1], reason="no rows")


@argmax.samples
def _argmax_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), axis=-1, reason="last axis")
    yield Sample(rng.normal(size=(3, 5)), reason="all axes")
    yield Sample(rng.normal(size=(3, 5)), keepdim=True, reason="all axes, kept")
    yield Sample(rng.normal(size=(2, 3, 2)), axis=1, keepdim=True, reason="inner axis, kept")
    yield Sample(np.array([[1.0, 2.0, 2.0]]), axis=-1, reason="ties, the first wins")
    yield Sample(np.array([3, 1, 4]), axis=-1, reason="integers")
    yield Sample(np.array(3.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), axis=-1, reason="no rows")
