"""Binary arithmetic with broadcasting, and `scale` for arithmetic with plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.define.decorators import op
from opsdk.define.infer import broadcast
from opsdk.define.sample import Sample
from opsdk.ops.compare import equal
from opsdk.ops.exponential import log
from opsdk.ops.joining import where

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
Mask = tuple[bool, ...]


@op("opsdk::elementwise_add(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def elementwise_add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x + y."""
    return np.add(x, y)


@elementwise_add.backward(composite=True)
def elementwise_add_grad(dout: Any, needs_input_grad: Mask) -> Any:
    """The cotangent, for both."""
    return dout if needs_input_grad[0] else None, dout if needs_input_grad[1] else None


@op("opsdk::elementwise_sub(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def elementwise_sub(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x - y."""
    return np.subtract(x, y)


@elementwise_sub.backward(composite=True)
def elementwise_sub_grad(dout: Any, needs_input_grad: Mask) -> Any:
    """The cotangent, and minus it."""
    return dout if needs_input_grad[0] else None, -dout if needs_input_grad[1] else None


@op("opsdk::elementwise_mul(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def elementwise_mul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x · y."""
    return np.multiply(x, y)


@elementwise_mul.backward(composite=True)
def elementwise_mul_grad(x: Any, y: Any, dout: Any, needs_input_grad: Mask) -> Any:
    """dout · y and dout · x."""
    return dout * y if needs_input_grad[0] else None, dout * x if needs_input_grad[1] else None


@op("opsdk::elementwise_div(Tensor x, Tensor y) -> Tensor out", infer=broadcast.with_floating())
def elementwise_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x / y; division by zero gives inf or nan, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(x, y)


@elementwise_div.backward(composite=True)
def elementwise_div_grad(x: Any, y: Any, dout: Any, needs_input_grad: Mask) -> Any:
    """dout / y and -dout · x / y²."""
    dx = elementwise_div(dout, y)
    return dx if needs_input_grad[0] else None, -(dx * elementwise_div(x, y)) if needs_input_grad[1] else None


@op("opsdk::elementwise_pow(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def elementwise_pow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x to the power y; a negative base with a fractional exponent gives nan, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.power(x, y)


@op("opsdk::scale(Tensor x, *, float scale=1.0, float bias=0.0) -> Tensor out")
def scale(x: np.ndarray, *, scale: float = 1.0, bias: float = 0.0) -> np.ndarray:
    """scale · x + bias, with plain numbers."""
    out = np.multiply(x, x.dtype.type(scale))
    return np.add(out, x.dtype.type(bias), dtype=x.dtype) if bias else out


_scale = scale


@scale.backward(composite=True)
def scale_grad(dout: Any, scale: float) -> Any:
    """scale · dout."""
    return _scale(dout, scale=scale)


@op("opsdk::elementwise_max(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def elementwise_max(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The greater of x and y; nan where either is."""
    return np.maximum(x, y)


@elementwise_max.backward(composite=True)
def elementwise_max_grad(x: Any, y: Any, dout: Any) -> Any:
    """The cotangent where each is the greater; x gets it where they tie."""
    return dout * (x >= y), dout * (x < y)


@op("opsdk::elementwise_min(Tensor x, Tensor y) -> Tensor out", infer=broadcast)
def elementwise_min(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The lesser of x and y; nan where either is."""
    return np.minimum(x, y)


@elementwise_min.backward(composite=True)
def elementwise_min_grad(x: Any, y: Any, dout: Any) -> Any:
    """The cotangent where each is the lesser; x gets it where they tie."""
    return dout * (x <= y), dout * (x > y)


@elementwise_pow.backward(composite=True)
def elementwise_pow_grad(x: Any, y: Any, out: Any, dout: Any, needs_input_grad: Mask) -> Any:
    """dout · y · x^(y-1) and dout · x^y · log x.

    At 0⁰ in the first and where the power is 0 in the second, 0 · inf would be nan; both are 0 there.
    """
    dx = dy = None
    if needs_input_grad[0]:
        lowered = where(equal(x, 0.0), where(equal(y, 0.0), _one_like(y), y - 1.0), y - 1.0)
        dx = dout * (y * elementwise_pow(x, lowered))
    if needs_input_grad[1]:
        dy = dout * out * log(where(equal(out, 0.0), _one_like(x), x))
    return dx, dy


def _one_like(x: Any) -> Any:
    return scale(x, scale=0.0, bias=1.0)


@scale.samples
def _scale_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), scale=-2.0, reason="scale only")
    yield Sample(rng.normal(size=(7,)), scale=0.5, bias=3.0, reason="scale and bias")
    yield Sample(np.array(2.0), bias=-1.0, reason="0-d, bias only")
    yield Sample(np.zeros((0, 4)), scale=2.0, reason="empty")
    yield Sample(np.array([1, 2, 3]), scale=2.0, bias=1.0, reason="integers stay integers")


@elementwise_div.samples
def _quotients(rng: np.random.Generator) -> Iterator[Sample]:
    away = rng.uniform(0.5, 2.0, (3, 5)) * rng.choice((-1.0, 1.0), (3, 5))
    yield Sample(rng.normal(size=(3, 5)), away, reason="matrix, divisors away from 0")
    yield Sample(rng.normal(size=(3, 5)), away[0], reason="broadcast divisor")
    yield Sample(rng.normal(size=(5,)), away[:, :1], reason="both broadcast")
    yield Sample(np.array(1.0), np.array(-2.0), reason="0-d")
    yield Sample(np.array([1.0, -1.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0, 1.0]), reason="division by 0")
    yield Sample(np.array([1, 2, 3]), np.array([2, 2, 2]), reason="integers give floats")
    yield Sample(np.zeros((0, 4)), np.ones((4,)), reason="empty")


@elementwise_pow.samples
def _powers(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.uniform(0.2, 3.0, (3, 5)), rng.normal(size=(3, 5)), reason="positive base, any exponent")
    yield Sample(rng.uniform(0.2, 3.0, (3, 5)), rng.normal(size=(5,)), reason="broadcast exponent")
    yield Sample(np.array([-2.0, -0.5, -1.5]), np.array([2.0, 3.0, -1.0]), reason="negative base, whole exponent")
    yield Sample(np.array([0.0, 0.0, 2.0]), np.array([2.0, 3.0, 0.0]), reason="base 0, and exponent 0")
    yield Sample(np.array(2.0), np.array(0.5), reason="0-d")
    yield Sample(np.zeros((0, 4)), np.ones((0, 4)), reason="empty")
