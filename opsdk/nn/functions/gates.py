"""Activations of several values or ops, and those that take their value's place, for every runtime."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.define.infer import normalize_axes
from opsdk.nn.functions.words import in_both_words
from opsdk.nn.normalization import FORMATS
from opsdk.ops import activation
from opsdk.ops import functions as ops
from opsdk.ops.activation import ACTIVATIONS
from opsdk.ops.nets.noise import gumbel_noise, random_slopes
from opsdk.ops.shape import detach, known_size


# Any, in this file: tensors, variables or arrays, and the same out.
@in_both_words
def glu(x: Any, axis: int = -1) -> Any:
    """Returns a · σ(b) of the two halves of x along an axis (Dauphin et al. 2017). Differentiable."""
    a, b = ops.split(x, 2, axis)
    return ops.multiply(a, ops.sigmoid(b))


@in_both_words
def swiglu(x: Any, y: Any = None) -> Any:
    """Returns x · σ(x) · y; without y of the two halves of x along its last axis. Differentiable in both."""
    a, b = ops.split(x, 2, -1) if y is None else (x, y)
    return ops.multiply(activation.silu(a), b)


@in_both_words
def maxout(x: Any, groups: int, axis: int = 1) -> Any:
    """Returns the greatest of so many channels that lie side by side (Goodfellow et al. 2013).

    Differentiable; ties share the gradient.

    Raises:
        ShapeError: the groups do not divide the channels.
    """
    at = normalize_axes([axis], len(x.shape), "maxout")[0]
    size = known_size(x, at, "maxout")
    if not isinstance(groups, int) or groups < 1 or size % groups:
        raise ShapeError(f"maxout: groups expected to divide the size of axis {axis}, {size}, got {groups!r}")
    apart = ops.reshape(x, [*x.shape[:at], size // groups, groups, *x.shape[at + 1 :]])
    return ops.max(apart, at + 1)


@in_both_words
def softmin(x: Any, axis: int = -1) -> Any:
    """Returns exp(-x) normalised to sum 1 along an axis. Differentiable."""
    return ops.softmax(x * -1.0, axis)


@in_both_words
def threshold(x: Any, threshold: float, value: float) -> Any:
    """Returns x where x > threshold, else the value. Differentiable."""
    return activation.thresholded_relu(x, threshold=float(threshold), value=float(value))


@in_both_words
def prelu(x: Any, weight: Any, data_format: str = "NCHW") -> Any:
    """Returns x where x > 0, else weight · x (He et al. 2015). Differentiable in both.

    Args:
        x: floats, of shape (N, C, ...) where there is a slope for each channel.
        weight: one slope, or one for each channel.
        data_format: NC, NCL, NCHW, NCDHW, or NLC, NHWC, NDHWC.

    Raises:
        ShapeError: there is another number of slopes.
    """
    if len(weight.shape) == 0 or tuple(weight.shape) == (1,):
        return activation.prelu(x, weight)
    if data_format not in FORMATS:
        raise AttributeValueError(f"prelu: data_format expected one of {', '.join(FORMATS)}, got {data_format!r}")
    at = len(x.shape) - 1 if FORMATS[data_format] else 1
    if len(weight.shape) != 1 or len(x.shape) < 2 or x.shape[at] != weight.shape[0]:
        raise ShapeError(
            f"prelu: weight expected one slope, or one for each channel of shape {tuple(x.shape)}, got shape "
            f"{tuple(weight.shape)}"
        )
    return activation.prelu(x, ops.reshape(weight, [-1, *[1] * (len(x.shape) - 1 - at)]))


@in_both_words
def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = True) -> Any:
    """Returns x where x > 0, else slope · x, of slopes drawn from [lower, upper) while it trains (Xu et al. 2015).

    Elsewhere the slope is (lower + upper) / 2. PyTorch's function does not train unless told to. Differentiable.

    Raises:
        AttributeValueError: not 0 ≤ lower ≤ upper ≤ 1.
    """
    if not 0 <= lower <= upper <= 1:
        raise AttributeValueError(f"rrelu: expected 0 ≤ lower ≤ upper ≤ 1, got {lower!r} and {upper!r}")
    slopes = random_slopes(x, lower=float(lower), upper=float(upper), training=bool(training))
    return activation.prelu(x, slopes)


@in_both_words
def gumbel_softmax(x: Any, temperature: float = 1.0, hard: bool = False, axis: int = -1, eps: float = 1e-10) -> Any:
    """Returns a draw of a distribution over classes that is differentiable in their scores (Maddison et al. 2017).

    Args:
        x: scores, unnormalised logarithms.
        temperature: > 0; the lower, the nearer to 1 and 0.
        hard: returns exactly 1 and 0, with the gradient of the soft draw.
        axis: of the classes.
        eps: without meaning.

    Raises:
        AttributeValueError: a temperature that is not above 0.
    """
    if not temperature > 0:
        raise AttributeValueError(f"gumbel_softmax: temperature expected a number > 0, got {temperature!r}")
    soft = ops.softmax(ops.add(x, gumbel_noise(x)) * (1.0 / temperature), axis)
    if not hard:
        return soft
    at = normalize_axes([axis], len(x.shape), "gumbel_softmax")[0]
    chosen = ops.one_hot(ops.argmax(soft, at), x.shape[at], soft.dtype)
    is_last = at == len(x.shape) - 1
    picked = chosen if is_last else ops.moveaxis(chosen, -1, at)
    return ops.add(picked, ops.subtract(soft, detach(soft)))


def _in_place(name: str, function: Callable[..., Any]) -> Any:
    def called(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name}_: x expected a tensor to change, got {type(x).__name__}; call {name}")
        return x._become(function(x, *args, **kwargs), f"{name}_")

    called.__name__ = called.__qualname__ = f"{name}_"
    called.__signature__ = inspect.signature(inspect.unwrap(function))  # type: ignore[attr-defined]
    called.__doc__ = f"Sets x to `{name}` of it, in place, and returns it. Differentiable as that is."
    return in_both_words(called)


def _of_table(name: str) -> Any:
    return _in_place(name, ACTIVATIONS[name].function(__name__))


relu_, tanh_, sigmoid_, elu_, selu_, celu_ = map(_of_table, ("relu", "tanh", "sigmoid", "elu", "selu", "celu"))
leaky_relu_, hardtanh_, thresholded_relu_ = map(_of_table, ("leaky_relu", "hardtanh", "thresholded_relu"))
softmax_, threshold_ = _in_place("softmax", ops.softmax), _in_place("threshold", threshold)
rrelu_ = _in_place("rrelu", rrelu)
FUNCTIONS = (
    *(glu, swiglu, maxout, softmin, threshold, prelu, rrelu, gumbel_softmax),
    *(relu_, tanh_, sigmoid_, elu_, selu_, celu_, leaky_relu_, hardtanh_, thresholded_relu_),
    *(softmax_, threshold_, rrelu_),
)
