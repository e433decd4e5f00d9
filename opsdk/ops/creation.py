"""Ops without tensor inputs: constants and random numbers with explicit seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op


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
def uniform_random(*, shape: Sequence[int], min: float, max: float, seed: int, dtype: np.dtype[Any]) -> np.ndarray:  # noqa: A002
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
    return np.full(x.shape, value, x.dtype)
