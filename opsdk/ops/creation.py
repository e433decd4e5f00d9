"""Ops without tensor inputs: constants and random numbers with explicit seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.sample import Sample


def _made(schema: Any, specs: Any, attrs: Any) -> tuple[TensorSpec, ...]:
    return (TensorSpec(attrs["shape"], attrs["dtype"]),)


class _Made:
    """The shape and dtype that the attributes say."""

    reduces_gradients = False
    __call__ = staticmethod(_made)


@op("opsdk::fill_constant(*, int[] shape, float value, dtype dtype=float32) -> Tensor out", infer=_Made())
def fill_constant(*, shape: Sequence[int], value: float, dtype: np.dtype[Any]) -> np.ndarray:
    """An array of one value."""
    return np.full(tuple(shape), value, dtype)


@op("opsdk::assign_value(*, int[] shape, float[] values, dtype dtype=float32) -> Tensor out", infer=_Made())
def assign_value(*, shape: Sequence[int], values: Sequence[float], dtype: np.dtype[Any]) -> np.ndarray:
    """An array of the values listed, in C order."""
    return np.array(values, dtype).reshape(tuple(shape)).copy()


@op(
    "opsdk::uniform_random(*, int[] shape, float min=-1.0, float max=1.0, int seed, dtype dtype=float32) -> Tensor out",
    infer=_Made(),
)
def uniform_random(*, shape: Sequence[int], min: float, max: float, seed: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers drawn uniformly from [min, max); the same seed gives the same numbers."""
    return np.random.default_rng(seed).uniform(min, max, tuple(shape)).astype(dtype)


@op(
    "opsdk::gaussian_random(*, int[] shape, float mean=0.0, float std=1.0, int seed, dtype dtype=float32) "
    "-> Tensor out",
    infer=_Made(),
)
def gaussian_random(*, shape: Sequence[int], mean: float, std: float, seed: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers from a normal distribution; the same seed gives the same numbers."""
    return np.random.default_rng(seed).normal(mean, std, tuple(shape)).astype(dtype)


@op("opsdk::fill_any_like(Tensor x, *, float value=0.0) -> Tensor out", nondifferentiable=("x", "out"))
def fill_any_like(x: np.ndarray, *, value: float) -> np.ndarray:
    """An array of one value, of the shape and dtype of x."""
    return np.full_like(x, value, order="C")


@fill_constant.samples
def _constants() -> Iterator[Sample]:
    yield Sample(shape=[2, 3], value=1.5, reason="float32 unless said otherwise")
    yield Sample(shape=[4], value=2.0, dtype=np.dtype("int64"), reason="integers")
    yield Sample(shape=[], value=1.0, dtype=np.dtype("float64"), reason="0-d")
    yield Sample(shape=[0, 4], value=0.0, reason="empty")


@assign_value.samples
def _values() -> Iterator[Sample]:
    yield Sample(shape=[2, 2], values=[1.0, 2.0, 3.0, 4.0], reason="matrix in C order")
    yield Sample(shape=[], values=[1.0], dtype=np.dtype("bool"), reason="0-d, bool")
    yield Sample(shape=[0], values=[], reason="empty")


@uniform_random.samples
@gaussian_random.samples
def _draws() -> Iterator[Sample]:
    yield Sample(shape=[3, 5], seed=7, reason="matrix")
    yield Sample(shape=[], seed=7, dtype=np.dtype("float64"), reason="0-d, float64")
    yield Sample(shape=[0, 4], seed=0, reason="empty")
