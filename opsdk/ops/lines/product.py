"""Products of all elements along axes, and up to each along one, with derivatives also where elements are 0.

A quotient of the product has no value there, so that the backward goes back through a product that is taken in halves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.define.vjp import vjp
from opsdk.ops.elements.indexing import encode_index, getitem
from opsdk.ops.joining import concat
from opsdk.ops.reduction import reduce_sum
from opsdk.ops.shape import cast, known_size, unsqueeze

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


def _dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of a product: that of a sum."""
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64) if dtype.kind in "biu" else dtype


@op("opsdk::reduce_prod(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out")
def reduce_prod(x: np.ndarray, *, axis: Sequence[int] | None, keepdim: bool) -> np.ndarray:
    """Product over axes, over all of them unless given, 1 of nothing; integers and bools multiply in int64.

    Gradient: to any order, also where elements are 0; sizes have to be known.

    float16 and bfloat16 are multiplied in float32 and rounded once.
    """
    wide = _dtype(computed_in(x.dtype))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        made = np.prod(x, axis=tuple(axis) if axis else None, keepdims=keepdim, dtype=wide)
        return np.asarray(made, _dtype(x.dtype), like=x)


@reduce_prod.infer
def _reduce_prod(x: TensorSpec, axis: Any, keepdim: bool) -> TensorSpec:
    axes = normalize_axes(axis, x.ndim, "op 'opsdk::reduce_prod'")
    dims = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdim or i not in axes]
    return TensorSpec(dims, _dtype(x.dtype))


@reduce_prod.backward(composite=True, complex=True)
def reduce_prod_grad(x: Any, dout: Any, axis: Any, keepdim: bool) -> Any:
    """The cotangent times the product of all other elements."""
    axes = normalize_axes(axis, len(x.shape), "reduce_prod")
    kept = dout if keepdim else unsqueeze(dout, axis=list(axes))
    wide = computed_in(x.dtype)
    made = vjp(lambda each: _in_halves(each, axes), cast(x, dtype=wide), cast(kept, dtype=wide))[1]
    return cast(made, dtype=x.dtype)


def _in_halves(x: Any, axes: Sequence[int]) -> Any:
    """Returns the product over axes, kept, by multiplying one half with the other; what is odd is set aside."""
    for axis in axes:
        if not known_size(x, axis, "the gradient of reduce_prod"):
            x = reduce_sum(x, axis=[axis], keepdim=True) + 1.0
        while known_size(x, axis, "the gradient of reduce_prod") > 1:
            half = x.shape[axis] // 2
            joined = _part(x, axis, 0, half) * _part(x, axis, half, 2 * half)
            x = joined if x.shape[axis] == 2 * half else concat([joined, _part(x, axis, 2 * half, None)], axis=axis)
    return x


@op("opsdk::cumprod(Tensor x, *, int axis=0) -> Tensor out")
def cumprod(x: np.ndarray, *, axis: int) -> np.ndarray:
    """Products of the elements up to each along an axis; integers and bools multiply in int64.

    Gradient: to any order, also where elements are 0; the size has to be known.

    float16 and bfloat16 are multiplied in float32 and rounded once.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.cumprod(x, axis, dtype=_dtype(computed_in(x.dtype))).astype(_dtype(x.dtype), copy=False)


@cumprod.infer
def _cumprod(x: TensorSpec, axis: int) -> TensorSpec:
    normalize_axes([axis], x.ndim, "op 'opsdk::cumprod'")
    return TensorSpec(x.shape, _dtype(x.dtype))


@cumprod.backward(composite=True, complex=True)
def cumprod_grad(x: Any, dout: Any, axis: int) -> Any:
    """The cotangents of all products that an element is in, times their other elements."""
    at = normalize_axes([axis], len(x.shape), "cumprod")[0]
    wide = computed_in(x.dtype)
    made = vjp(lambda each: _by_doubling(each, at), cast(x, dtype=wide), cast(dout, dtype=wide))[1]
    return cast(made, dtype=x.dtype)


def _by_doubling(x: Any, axis: int) -> Any:
    """Returns the products up to each element: of 1, 2, 4 … elements, each from those of half as many."""
    step, size = 1, known_size(x, axis, "the gradient of cumprod")
    while step < size:
        shifted = _part(x, axis, 0, size - step)
        x = concat([_part(x, axis, 0, step), _part(x, axis, step, None) * shifted], axis=axis)
        step *= 2
    return x


def _part(x: Any, axis: int, start: int, stop: int | None) -> Any:
    return getitem(x, index=encode_index((*[slice(None)] * axis, slice(start, stop)))[0])


@reduce_prod.samples
def _products(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 1.5, (2, 3, 4)) * rng.choice((-1.0, 1.0), (2, 3, 4))
    yield Sample(x[:, :2, 0], reason="all axes")
    yield Sample(x, axis=[1], reason="one axis of an odd length")
    yield Sample(x[..., :2], axis=[0, -1], keepdim=True, reason="two axes, kept")
    yield Sample(np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]]), axis=[1], reason="one 0, two and none")
    yield Sample(np.array([1, 2, 4], np.int32), reason="integers")
    yield Sample(np.zeros((0, 2)), axis=[0], reason="nothing to multiply")


@cumprod.samples
def _running(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 1.5, (3, 4)) * rng.choice((-1.0, 1.0), (3, 4))
    yield Sample(x, reason="down the columns")
    yield Sample(x, axis=-1, reason="along rows")
    yield Sample(np.array([2.0, 0.0, 3.0, 0.0, 4.0]), reason="with elements of 0")
    yield Sample(np.array([[1, 2], [3, 4]]), axis=1, reason="integers")
    yield Sample(np.zeros((0, 3)), reason="nothing to multiply")
