"""Ops that move elements without computing: reshape, transpose, cast, squeeze, concat, stack, slicing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.core.fit import as_numbers, misfit
from opsdk.core.spec import OpenSize, TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.frontend import owner_of
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.complex import real_part

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
Dims = Sequence["int | None"]


# Any: what is no list of axes reaches the attribute, which says so.
def as_axes(axis: Any) -> Any:
    """Returns an axis argument as the list that ops take."""
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    if isinstance(axis, (int, np.integer)):
        return [axis]
    return list(axis) if hasattr(axis, "__iter__") and not isinstance(axis, (str, bytes)) else axis


# Any: arrays, tensors or Program variables, or what NumPy makes an array of.
def as_value(x: Any) -> Any:
    """Returns what has a shape as it is, and numbers as an array."""
    return x if hasattr(x, "shape") else as_numbers(x, "opsdk")


# Any: a tensor or Program variable, or an array.
def known_size(x: Any, axis: int, subject: str) -> int:
    """Returns the size of an axis.

    Raises:
        ShapeError: only a run can tell it.
    """
    size = x.shape[axis]
    if isinstance(size, OpenSize):
        raise size.unknown(f"a number for {subject}")
    return int(size)


# Any: a tensor or Program variable, an array, or numbers.
def with_axes(x: Any, count: int, subject: str) -> Any:
    """Returns a value that has so many axes at least.

    Raises:
        ShapeError: it has fewer.
    """
    x = as_value(x)
    if len(x.shape) < count:
        raise ShapeError(f"{subject}: x expected at least {count} axes, got shape {shape_text(tuple(x.shape))}")
    return x


@op("opsdk::cast(Tensor x, *, dtype dtype) -> Tensor out")
def cast(x: np.ndarray, *, dtype: np.dtype[Any]) -> np.ndarray:
    """x in another dtype; whole numbers beyond its range wrap, floats beyond that of an integer dtype are refused."""
    if dtype.kind in "iu" and is_differentiable(x.dtype) and x.dtype.kind != "c":
        wrong = misfit(x, dtype, truncates=True, remedy="replace such values first, with opsdk.where or opsdk.clip")
        if wrong is not None:
            raise InputValueError(f"op 'opsdk::cast', input 'x': {wrong}")
    with np.errstate(invalid="ignore", over="ignore"):
        return x.astype(dtype)


@cast.infer
def _cast(x: TensorSpec, dtype: np.dtype[Any]) -> TensorSpec:
    return TensorSpec(x.shape, dtype)


@cast.backward(composite=True, complex=True)
def cast_grad(x_spec: Any, dout: Any) -> Any:
    """The cotangent, in the input's dtype."""
    return cast(dout if x_spec.dtype.kind == "c" else real_part(dout), dtype=x_spec.dtype)


@cast.samples
def _casts(rng: np.random.Generator) -> Iterator[Sample]:
    x = 3 * rng.normal(size=(3, 5))
    yield Sample(x, dtype=np.dtype("float64"), reason="the dtype that it has")
    yield Sample(x.astype(np.float32), dtype=np.dtype("float64"), reason="longer")
    yield Sample(x, dtype=np.dtype("float32"), reason="shorter")
    yield Sample(x, dtype=np.dtype("int64"), reason="to integer, towards 0")
    yield Sample(np.array([0.0, -0.0, 2.0]), dtype=np.dtype("bool"), reason="to bool")
    yield Sample(np.array([1, 2, 3]), dtype=np.dtype("float32"), reason="from integer")
    yield Sample(np.array(1.5), dtype=np.dtype("float64"), reason="0-d")
    yield Sample(np.zeros((0, 4)), dtype=np.dtype("float64"), reason="empty")


@op("opsdk::assign(Tensor x) -> Tensor out")
def assign(x: np.ndarray) -> np.ndarray:
    """A copy of x."""
    return x.copy()


@assign.backward(composite=True, complex=True)
def assign_grad(dout: Any) -> Any:
    """The cotangent."""
    return assign(dout)


_STOPS = "it is there to pass no gradient on"


@op("opsdk::detach(Tensor(a) x) -> Tensor(a) out", nondifferentiable={"x": _STOPS, "out": _STOPS})
def detach(x: np.ndarray) -> np.ndarray:
    """x itself, outside of the graph."""
    return x


@op("opsdk::reshape(Tensor(a) x, *, int[] shape) -> Tensor(a) out")
def reshape(x: np.ndarray, *, shape: Sequence[int]) -> np.ndarray:
    """x with other sizes, in the same order; -1 once for a size that follows, 0 for the input's own size there."""
    return np.reshape(x, _resolve(x.shape, shape))


