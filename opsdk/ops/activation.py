"""Unary functions with a gradient: relu, sqrt, square, abs, tanh, sigmoid, softmax, clip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.elementwise import scale
from opsdk.ops.exponential import exp
from opsdk.ops.reduction import reduce_sum

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op("opsdk::relu(Tensor x) -> Tensor out")
def relu(x: np.ndarray) -> np.ndarray:
    """max(x, 0)."""
    return np.maximum(x, 0)


@relu.backward(composite=True)
def relu_grad(out: Any, dout: Any) -> Any:
    """dout where the output is positive; 0 at the kink."""
    return dout * (out > 0)


@op("opsdk::sqrt(Tensor x) -> Tensor out", domain={"x": (0.0, None)})
def sqrt(x: np.ndarray) -> np.ndarray:
    """Square root; nan below 0, without a warning."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


@sqrt.backward(composite=True)
def sqrt_grad(out: Any, dout: Any) -> Any:
    """dout / (2 √x)."""
    return dout / (out * 2)


@op("opsdk::square(Tensor x) -> Tensor out")
def square(x: np.ndarray) -> np.ndarray:
    """x²."""
    return np.square(x)


@square.backward(composite=True)
def square_grad(x: Any, dout: Any) -> Any:
    """2 · dout · x."""
    return dout * (x * 2)


@op("opsdk::abs(Tensor x) -> Tensor out")
def abs(x: np.ndarray) -> np.ndarray:
    """|x|."""
    return np.abs(x)


@abs.backward(composite=True)
def abs_grad(x: Any, dout: Any) -> Any:
    """dout · sign(x); 0 at the kink."""
    return dout * sign(x)


@op("opsdk::sign(Tensor x) -> Tensor out", nondifferentiable=("x", "out"))
def sign(x: np.ndarray) -> np.ndarray:
    """-1, 0 or 1; its derivative is zero wherever it exists, so none is given."""
    return np.sign(x)


@op("opsdk::tanh(Tensor x) -> Tensor out")
def tanh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent."""
    return np.tanh(x)


@tanh.backward(composite=True)
def tanh_grad(out: Any, dout: Any) -> Any:
    """dout · (1 - tanh²x)."""
    return dout * (1 - out * out)


@op("opsdk::sigmoid(Tensor x) -> Tensor out")
def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow on either side."""
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, x.dtype.type(1), decay) / (1 + decay)


@sigmoid.backward(composite=True)
def sigmoid_grad(out: Any, dout: Any) -> Any:
    """dout · σ(x) · (1 - σ(x))."""
    return dout * (out * (1 - out))


@op("opsdk::softmax(Tensor x, *, int axis=-1) -> Tensor out")
def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """exp(x) normalised to sum 1 along an axis; the maximum is taken off first, so that nothing overflows."""
    (at,) = normalize_axes(axis, x.ndim, "op 'opsdk::softmax'")
    weights = np.exp(_shifted(x, at))
    return weights / weights.sum(axis=at, keepdims=True)


@softmax.backward(composite=True)
def softmax_grad(out: Any, dout: Any, axis: int) -> Any:
    """out · (dout - Σ dout · out)."""
    weighted = dout * out
    return weighted - out * reduce_sum(weighted, axis=[axis], keepdim=True)


def _shifted(x: np.ndarray, axis: int) -> np.ndarray:
    """x with the maximum along an axis taken off, so that exp does not overflow; a row of -inf gives nan."""
    with np.errstate(invalid="ignore"):
        return x - x.max(axis=axis, keepdims=True, initial=-np.inf)


@op("opsdk::log_softmax(Tensor x, *, int axis=-1) -> Tensor out")
def log_softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """log of softmax, without forming the softmax."""
    (at,) = normalize_axes(axis, x.ndim, "op 'opsdk::log_softmax'")
    shifted = _shifted(x, at)
    with np.errstate(divide="ignore"):  # the sum over an axis of size 0 is 0, and nothing is subtracted from
        return shifted - np.log(np.exp(shifted).sum(axis=at, keepdims=True))


@log_softmax.backward(composite=True)
def log_softmax_grad(out: Any, dout: Any, axis: int) -> Any:
    """dout - softmax(x) · Σ dout."""
    return dout - exp(out) * reduce_sum(dout, axis=[axis], keepdim=True)


@softmax.samples
@log_softmax.samples
def _along_an_axis(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="matrix, last axis")
    yield Sample(rng.normal(size=(2, 3, 2)), axis=1, reason="inner axis")
    yield Sample(rng.normal(size=(2, 3)), axis=-2, reason="axis counted from the end")
    yield Sample(np.array([1000.0, 999.0, -1000.0]), reason="overflow, were the maximum not taken off")
    yield Sample(np.array([0.5, 0.5, 0.5]), reason="ties")
    yield Sample(np.ones((3, 1)), reason="one element per row")
    yield Sample(np.zeros((0, 4)), reason="no rows")
    yield Sample(np.zeros((3, 0)), reason="rows of nothing")


@op("opsdk::clip(Tensor x, *, float? min=None, float? max=None) -> Tensor out")
def clip(x: np.ndarray, *, min: float | None = None, max: float | None = None) -> np.ndarray:
    """x held inside [min, max]; a bound of None is no bound."""
    low = None if min is None else x.dtype.type(min)
    high = None if max is None else x.dtype.type(max)
    return np.clip(x, low, high)


@clip.backward(composite=True)
def clip_grad(x: Any, dout: Any, min: float | None, max: float | None) -> Any:
    """The cotangent where x lies inside the bounds, which count as inside; 0 elsewhere."""
    kept = dout
    if min is not None:
        kept = kept * (x >= min)
    if max is not None:
        kept = kept * (x <= max)
    return kept if min is not None or max is not None else scale(dout)


@clip.samples
def _clip_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), min=-0.5, max=0.5, reason="both bounds")
    yield Sample(rng.normal(size=(7,)), min=0.1, reason="lower bound only")
    yield Sample(rng.normal(size=(7,)), max=0.1, reason="upper bound only")
    yield Sample(rng.normal(size=(4,)), reason="no bound")
    yield Sample(np.array([-1.0, 0.0, 1.0]), min=-1.0, max=1.0, reason="kinks, values on the bounds")
    yield Sample(np.array(2.0), min=-1.0, max=1.0, reason="0-d")
    yield Sample(np.zeros((0, 4)), min=0.0, reason="empty")
