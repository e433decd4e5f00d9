"""Functions of neural networks. Each calls ops, and so takes tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

from opsdk.nn.convolution import conv1d, conv1d_transpose, conv2d, conv2d_transpose, conv3d, conv3d_transpose
from opsdk.nn.loss import cross_entropy, mse_loss, square_error_cost
from opsdk.nn.normalization import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from opsdk.nn.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from opsdk.ops.activation import ACTIVATIONS
from opsdk.ops.functions import add, log_softmax, matmul, one_hot, softmax


# Any: tensors, variables or arrays, and the same out.
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Returns x · weight + bias.

    Args:
        x: float values of shape (..., in).
        weight: of shape (in, out).
        bias: of shape (out,), or None.

    Returns:
        Values of shape (..., out). Differentiable in all three.
    """
    product = matmul(x, weight)
    return product if bias is None else add(product, bias)


_activations = {name: each.function(__name__) for name, each in ACTIVATIONS.items()}
globals().update(_activations)
swish = _activations["silu"]

__all__ = [
    *_activations,
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cross_entropy",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "linear",
    "log_softmax",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mse_loss",
    "one_hot",
    "rms_norm",
    "softmax",
    "square_error_cost",
    "swish",
]
