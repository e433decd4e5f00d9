"""Reductions over axes: sum, mean, max, min, argmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes, reduce
from opsdk.ops.compare import equal
from opsdk.ops.shape import cast, unsqueeze
from opsdk.ops.sum_to import expand_as

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def _axes(x: np.ndarray, axis: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return tuple(axis) if axis else None


def _kept(x: Any, value: Any, axis: tuple[int, ...] | None, keepdim: bool) -> Any:
    """Returns a reduced value with the reduced axes back as size 1."""
    return value if keepdim else unsqueeze(value, axis=list(normalize_axes(axis, len(x.shape), "reduction")))


@op("opsdk::reduce_sum(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_sum(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Sum over axes, over all of them unless given; the dtype stays."""
    return np.sum(x, axis=_axes(x, axis), keepdims=keepdim, dtype=x.dtype)


@reduce_sum.backward(composite=True)
def reduce_sum_grad(x: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent, broadcast back."""
    return expand_as(_kept(x, dout, axis, keepdim), x)


@op("opsdk::reduce_mean(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_mean(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Mean over axes, over all of them unless given; the mean of nothing is nan, without a warning."""
    axes = _axes(x, axis)
    count = x.size if axes is None else int(np.prod([x.shape[i] for i in axes]))
    total = np.sum(x, axis=axes, keepdims=keepdim, dtype=x.dtype)
    with np.errstate(invalid="ignore"):
        return np.divide(total, count, dtype=x.dtype)


@reduce_mean.backward
def reduce_mean_grad(x: np.ndarray, dout: np.ndarray, axis: Any, keepdim: bool) -> np.ndarray:
    """The cotangent, divided by the number of elements averaged, and broadcast back."""
    axes = normalize_axes(axis, x.ndim, "reduce_mean")
    count = int(np.prod([x.shape[i] for i in axes])) or 1
    kept = dout if keepdim else np.expand_dims(dout, axes)
    return np.broadcast_to(np.divide(kept, count, dtype=x.dtype), x.shape).copy()


@reduce_mean_grad.backward(composite=True, disconnected=("x",))
def reduce_mean_grad_grad(ddx: Any, axis: Any, keepdim: bool) -> Any:
    """The mean of what enters: the gradient of a mean is linear in its cotangent, and x only lends its shape."""
    return None, reduce_mean(ddx, axis=axis, keepdim=keepdim)


@op("opsdk::reduce_max(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_max(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Greatest element over axes, over all of them unless given."""
    return np.max(x, axis=_axes(x, axis), keepdims=keepdim)


@reduce_max.backward(composite=True)
def reduce_max_grad(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent at the greatest elements; where several tie, it is shared equally."""
    return _at_extreme(x, out, dout, axis, keepdim)


@op("opsdk::reduce_min(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_min(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Least element over axes, over all of them unless given."""
    return np.min(x, axis=_axes(x, axis), keepdims=keepdim)


@reduce_min.backward(composite=True)
def reduce_min_grad(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent at the least elements; where several tie, it is shared equally."""
    return _at_extreme(x, out, dout, axis, keepdim)


def _at_extreme(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    extreme = cast(equal(x, _kept(x, out, axis, keepdim)), dtype=x.dtype)
    share = _kept(x, dout, axis, keepdim) / reduce_sum(extreme, axis=axis, keepdim=True)
    return extreme * share


@op("opsdk::argmax(Tensor x, *, int axis=-1, bool keepdim=False) -> Tensor out", nondifferentiable=("x", "out"))
def argmax(x: np.ndarray, *, axis: int = -1, keepdim: bool = False) -> np.ndarray:
    """Position of the greatest element along an axis, the first where several tie; int64."""
    return np.asarray(np.argmax(x, axis=axis, keepdims=keepdim), dtype=np.int64)


@argmax.infer
def _argmax(x: TensorSpec, axis: int, keepdim: bool) -> TensorSpec:
    axes = normalize_axes(axis, x.ndim, "argmax")
    return TensorSpec([1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdim or i not in axes], "int64")
