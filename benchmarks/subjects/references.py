"""What the large ops are, in NumPy: value and gradients, in the precision of what they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Reference:
    """An op.

    Args:
        inputs: names of its inputs; `label` is of whole numbers and has no gradient.
        compute: from inputs and cotangent to the value and the gradients of all inputs but `label`.
    """

    inputs: tuple[str, ...]
    compute: Callable[..., tuple[np.ndarray, Arrays]]


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)); for x as the benchmarks have them, which do not overflow."""
    return 1 / (1 + np.exp(-x))


def softplus(x: Any) -> Any:
    """log(1 + exp x)."""
    return np.logaddexp(x, 0)


def _relu(x, dy):
    return np.maximum(x, 0), (dy * (x > 0),)


def _swish(x, dy):
    s = sigmoid(x)
    return x * s, (dy * (s + x * s * (1 - s)),)


def _softplus(x, dy):
    return softplus(x), (dy * sigmoid(x),)


def _mish(x, dy):
    t = np.tanh(softplus(x))
    return x * t, (dy * (t + x * sigmoid(x) * (1 - t * t)),)


GELU_SCALE, GELU_CUBE = 0.7978845608028654, 0.044715  # √(2/π), and the factor of Hendrycks and Gimpel 2016


def _gelu(x, dy):
    t = np.tanh(GELU_SCALE * (x + GELU_CUBE * x**3))
    inner = GELU_SCALE * (1 + 3 * GELU_CUBE * x * x)
    return 0.5 * x * (1 + t), (dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner),)


def _probabilities(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _softmax(x, dy):
    y = _probabilities(x)
    return y, (y * (dy - (dy * y).sum(axis=-1, keepdims=True)),)


def _cross_entropy(x, label, dy):
    p = _probabilities(x)
    rows = np.arange(len(x))
    chosen = np.zeros_like(x)
    chosen[rows, label] = 1
    return -np.log(p[rows, label]), ((p - chosen) * dy[:, None],)


EPSILON = 1e-5  # of both norms


def _layer_norm(x, weight, bias, dy):
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPSILON)
    unit = centred * scale
    d = dy * weight
    dx = scale * (d - d.mean(axis=-1, keepdims=True) - unit * (d * unit).mean(axis=-1, keepdims=True))
    return unit * weight + bias, (dx, (dy * unit).sum(axis=0), dy.sum(axis=0))


def _rms_norm(x, weight, dy):
    scale = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON)
    unit = x * scale
    d = dy * weight
    return unit * weight, (scale * (d - unit * (d * unit).mean(axis=-1, keepdims=True)), (dy * unit).sum(axis=0))


REFERENCES = {
    "relu": Reference(("x",), _relu),
    "swish": Reference(("x",), _swish),
    "softplus": Reference(("x",), _softplus),
    "mish": Reference(("x",), _mish),
    "gelu": Reference(("x",), _gelu),
    "softmax": Reference(("x",), _softmax),
    "cross_entropy": Reference(("x", "label"), _cross_entropy),
    "layer_norm": Reference(("x", "weight", "bias"), _layer_norm),
    "rms_norm": Reference(("x", "weight"), _rms_norm),
}
