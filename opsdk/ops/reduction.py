"""Reductions over axes: sum, mean, max, min, argmax, cumsum, and sum_to, the sum that undoes broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core import sums
from opsdk.core.dtype import as_floating, as_native, computed_in
from opsdk.core.errors import ArityError, ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.core.written import entry, written
from opsdk.define.decorators import op
from opsdk.define.infer import like, normalize_axes, reduce
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.ops.creation import fill_any_like
from opsdk.ops.elementwise import elementwise_div
from opsdk.ops.joining import where
from opsdk.ops.logical import equal
from opsdk.ops.shape import cast, unsqueeze

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def _axes(axis: tuple[int, ...] | None, x: np.ndarray, name: str) -> tuple[int, ...] | None:
    return normalize_axes(axis, x.ndim, f"op 'opsdk::{name}'") if axis else None


def _kept(x: Any, value: Any, axis: tuple[int, ...] | None, keepdim: bool) -> Any:
    """Returns a reduced value with the reduced axes back as size 1."""
    return value if keepdim else unsqueeze(value, axis=list(normalize_axes(axis, len(x.shape), "reduction")))


def _reduced(name: str, dtype_of: Callable[[np.dtype[Any]], np.dtype[Any]]) -> Callable[..., TensorSpec]:
    """Returns the rule of the reduced shape, with the dtype that a function of the input's dtype gives."""

    def rule(x: TensorSpec, axis: Any, keepdim: bool) -> TensorSpec:
        axes = normalize_axes(axis, x.ndim, f"op 'opsdk::{name}'")
        dims = [1 if i in axes else dim for i, dim in enumerate(x.shape) if keepdim or i not in axes]
        return TensorSpec(dims, dtype_of(x.dtype))

    return rule


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.sum(np.zeros(1, dtype)).dtype if dtype.kind in "biu" else dtype