def reshaped(x: Any, wanted: Any) -> Any:
    """Returns x in a shape as a user writes it: sizes, an open one of x where it is, or all those of another Variable.

    Raises:
        ShapeError: these are no sizes.
    """
    if isinstance(wanted, (int, np.integer, np.ndarray)):
        wanted = np.atleast_1d(wanted).tolist()
    if not isinstance(wanted, (list, tuple)):
        raise ShapeError(f"reshape: expected sizes, got {wanted!r}")
    sizes = [size.tolist() if isinstance(size, np.ndarray) else size for size in wanted]
    if any(isinstance(size, OpenSize) for size in sizes):
        owner = next(size.owner for size in sizes if isinstance(size, OpenSize))
        if owner is not x and _is_shape_of(owner, sizes):
            return reshape_like(x, owner)
        if not any(type(dim) is int and dim == 0 for dim in x.shape):
            sizes = [0 if isinstance(s, OpenSize) and s.is_of(x, axis) else s for axis, s in enumerate(sizes)]
    return reshape(x, shape=sizes)


def _is_shape_of(owner: Any, sizes: Sequence[Any]) -> bool:
    """Whether sizes are all those of a Variable, in their places."""
    if owner_of(owner) is None or len(sizes) != len(owner.shape):
        return False
    every = enumerate(zip(sizes, owner.shape, strict=True))
    return all(s.is_of(owner, i) if isinstance(s, OpenSize) else type(n) is int and s == n for i, (s, n) in every)


def _resolve(have: Dims, want: Sequence[int]) -> tuple[int, ...]:
    resolved = []
    for i, size in enumerate(want):
        if size == 0 and 0 not in have:
            if i >= len(have):
                raise ShapeError(f"reshape: size 0 at position {i} stands for the input's own, which has {len(have)}")
            size = -1 if have[i] is None else have[i]  # type: ignore[assignment]
        resolved.append(size)
    known = math.prod(size for size in resolved if size != -1)
    if any(size < -1 for size in resolved):
        raise ShapeError(f"reshape: expected sizes ≥ 0, or -1 once, got {tuple(want)}")
    if None in have:
        return tuple(resolved)
    total = math.prod(dim or 0 for dim in have)
    follows = resolved.count(-1)
    fits = follows <= 1 and (known != 0 and total % known == 0 if follows else total == known)
    if not fits:
        why = "; -1 beside a size 0 could be any, write it out" if follows and not known else ""
        raise ShapeError(f"reshape: expected sizes that hold {total} elements as {tuple(have)}, got {tuple(want)}{why}")
    return tuple([total // known if size == -1 else size for size in resolved])


@reshape.infer
def _reshape(x: TensorSpec, shape: Sequence[int]) -> TensorSpec:
    return TensorSpec(_resolve(x.shape, shape), x.dtype)


@reshape.samples
def _reshapes(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 4))
    yield Sample(x, shape=[6, 4], reason="all sizes given")
    yield Sample(x, shape=[-1, 8], reason="one size that follows")
    yield Sample(x, shape=[0, 0, 2, 2], reason="0 for the input's own size")
    yield Sample(x, shape=[-1], reason="flat")
    yield Sample(np.array(3.0), shape=[1, 1], reason="from 0-d")
    yield Sample(np.array([3.0]), shape=[], reason="to 0-d")
    yield Sample(np.zeros((0, 4)), shape=[4, 0], reason="empty, 0 for the size 0")


@op("opsdk::reshape_like(Tensor x, Tensor like) -> Tensor out", nondifferentiable=("like",))
def reshape_like(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    """x in the shape of `like`."""
    return x.reshape(like.shape).copy()


@reshape_like.infer
def _reshape_like(x: TensorSpec, like: TensorSpec) -> TensorSpec:
    return TensorSpec(like.shape, x.dtype)


@reshape_like.samples
def _reshapes_like(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(2, 6)), np.zeros((3, 4)), reason="another shape")
    yield Sample(rng.normal(size=(1,)), np.zeros(()), reason="to 0-d")
    yield Sample(np.zeros((0, 4)), np.zeros((2, 0)), reason="empty")


@op("opsdk::transpose(Tensor(a) x, *, int[] perm) -> Tensor(a) out")
def transpose(x: np.ndarray, *, perm: Sequence[int]) -> np.ndarray:
    """x with its axes in another order."""
    return np.transpose(x, _permutation(perm, x.ndim))


def _permutation(perm: Sequence[int], ndim: int) -> tuple[int, ...]:
    axes = normalize_axes(list(perm), ndim, "transpose") if len(perm) else ()
    if len(axes) != ndim:
        raise ShapeError(f"transpose: perm expected {ndim} axes, got {tuple(perm)}")
    return axes


@transpose.infer
def _transpose(x: TensorSpec, perm: Sequence[int]) -> TensorSpec:
    return TensorSpec([x.shape[axis] for axis in _permutation(perm, x.ndim)], x.dtype)


@transpose.backward(composite=True, complex=True)
def transpose_grad(dout: Any, perm: Sequence[int]) -> Any:
    """The cotangent, with the axes back where they were."""
    positive = [axis % len(perm) for axis in perm]
    return transpose(dout, perm=[positive.index(axis) for axis in range(len(positive))])


@transpose.samples
def _transposes(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), perm=[1, 0], reason="matrix")
    yield Sample(rng.normal(size=(2, 3, 4)), perm=[2, 0, 1], reason="a rotation, which is not its own inverse")
    yield Sample(rng.normal(size=(2, 3)), perm=[-1, 0], reason="axes counted from the end")
    yield Sample(np.array(3.0), perm=[], reason="0-d")
    yield Sample(np.zeros((0, 4)), perm=[1, 0], reason="empty")


