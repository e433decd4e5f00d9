"""Putting elements into an array, by every kind of index that `indexing` takes them by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.elements.indexing import INDICES, Code, entries_of, places_of, sample_of, taken_of
from opsdk.ops.reduction import sum_to
from opsdk.ops.shape import assign

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op(
    "opsdk::index_put_(Tensor(a!) x, Tensor[] indices, Tensor value, *, int[] index) -> Tensor(a!) out",
    nondifferentiable=("indices",),
)
def index_put_(x: np.ndarray, indices: Sequence[np.ndarray], value: np.ndarray, *, index: Code) -> None:
    """x[index] = value, in place; of several values for one element the last one stays.

    Gradient: with respect to the old x, where it stayed, and to each value that stayed; to any order.

    Args:
        x: of any dtype.
        indices: the arrays of the index, in order.
        value: of the dtype of x; broadcast to the shape of x[index].
        index: the index as `encode_index` writes it.

    Raises:
        IndexError: a position lies outside, or the arrays have no common shape.
        ShapeError: the value does not broadcast.
    """
    entries = entries_of(index, indices)
    x[entries] = np.broadcast_to(value, x[entries].shape)


class _PutInfer:
    """That of x; the value broadcasts to what the index takes."""

    reduces_gradients = False

    def __call__(self, schema: Any, specs: Any, attrs: Any) -> Any:
        x, indices, value = specs
        taken = taken_of(x, indices, attrs["index"])
        sizes = zip(value.shape[::-1], taken[::-1], strict=False)
        if value.ndim > len(taken) or not all(n in (1, None) or m in (n, None) for n, m in sizes):
            raise ShapeError(
                f"x[index] = value: value expected a shape that broadcasts to {TensorSpec(taken, x.dtype)}, "
                f"got {value.shape}"
            )
        if value.dtype != x.dtype:
            raise DTypeError(f"x[index] = value: value expected {x.dtype} like x, got {value.dtype}; cast it")
        return (x,)


index_put_.infer(_PutInfer())


@index_put_.backward(complex=True)
def index_put_grad(
    indices: Sequence[np.ndarray], value_spec: Any, dout: np.ndarray, index: Code
) -> tuple[np.ndarray, np.ndarray]:
    """The cotangent with zeros where values came, and that of the values that stayed."""
    entries = entries_of(index, indices)
    dx = dout.copy()
    dx[entries] = 0
    stays = is_last(places_of(dout.shape, dout)[entries], dout.size)
    return dx, sum_to(np.where(stays, dout[entries], dout.dtype.type(0)), value_spec.shape)


def is_last(places: np.ndarray, size: int) -> np.ndarray:
    """Returns for each place of an array of a size whether none of the later ones is the same."""
    flat = places.reshape(-1)
    order = np.arange(flat.size, like=flat)
    last = np.empty(size, np.intp, like=flat)
    last[flat] = order
    found: np.ndarray = (last[flat] == order).reshape(places.shape)
    return found


@index_put_grad.backward(composite=True, complex=True)
def index_put_grad_grad(indices: Any, ddx: Any, ddvalue: Any, index: Code) -> Any:
    """What enters of the whole, with what enters of the values in its place."""
    return index_put_(assign(ddx), indices, ddvalue, index=index)


@index_put_.samples
def _put_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for at, reason in INDICES:
        x = rng.normal(size=(3, 4, 2))
        yield sample_of(x, at, rng.normal(size=x[at].shape), reason=reason)
    yield sample_of(rng.normal(size=(3, 4)), np.array([0, 2]), rng.normal(size=(1,)), reason="one value for all")
