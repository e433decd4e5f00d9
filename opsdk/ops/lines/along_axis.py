"""Elements of each line of an array along an axis, each line by positions of its own: taken, put in and added."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.core.spec import Shape, TensorSpec, shape_text
from opsdk.core.sums import sum_at
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.elements.index_put import is_last
from opsdk.ops.reduction import sum_to

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op("opsdk::take_along_axis(Tensor x, Tensor<int> index, *, int axis=-1) -> Tensor out")
def take_along_axis(x: np.ndarray, index: np.ndarray, *, axis: int) -> np.ndarray:
    """Elements of each line of x along an axis, at positions of its own.

    Gradient: with respect to x, to any order. What is taken several times gets the sum.

    Args:
        x: of any dtype, with at least one axis.
        index: positions along the axis, in [-size, size), negative ones from the end. It has the axes of x; the sizes
            of all others than `axis` broadcast with those of x.
        axis: of x and of the index.

    Raises:
        ShapeError: the index has another number of axes, or sizes that do not broadcast.
        InputValueError: a position lies outside.
    """
    return np.take_along_axis(x, _checked("take_along_axis", x.shape, index, axis), axis)


class _AlongInfer:
    """What an index along an axis takes of x; of an op that has values to put there x itself, to which they fit."""

    reduces_gradients = False

    def __call__(self, schema: Any, specs: Any, attrs: Any) -> Any:
        x, index, *values = specs
        taken = _taken(schema.subject, attrs["axis"], x.shape, index.shape, *[value.shape for value in values])
        for value in values:
            if value.dtype != x.dtype:
                raise DTypeError(f"{schema.subject}: values expected {x.dtype} like x, got {value.dtype}; cast them")
        return (x if values else TensorSpec(taken, x.dtype),)


take_along_axis.infer(_AlongInfer())


@take_along_axis.backward(complex=True)
def take_along_axis_grad(x_spec: Any, index: np.ndarray, dout: np.ndarray, axis: int) -> np.ndarray:
    """Zeros, with the cotangents added where they were taken from."""
    at = _places("take_along_axis_grad", x_spec.shape, index, axis)
    return sum_at(dout.reshape(-1), at.reshape(-1), math.prod(x_spec.shape)).reshape(x_spec.shape)


@take_along_axis_grad.backward(composite=True, complex=True)
def take_along_axis_grad_grad(index: Any, ddx: Any, axis: int) -> Any:
    """The same elements of what enters."""
    return take_along_axis(ddx, index, axis=axis)


@op("opsdk::scatter_add(Tensor x, Tensor<int> index, Tensor values, *, int axis=-1) -> Tensor out")
def scatter_add(x: np.ndarray, index: np.ndarray, values: np.ndarray, *, axis: int) -> np.ndarray:
    """x, with values added to the elements that `take_along_axis` takes, as often as it takes them.

    Gradient: with respect to x and the values, to any order.

    Args:
        x: of any numeric dtype.
        index: as in `take_along_axis`.
        values: of the dtype of x; broadcast to the shape of what the index takes.
        axis: as in `take_along_axis`.

    Sums are taken as `sum_at` takes them, those of float16 and bfloat16 in float32, and rounded once.

    Raises:
        ShapeError, InputValueError: as in `take_along_axis`, or the values do not broadcast.
        DTypeError: the values are of another dtype.
    """
    at = _places("scatter_add", x.shape, index, axis, values)
    wide = computed_in(x.dtype)
    given = np.broadcast_to(values, at.shape).reshape(-1).astype(wide)
    with np.errstate(over="ignore", invalid="ignore"):  # inf and nan are values of a sum
        made: np.ndarray = (x + sum_at(given, at.reshape(-1), x.size).reshape(x.shape)).astype(x.dtype)
    return made


scatter_add.infer(_AlongInfer())


@scatter_add.backward(complex=True)
def scatter_add_grad(index: np.ndarray, values_spec: Any, dout: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The cotangent, and the elements of it where values were added."""
    taken = np.take_along_axis(dout, _checked("scatter_add_grad", dout.shape, index, axis), axis)
    return dout.copy(), sum_to(taken, values_spec.shape)


@scatter_add_grad.backward(composite=True, complex=True)
def scatter_add_grad_grad(index: Any, ddx: Any, ddvalues: Any, axis: int) -> Any:
    """What enters of the whole, with what enters of the values added in its places."""
    return scatter_add(ddx, index, ddvalues, axis=axis)


@op("opsdk::put_along_axis(Tensor x, Tensor<int> index, Tensor values, *, int axis=-1) -> Tensor out")
def put_along_axis(x: np.ndarray, index: np.ndarray, values: np.ndarray, *, axis: int) -> np.ndarray:
    """x, with values in place of the elements that `take_along_axis` takes; of several for one the last one stays.

    Gradient: with respect to x, where it stayed, and to each value that stayed; to any order.

    Args:
        x: of any dtype.
        index: as in `take_along_axis`.
        values: of the dtype of x; broadcast to the shape of what the index takes.
        axis: as in `take_along_axis`.

    Raises:
        ShapeError, InputValueError: as in `take_along_axis`, or the values do not broadcast.
        DTypeError: the values are of another dtype.
    """
    at = _places("put_along_axis", x.shape, index, axis, values)
    made = x.copy(order="C").reshape(-1)
    made[at.reshape(-1)] = np.broadcast_to(values, at.shape).reshape(-1)
    return made.reshape(x.shape)