@op("opsdk::unsqueeze(Tensor(a) x, *, int[] axis) -> Tensor(a) out")
def unsqueeze(x: np.ndarray, *, axis: Sequence[int]) -> np.ndarray:
    """x with axes of size 1 put in; the positions are those in the result."""
    return np.expand_dims(x, tuple(axis)) if len(axis) else x.view()


@unsqueeze.infer
def _unsqueeze(x: TensorSpec, axis: Sequence[int]) -> TensorSpec:
    ndim = x.ndim + len(axis)
    at = normalize_axes(list(axis), ndim, "unsqueeze") if len(axis) else ()
    dims = iter(x.shape)
    return TensorSpec([1 if i in at else next(dims) for i in range(ndim)], x.dtype)


@unsqueeze.samples
def _unsqueezes(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), axis=[0], reason="in front")
    yield Sample(rng.normal(size=(3,)), axis=[0, -1], reason="on both sides")
    yield Sample(rng.normal(size=(3,)), axis=[], reason="nowhere")
    yield Sample(np.array(3.0), axis=[0], reason="0-d")
    yield Sample(np.zeros((0,)), axis=[1], reason="empty")


@op("opsdk::squeeze(Tensor(a) x, *, int[]? axis=None) -> Tensor(a) out")
def squeeze(x: np.ndarray, *, axis: Sequence[int] | None = None) -> np.ndarray:
    """x without its axes of size 1, or without those named; a named axis of another size stays.

    An empty list names none and so leaves out all of them, as in Paddle; `np.squeeze(x, ())` keeps them, as in NumPy.
    """
    at = normalize_axes(axis, x.ndim, "squeeze")
    return x.reshape([size for i, size in enumerate(x.shape) if not (i in at and size == 1)])


@squeeze.infer
def _squeeze(x: TensorSpec, axis: Sequence[int] | None) -> TensorSpec:
    at = normalize_axes(axis, x.ndim, "squeeze")
    if any(x.shape[i] is None for i in at):
        raise ShapeError(f"squeeze: expected axes of known size, got {x}; name those of size 1, or use reshape")
    return TensorSpec([dim for i, dim in enumerate(x.shape) if not (i in at and dim == 1)], x.dtype)


@squeeze.samples
def _squeezes(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(1, 3, 1)), reason="every axis of size 1")
    yield Sample(rng.normal(size=(1, 3, 1)), axis=[-1], reason="one of them")
    yield Sample(rng.normal(size=(1, 3)), axis=[1], reason="an axis of another size stays")
    yield Sample(np.array([[3.0]]), reason="to 0-d")
    yield Sample(np.zeros((0, 1)), reason="empty")


@op("opsdk::flatten(Tensor(a) x, *, int start_axis=0, int stop_axis=-1) -> Tensor(a) out")
def flatten(x: np.ndarray, *, start_axis: int = 0, stop_axis: int = -1) -> np.ndarray:
    """x with a range of axes joined into one."""
    return x.reshape([-1 if dim is None else dim for dim in _flat_dims(x.shape, start_axis, stop_axis)])


def _flat_dims(shape: Dims, start: int, stop: int) -> list[int | None]:
    if not shape:
        return [1]
    first, last = normalize_axes([start], len(shape), "flatten")[0], normalize_axes([stop], len(shape), "flatten")[0]
    if last < first:
        raise ShapeError(f"flatten: expected start_axis ≤ stop_axis, got {start} and {stop}")
    joined = shape[first : last + 1]
    size = None if None in joined else int(np.prod([dim or 0 for dim in joined]))
    return [*shape[:first], size, *shape[last + 1 :]]


@flatten.infer
def _flatten(x: TensorSpec, start_axis: int, stop_axis: int) -> TensorSpec:
    return TensorSpec(_flat_dims(x.shape, start_axis, stop_axis), x.dtype)


@flatten.samples
def _flattens(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(2, 3, 4)), reason="everything")
    yield Sample(rng.normal(size=(2, 3, 4)), start_axis=1, reason="all but the batch")
    yield Sample(rng.normal(size=(2, 3, 4)), start_axis=-3, stop_axis=-2, reason="axes counted from the end")
    yield Sample(np.array(3.0), reason="0-d becomes a vector")
    yield Sample(np.zeros((0, 4)), reason="empty")
    yield Sample(np.zeros((0, 4, 2)), start_axis=1, reason="an empty batch")


def _in_shape(x_spec: Any, dout: Any) -> Any:
    """The cotangent, in the input's shape."""
    return reshaped(dout, x_spec.shape)


for _each in (reshape, reshape_like, unsqueeze, squeeze, flatten):
    _each.backward(composite=True, complex=True)(_in_shape)
