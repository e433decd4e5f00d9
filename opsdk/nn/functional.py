"""Functions of neural networks. Each calls ops, and so takes tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

from opsdk.nn import convolution as _convolution
from opsdk.nn import dropout as _dropout
from opsdk.nn import elementwise_loss as _elementwise_loss
from opsdk.nn import normalization as _normalization
from opsdk.nn import pooling as _pooling
from opsdk.nn.attention import scaled_dot_product_attention
from opsdk.nn.embedding import embedding
from opsdk.nn.loss import cross_entropy, mse_loss, nll_loss, square_error_cost
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
_families = {
    each.__name__: each
    for family in (_convolution, _dropout, _elementwise_loss, _normalization, _pooling)
    for each in family.FUNCTIONS  # type: ignore[attr-defined]
}
globals().update(_families)
swish = _activations["silu"]

__all__ = [
    *_activations,
    *_families,
    "cross_entropy",
    "embedding",
    "linear",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "scaled_dot_product_attention",
    "softmax",
    "square_error_cost",
    "swish",
]
