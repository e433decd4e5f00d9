"""Nonlinear functions of neural networks beside relu, tanh and sigmoid, each one expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.define.infer import broadcast
from opsdk.define.sample import Sample
from opsdk.expr import vmath
from opsdk.expr.elementwise import elementwise

# Any, in the expressions of built-in ops: a symbol, while the expression is read.
_FLOATING = broadcast.with_floating()  # integers give floats
_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_OVER_PI = 0.7978845608028654


@elementwise("opsdk::silu(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def silu(x: Any) -> Any:
    """x · σ(x), also called swish."""
    return x * vmath.sigmoid(x)


@elementwise('opsdk::gelu(Tensor x, *, str approximate="none") -> Tensor out', infer=_FLOATING, lazy=True)
def gelu(x: Any, *, approximate: str) -> Any:
    """x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))."""
    if approximate == "tanh":
        # (1 + tanh u) / 2 = σ(2u), which keeps the tail on the left
        return x * vmath.sigmoid(2.0 * _ROOT_TWO_OVER_PI * x * (1.0 + 0.044715 * vmath.square(x)))
    if approximate != "none":
        raise AttributeValueError(f"op 'opsdk::gelu': approximate expected 'none' or 'tanh', got {approximate!r}")
    return 0.5 * x * vmath.erfc(-_ROOT_HALF * x)  # 1 + erf would lose the tail on the left


@elementwise("opsdk::softplus(Tensor x, *, float beta=1.0) -> Tensor out", infer=_FLOATING, lazy=True)
def softplus(x: Any, *, beta: Any) -> Any:
    """log(1 + exp(beta x)) / beta, without overflow."""
    return vmath.softplus(beta * x) / beta


@elementwise("opsdk::mish(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def mish(x: Any) -> Any:
    """x · tanh(log(1 + eˣ))."""
    return x * vmath.tanh(vmath.softplus(x))


@elementwise("opsdk::leaky_relu(Tensor x, *, float negative_slope=0.01) -> Tensor out", infer=_FLOATING, lazy=True)
def leaky_relu(x: Any, *, negative_slope: Any) -> Any:
    """x where x > 0, else negative_slope · x. Gradient negative_slope at the kink."""
    return vmath.where(x > 0.0, x, negative_slope * x)


@elementwise("opsdk::elu(Tensor x, *, float alpha=1.0) -> Tensor out", infer=_FLOATING, lazy=True)
def elu(x: Any, *, alpha: Any) -> Any:
    """x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink."""
    below = vmath.where(x > 0.0, 0.0, x)  # else the branch that is not taken overflows, and its gradient with it
    return vmath.where(x > 0.0, x, alpha * vmath.expm1(below))


@elementwise("opsdk::relu6(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def relu6(x: Any) -> Any:
    """x held inside [0, 6]. Gradient 0 at both kinks."""
    return vmath.minimum(vmath.maximum(x, 0.0), 6.0)


@elementwise("opsdk::hardswish(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def hardswish(x: Any) -> Any:
    """x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1."""
    return x * vmath.minimum(vmath.maximum(x + 3.0, 0.0), 6.0) / 6.0


@gelu.samples
def _gelu_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        yield Sample(rng.normal(size=(3, 5)), approximate=approximate, reason="matrix")
        yield Sample(np.array([-30.0, -4.0, 0.0, 4.0, 30.0]), approximate=approximate, reason="0, and the tails")
        yield Sample(rng.normal(size=(7, 13)), approximate=approximate, reason="past one vector")
    yield Sample(np.array(0.5), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")


@leaky_relu.samples
def _leaky_relu_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="matrix")
    yield Sample(np.array([-1.0, 0.0, 1.0]), negative_slope=0.5, reason="the kink")
    yield Sample(rng.normal(size=(7, 13)), negative_slope=-0.3, reason="past one vector, a slope below 0")
    yield Sample(np.array(-2.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")


@elu.samples
def _elu_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="matrix")
    yield Sample(np.array([-1.0, 0.0, 1.0]), alpha=0.5, reason="the kink")
    yield Sample(np.array([-800.0, -30.0, 800.0]), reason="eˣ overflows on the side that is not taken")
    yield Sample(rng.normal(size=(7, 13)), alpha=1.7, reason="past one vector")
    yield Sample(np.array(-2.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")
