"""Unary functions: relu, sqrt, square, abs, sign, tanh, sigmoid, clip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.define.infer import like
from opsdk.define.sample import Sample
from opsdk.expr import vmath
from opsdk.expr.elementwise import elementwise

# Any, in the expressions of built-in ops: a symbol, while the expression is read; None for a bound that is not given.


@elementwise("opsdk::relu(Tensor x) -> Tensor out", infer=like(), lazy=True)
def relu(x: Any) -> Any:
    """max(x, 0). Gradient 0 at the kink."""
    return vmath.maximum(x, 0.0)


@elementwise("opsdk::sqrt(Tensor x) -> Tensor out", infer=like(), domain={"x": (0.0, None)}, lazy=True)
def sqrt(x: Any) -> Any:
    """Square root; nan below 0, without a warning."""
    return vmath.sqrt(x)


@elementwise("opsdk::square(Tensor x) -> Tensor out", infer=like(), lazy=True)
def square(x: Any) -> Any:
    """x²."""
    return vmath.square(x)


@elementwise("opsdk::abs(Tensor x) -> Tensor out", infer=like(), lazy=True)
def abs(x: Any) -> Any:
    """|x|. Gradient 0 at the kink."""
    return vmath.abs(x)


@elementwise("opsdk::sign(Tensor x) -> Tensor out", infer=like(), nondifferentiable=("x", "out"), lazy=True)
def sign(x: Any) -> Any:
    """-1, 0 or 1; its derivative is zero wherever it exists, so none is given."""
    return vmath.sign(x)


@elementwise("opsdk::tanh(Tensor x) -> Tensor out", infer=like(), lazy=True)
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return vmath.tanh(x)


@elementwise("opsdk::sigmoid(Tensor x) -> Tensor out", infer=like(), lazy=True)
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow on either side."""
    return vmath.sigmoid(x)


def _clipped(x: np.ndarray, min: float | None, max: float | None) -> np.ndarray:
    low = None if min is None else x.dtype.type(min)
    high = None if max is None else x.dtype.type(max)
    return np.clip(x, low, high)


@elementwise(
    "opsdk::clip(Tensor x, *, float? min=None, float? max=None) -> Tensor out",
    infer=like(),
    reference=_clipped,
    lazy=True,
)
def clip(x: Any, *, min: Any, max: Any) -> Any:
    """x held inside [min, max]; a bound of None is no bound. Gradient 1 on the bounds, which count as inside."""
    held = x if min is None else vmath.maximum(x, min)
    return held if max is None else vmath.minimum(held, max)


@clip.samples
def _clip_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), min=-0.5, max=0.5, reason="both bounds")
    yield Sample(rng.normal(size=(7,)), min=0.1, reason="lower bound only")
    yield Sample(rng.normal(size=(7,)), max=0.1, reason="upper bound only")
    yield Sample(rng.normal(size=(4,)), reason="no bound")
    yield Sample(np.array([-1.0, 0.0, 1.0]), min=-1.0, max=1.0, reason="kinks, values on the bounds")
    yield Sample(np.array(2.0), min=-1.0, max=1.0, reason="0-d")
    yield Sample(np.zeros((0, 4)), min=0.0, reason="empty")
