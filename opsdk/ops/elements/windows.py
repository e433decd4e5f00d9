"""Windows: elements at regular steps through the memory of an array, taken out, or with others put in their place.

A view of an array is such a window. The tape records by these two ops what a change of one view is to others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.core.steps import may_share, reach
from opsdk.core.sums import sum_at
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.creation import fill_any_like

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
Steps = Sequence[int]


@op("opsdk::as_strided(Tensor x, *, int[] size, int[] stride, int offset=0, int[] layout=[]) -> Tensor out")
def as_strided(x: np.ndarray, *, size: Steps, stride: Steps, offset: int, layout: Steps) -> np.ndarray:
    """The elements of a window, as of an array that lies in memory as told, whatever the memory of x is like.

    Differentiable: what several elements of the window were read from gets the sum of their gradients.

    Args:
        x: of any dtype.
        size: shape of the window.
        stride: steps between neighbours in the window, in elements, one per axis; of any sign, 0 too.
        offset: where the window's first element lies, counted from that of x.
        layout: steps between neighbours of x; those of C order unless given.

    Raises:
        ShapeError: the window reaches beyond x, or a step lacks its axis.
    """
    memory, first = _memory(x, layout)
    return memory[_window(memory, first + offset, size, stride)]


@as_strided.infer
def _as_strided(x: TensorSpec, size: Steps) -> TensorSpec:
    return TensorSpec(size, x.dtype)


@as_strided.backward(complex=True)
def as_strided_grad(
    x_spec: Any, dout: np.ndarray, size: Steps, stride: Steps, offset: int, layout: Steps
) -> np.ndarray:
    """Zeros, with the cotangents added where they were taken from."""
    order = np.arange(math.prod(x_spec.shape), like=dout).reshape(x_spec.shape)
    numbers, first = _memory(order, layout)
    taken = numbers[_window(numbers, first + offset, size, stride)]
    return sum_at(dout.reshape(-1), taken.reshape(-1), order.size).reshape(x_spec.shape)


@as_strided_grad.backward(composite=True, complex=True)
def as_strided_grad_grad(ddx: Any, size: Steps, stride: Steps, offset: int, layout: Steps) -> Any:
    """The same window of what enters."""
    return as_strided(ddx, size=size, stride=stride, offset=offset, layout=layout)


@op(
    "opsdk::as_strided_scatter(Tensor x, Tensor part, *, int[] size, int[] stride, int offset=0, int[] layout=[]) "
    "-> Tensor out"
)
def as_strided_scatter(
    x: np.ndarray, part: np.ndarray, *, size: Steps, stride: Steps, offset: int, layout: Steps
) -> np.ndarray:
    """x with other elements in a window, whose places `as_strided` describes. Differentiable in both.

    Args:
        x: of any dtype.
        part: what comes into the window, of its shape and the dtype of x.
        size: as of `as_strided`, and so the others; no two elements of the window share a place.
        stride: see there.
        offset: see there.
        layout: see there.

    Raises:
        ShapeError: the window reaches beyond x, has another shape than `part`, or has one place twice.
    """
    if may_share(size, stride):
        raise ShapeError(
            f"as_strided_scatter: stride expected a place for each element of the window, got {tuple(stride)} "
            f"for size {tuple(size)}"
        )
    memory, first = _memory(x.copy(order="C"), layout)
    memory[_window(memory, first + offset, size, stride)] = part
    return memory[_window(memory, first, x.shape, layout)] if layout else memory.reshape(x.shape)


@as_strided_scatter.infer
def _as_strided_scatter(x: TensorSpec, part: TensorSpec, size: Steps) -> TensorSpec:
    if None not in part.shape and part.shape != tuple(size):
        raise ShapeError(f"as_strided_scatter: part expected shape {tuple(size)} like the window, got {part.shape}")
    return x


@as_strided_scatter.backward(composite=True, complex=True)
def as_strided_scatter_grad(dout: Any, size: Steps, stride: Steps, offset: int, layout: Steps) -> Any:
    """The cotangent with zeros in the window, and the window of it."""
    dpart = as_strided(dout, size=size, stride=stride, offset=offset, layout=layout)
    zeros = fill_any_like(dpart)
    return as_strided_scatter(dout, zeros, size=size, stride=stride, offset=offset, layout=layout), dpart


@op("opsdk::copy_(Tensor(a!) x, Tensor value) -> Tensor(a!) out")
def copy_(x: np.ndarray, value: np.ndarray) -> None:
    """x with the elements of another array, broadcast to its shape, in place. Differentiable in that."""
    x[...] = np.broadcast_to(value, x.shape)


class _CopyInfer:
    """That of x, to which the value broadcasts."""

    reduces_gradients = True

    def __call__(self, schema: Any, specs: Any, attrs: Any) -> Any:
        x, value = specs
        sizes = zip(value.shape[::-1], x.shape[::-1], strict=False)
        if value.ndim > x.ndim or not all(n in (1, None) or m in (n, None) for n, m in sizes):
            raise ShapeError(f"copy_: value expected a shape that broadcasts to {x.shape}, got {value.shape}")
        if value.dtype != x.dtype:
            raise DTypeError(f"copy_: value expected {x.dtype} like x, got {value.dtype}; cast it")
        return (x,)


copy_.infer(_CopyInfer())


@copy_.backward(composite=True, disconnected=("x",), complex=True)
def copy_grad(dout: Any) -> Any:
    """Nothing to what was there before; the cotangent to what came, summed to its shape."""
    return None, dout


def _memory(x: np.ndarray, layout: Steps) -> tuple[np.ndarray, int]:
    """Returns memory in which x lies with the steps that are told, and where its first element is there.

    Raises:
        ShapeError: there is not a step for each axis.
    """
    if not layout:
        return x.reshape(-1), 0
    if len(layout) != x.ndim:
        raise ShapeError(f"as_strided: layout expected {x.ndim} steps, one per axis of x, got {tuple(layout)}")
    low, high = reach(x.shape, layout)
    memory = np.zeros(high - low + 1, x.dtype, like=x)
    memory[_window(memory, -low, x.shape, layout)] = x
    return memory, -low


def _window(memory: np.ndarray, first: int, size: Steps, stride: Steps) -> np.ndarray:
    """Returns the places of elements at regular steps, where the memory is.

    Raises:
        ShapeError: it reaches beyond the memory, or a step lacks its axis.
    """
    if len(size) != len(stride):
        raise ShapeError(f"as_strided: stride expected {len(size)} steps, one per size, got {tuple(stride)}")
    if math.prod(size) == 0:
        return np.zeros(size, np.int64, like=memory)
    low, high = reach(size, stride)
    if not 0 <= first + low <= first + high < memory.size:
        raise ShapeError(
            f"as_strided: size {tuple(size)} with stride {tuple(stride)} expected to lie within {memory.size} "
            f"elements, got places {first + low} to {first + high}"
        )
    places = np.full_like(memory, first, np.int64, "C", shape=size)
    for axis, (count, step) in enumerate(zip(size, stride, strict=True)):
        along = [-1 if i == axis else 1 for i in range(len(size))]
        places = places + (np.arange(count, like=memory) * step).reshape(along)
    return places


@as_strided.samples
def _windows(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample(x, size=[2, 3], stride=[4, 1], offset=1, reason="a block")
    yield Sample(x, size=[4], stride=[-1], offset=7, reason="a row, backwards")
    yield Sample(x, size=[3, 2], stride=[1, 1], reason="windows that slide, elements read twice")
    yield Sample(x, size=[2, 2], stride=[0, 5], offset=2, reason="rows that are one")
    yield Sample(x, size=[2, 2], stride=[1, 3], layout=[1, 3], offset=4, reason="of an array in Fortran order")
    yield Sample(x, size=[2, 2], stride=[-4, 1], layout=[-4, 1], reason="of one that lies backwards")
    yield Sample(x, size=[2], stride=[2], layout=[8, 2], offset=8, reason="of every other place")
    yield Sample(x, size=[], stride=[], offset=11, reason="one element, 0-d")
    yield Sample(x, size=[0, 2], stride=[1, 1], reason="empty")


@as_strided_scatter.samples
def _scatters(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for sample in _windows(rng):
        if 0 in sample.attrs["stride"] or sample.attrs["stride"] == [1, 1]:
            continue
        part = rng.normal(size=sample.attrs["size"])
        yield Sample(x, part, **sample.attrs, reason=sample.reason)


@copy_.samples
def _copies(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), reason="one shape")
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(3, 1)), reason="stretched")
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=()), reason="one number")
    yield Sample(rng.normal(size=(0, 4)), rng.normal(size=(4,)), reason="empty")