@op(
    "opsdk::reduce_sum(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out",
    infer=_reduced("reduce_sum", _sum_dtype),
)
def reduce_sum(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Sum over axes, over all of them unless given; integers and bools add up in int64, other dtypes stay.

    float16 and bfloat16 are added in float32; all sums are taken in blocks and rounded once.
    """
    return sums.total(x, _axes(axis, x, "reduce_sum"), keepdim, _sum_dtype(x.dtype))


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
    infer=_reduced("reduce_mean", as_floating),
)
def reduce_mean(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Mean over axes, over all of them unless given; of integers it is float32, of nothing nan, without a warning."""
    return sums.mean(x, _axes(axis, x, "reduce_mean"), keepdim, as_floating(x.dtype))


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
    return np.max(x, axis=_axes(axis, x, "reduce_max"), keepdims=keepdim)


@reduce_max.backward(composite=True)
def reduce_max_grad(x: Any, out: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent at the greatest elements; where several tie, it is shared equally."""
    return _at_extreme(x, out, dout, axis, keepdim)


@op("opsdk::reduce_min(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out", infer=reduce)
def reduce_min(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> np.ndarray:
    """Least element over axes, over all of them unless given."""
    _check_some(x, axis, "reduce_min")
    return np.min(x, axis=_axes(axis, x, "reduce_min"), keepdims=keepdim)


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


# Any: a function of NumPy's.
def _place(name: str, function: Any, extreme: str) -> Op:
    """Returns the op that tells where the extreme elements are."""

    def placed(x: np.ndarray, *, axis: int | None = None, keepdim: bool = False) -> np.ndarray:
        axes = normalize_axes(axis, x.ndim, f"op 'opsdk::{name}'")
        if not all(x.shape[at] for at in axes):
            where = "" if axis is None else f" along axis {axis}"
            raise ShapeError(f"op 'opsdk::{name}': expected at least one element{where}, got shape {x.shape}")
        return np.asarray(function(x, axis=axis, keepdims=keepdim), dtype=np.int64, like=x)

    types = {"x": "np.ndarray", "axis": "int | None", "keepdim": "bool", "return": "np.ndarray"}
    doc = f"Position of the {extreme} element along an axis, or in x flattened; the first where several tie; int64."
    made = written(placed, name, types, module=__name__, doc=doc, origin=entry())
    schema = f"opsdk::{name}(Tensor x, *, int? axis=None, bool keepdim=False) -> Tensor<int> out"
    infer = _reduced(name, lambda dtype: np.dtype("int64"))
    return op(schema, infer=infer, nondifferentiable=("x",))(made)


argmax = _place("argmax", np.argmax, "greatest")
argmin = _place("argmin", np.argmin, "least")


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
@argmin.samples
def _places(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), axis=-1, reason="last axis")
    yield Sample(rng.normal(size=(3, 5)), reason="all axes")
    yield Sample(rng.normal(size=(3, 5)), keepdim=True, reason="all axes, kept")
    yield Sample(rng.normal(size=(2, 3, 2)), axis=1, keepdim=True, reason="inner axis, kept")
    yield Sample(np.array([[1.0, 2.0, 2.0]]), axis=-1, reason="ties, the first wins")
    yield Sample(np.array([3, 1, 4]), axis=-1, reason="integers")
    yield Sample(np.array(3.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), axis=-1, reason="no rows")


@op("opsdk::cumsum(Tensor x, *, int axis=0, bool reverse=False) -> Tensor out")
def cumsum(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
    """Sums of the elements up to each along an axis, or from each on; integers and bools add up in int64.

    float16 and bfloat16 are added in float32; all are added in blocks and rounded once.
    """
    at = normalize_axes([axis], x.ndim, "op 'opsdk::cumsum'")[0]
    return sums.running(x, at, reverse, _sum_dtype(x.dtype))


@cumsum.infer
def _cumsum(x: TensorSpec, axis: int) -> TensorSpec:
    normalize_axes([axis], x.ndim, "op 'opsdk::cumsum'")
    return TensorSpec(x.shape, _sum_dtype(x.dtype))


@cumsum.backward(composite=True, complex=True)
def cumsum_grad(dout: Any, axis: int, reverse: bool) -> Any:
    """The cotangents of all sums that an element is in, summed from the other end."""
    return cumsum(dout, axis=axis, reverse=not reverse)


@cumsum.samples
def _running_sums(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 4)), reason="down the columns")
    yield Sample(rng.normal(size=(2, 3, 2)), axis=-2, reverse=True, reason="from the other end, an inner axis")
    yield Sample(rng.normal(size=(40,)), reason="more than one block")
    yield Sample(np.array([[True, False], [True, True]]), axis=1, reason="bools are counted")
    yield Sample(np.zeros((0, 4)), reason="nothing to add")


def sum_to(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Sums an array over the axes along which `shape` was broadcast to it.

    Args:
        array: array of any dtype and of a shape that `shape` broadcasts to.
        shape: the shape wanted, sizes ≥ 0.

    Returns:
        An array of that shape and of the array's dtype; the array itself where the shapes agree already. float16 and
        bfloat16 are added in float32; all sums are taken in blocks and rounded once.

    Raises:
        ShapeError: `shape` does not broadcast to the array's shape.

    Gradient:
        With respect to the array: the cotangent, broadcast back. The shape is not differentiable.

    Example:
        >>> sum_to(np.ones((2, 3)), (3,))
        array([2., 2., 2.])
    """
    wanted = tuple(shape)
    if array.shape == wanted:
        return array
    return sums.total(as_native(array), stretched_axes(array.shape, wanted), True).reshape(wanted)


def stretched_axes(have: Sequence[int | None], wanted: Sequence[int]) -> list[int]:
    """Returns the axes along which a shape was broadcast to another; None is a size that only a run can tell.

    Raises:
        ShapeError: it does not broadcast to the other.
    """
    lead = len(have) - len(wanted)
    pairs = list(zip(have[max(lead, 0) :], wanted, strict=False))
    if lead < 0 or any(size not in (want, None) and want != 1 for size, want in pairs):
        raise ShapeError(f"sum_to: expected a shape that broadcasts to {shape_text(have)}, got {tuple(wanted)}")
    return [*range(lead), *(lead + i for i, (size, want) in enumerate(pairs) if want == 1 and size != 1)]


@op("opsdk::sum_to_like(Tensor x, Tensor like) -> Tensor out", infer=like("like"), nondifferentiable=("like",))
def sum_to_like(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Sums x over the axes along which `like` was broadcast to it; only the shape of `like` matters."""
    summed = sum_to(x, like.shape)
    return summed.copy() if summed is x else summed


@op("opsdk::expand_as(Tensor x, Tensor like) -> Tensor out", nondifferentiable=("like",))
def expand_as(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Broadcasts x to the shape of `like`; the values of `like` do not matter."""
    return np.broadcast_to(x, like.shape).copy()


@expand_as.infer
@sum_to_like.infer
def _in_shape(x: TensorSpec, like: TensorSpec) -> TensorSpec:
    return TensorSpec(like.shape, x.dtype)


# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
@sum_to_like.backward(composite=True, complex=True)
def sum_to_like_grad(x: Any, dout: Any) -> Any:
    """The cotangent, broadcast back."""
    return expand_as(dout, x)


@expand_as.backward(composite=True, complex=True)
def expand_as_grad(x: Any, dout: Any) -> Any:
    """The cotangent, summed back."""
    return sum_to_like(dout, x)


@op("opsdk::sum(Tensor[] x) -> Tensor out")
def sum(x: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of arrays of one shape, added from the first to the last; float16 and bfloat16 in float32."""
    dtype = x[0].dtype
    made = x[0].astype(computed_in(dtype))
    for array in x[1:]:
        if array.shape != made.shape:  # NumPy would broadcast
            raise _of_two_shapes(x)
        made = np.add(made, array)
    with np.errstate(over="ignore"):
        return np.asarray(made, dtype, like=x[0])


@sum.infer
def _sum(x: list[TensorSpec]) -> TensorSpec:
    if not x:
        raise ArityError("sum: expected at least one tensor, got none")
    first = x[0]
    for spec in x[1:]:
        pairs = zip(spec.shape, first.shape, strict=False)
        if spec.dtype != first.dtype or spec.ndim != first.ndim or any(None not in (a, b) and a != b for a, b in pairs):
            raise _of_two_shapes(x)
    return first


def _of_two_shapes(x: Sequence[Any]) -> ShapeError:
    got = ", ".join(str(TensorSpec.of(item)) for item in x)
    return ShapeError(f"sum: expected tensors of one shape and dtype, got {got}")


@sum.backward(composite=True, complex=True)
def sum_grad(x: Any, dout: Any) -> Any:
    """The cotangent, for each."""
    return [dout for _ in x]


@sum_to_like.samples
def _sums_to(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(2, 3, 4)), np.zeros((3, 1)), reason="a leading axis, and one of size 1")
    yield Sample(rng.normal(size=(3, 4)), np.zeros((3, 4)), reason="nothing to sum")
    yield Sample(rng.normal(size=(3, 4)), np.zeros(()), reason="to 0-d")
    yield Sample(np.zeros((0, 4)), np.zeros((4,)), reason="a sum of nothing")
    yield Sample(np.zeros((2, 0)), np.zeros((2, 1)), reason="a sum of nothing, kept")


@expand_as.samples
def _expands(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 1)), np.zeros((2, 3, 4)), reason="a leading axis, and one of size 1")
    yield Sample(rng.normal(size=(3, 4)), np.zeros((3, 4)), reason="the shape that it has")
    yield Sample(np.array(2.0), np.zeros((3, 4)), reason="from 0-d")
    yield Sample(rng.normal(size=(4,)), np.zeros((0, 4)), reason="to nothing")