put_along_axis.infer(_AlongInfer())


@put_along_axis.backward(complex=True)
def put_along_axis_grad(
    index: np.ndarray, values_spec: Any, dout: np.ndarray, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """The cotangent with zeros where values came, and that of the values that stayed."""
    at = _places("put_along_axis_grad", dout.shape, index, axis)
    dx = dout.copy(order="C").reshape(-1)
    dx[at.reshape(-1)] = 0
    stayed = np.where(is_last(at, dout.size), np.take_along_axis(dout, index, axis), dout.dtype.type(0))
    return dx.reshape(dout.shape), sum_to(stayed, values_spec.shape)


@put_along_axis_grad.backward(composite=True, complex=True)
def put_along_axis_grad_grad(index: Any, ddx: Any, ddvalues: Any, axis: int) -> Any:
    """What enters of the whole, with what enters of the values in its places."""
    return put_along_axis(ddx, index, ddvalues, axis=axis)


def _taken(subject: str, axis: int, shape: Shape, index: Shape, *values: Shape) -> list[int | None]:
    """Returns the shape of what an index along an axis takes, to which values broadcast; None is an open size.

    Raises:
        ShapeError: they do not fit.
    """
    (at,) = normalize_axes([axis], len(shape), subject)
    if len(index) != len(shape):
        raise ShapeError(
            f"{subject}: index expected {len(shape)} axes like x, got {shape_text(index)}; it has a position for each "
            "element that is taken, x[index] takes whole slices"
        )
    taken: list[int | None] = []
    for i, (own, given) in enumerate(zip(shape, index, strict=True)):
        if i != at and own != given and 1 not in (own, given) and None not in (own, given):
            raise ShapeError(
                f"{subject}: index expected sizes that broadcast with those of x but for axis {axis}, got "
                f"{shape_text(index)} beside {shape_text(shape)}; take a slice of x"
            )
        taken.append(given if i == at or own == 1 else own if given in (1, None) else given)
    for value in values:
        sizes = zip(value[::-1], taken[::-1], strict=False)
        if len(value) > len(taken) or not all(n in (1, None) or m in (n, None) for n, m in sizes):
            raise ShapeError(
                f"{subject}: values expected a shape that broadcasts to what the index takes, {shape_text(taken)}, "
                f"got {shape_text(value)}"
            )
    return taken


def _checked(name: str, shape: Sequence[int], index: np.ndarray, axis: int, *values: np.ndarray) -> np.ndarray:
    """Returns an index along an axis, once all fits; that its positions lie inside NumPy checks on the host alone.

    Raises:
        ShapeError, InputValueError: something does not fit.
    """
    subject = f"op 'opsdk::{name}'"
    _taken(subject, axis, tuple(shape), index.shape, *[value.shape for value in values])
    size = shape[axis]
    if index.size and (index.min() < -size or index.max() >= size):
        raise InputValueError(f"{subject}: index expected in [{-size}, {size}), got {index.min()} to {index.max()}")
    return index


def _places(name: str, shape: Sequence[int], index: np.ndarray, axis: int, *values: np.ndarray) -> np.ndarray:
    """Returns the number, in C order, of each element that an index along an axis takes of an array, once all fits."""
    index = _checked(name, shape, index, axis, *values).astype(np.int64)
    at = axis % len(shape)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    places: np.ndarray = np.where(index < 0, index + shape[at], index) * strides[at]
    for i, size in enumerate(shape):
        if i != at:
            lead = (np.arange(size, like=index) * strides[i]).reshape([-1 if j == i else 1 for j in range(len(shape))])
            places = places + lead
    return places


@take_along_axis.samples
def _take_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for x, index, axis, reason in _indices(rng):
        yield Sample(x, index, axis=axis, reason=reason)


@scatter_add.samples
@put_along_axis.samples
def _put_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for x, index, axis, reason in _indices(rng):
        taken = np.take_along_axis(x, index, axis)
        yield Sample(x, index, rng.normal(size=taken.shape), axis=axis, reason=reason)
    yield Sample(rng.normal(size=(2, 3)), np.array([[0, 2]]), rng.normal(size=(2, 1)), reason="a value for a line")


def _indices(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray, int, str]]:
    x = rng.normal(size=(3, 4))
    yield x, np.array([[0, 3, 3], [1, 1, 1], [2, 0, -1]]), -1, "repeated positions, and one from the end"
    yield x, np.array([[2, 0, 1, 0]], np.int32), 0, "one for each column, int32"
    yield x, np.array([[3], [0], [1]]), 1, "one for each row"
    yield rng.normal(size=(2, 3, 2)), np.array([[[2], [0]]]), 1, "the same for all lines, an inner axis"
    yield rng.normal(size=(1, 4)), np.array([[0], [3]]), 1, "a line that several are taken from"
    yield rng.normal(size=5), np.array([4, 0, 0]), 0, "a single line"
    yield x, np.zeros((3, 0), np.int64), 1, "no positions"
    yield np.zeros((0, 4)), np.zeros((0, 2), np.int64), 1, "no lines"
