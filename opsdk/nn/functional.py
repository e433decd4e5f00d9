"""Functions of neural networks. Each calls ops, and so takes tensors, Program variables and arrays alike."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from opsdk.nn import convolution as _convolution
from opsdk.nn import dropout as _dropout
from opsdk.nn import elementwise_loss as _elementwise_loss
from opsdk.nn import normalization as _normalization
from opsdk.nn import pooling as _pooling
from opsdk.nn.attention import scaled_dot_product_attention
from opsdk.nn.embedding import embedding
from opsdk.nn.functions import bags as _bags
from opsdk.nn.functions import ctc as _ctc
from opsdk.nn.functions import distance as _distance
from opsdk.nn.functions import gates as _gates
from opsdk.nn.functions import images as _images
from opsdk.nn.functions import margin_loss as _margin_loss
from opsdk.nn.functions import sampling as _sampling
from opsdk.nn.functions.margin_loss import multilabel_margin_loss, multilabel_soft_margin_loss
from opsdk.nn.functions.words import IN_PLACE, in_both_words
from opsdk.nn.loss import cross_entropy, mse_loss, nll_loss, square_error_cost
from opsdk.ops.activation import ACTIVATIONS
from opsdk.ops.functions import add, greater_than, log_softmax, matmul, multiply, one_hot, softmax, where


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


_activations = {name: each.function(__name__, name not in IN_PLACE) for name, each in ACTIVATIONS.items()}


def gelu(x: Any, approximate: str | bool = "none") -> Any:
    """Returns x · Φ(x), with the normal distribution Φ; "tanh", or True as in Paddle, the usual approximation."""
    return ACTIVATIONS["gelu"].op(x, approximate={True: "tanh", False: "none"}.get(approximate, approximate))


def softplus(x: Any, beta: float = 1.0, threshold: float | None = None) -> Any:
    """Returns log(1 + exp(beta x)) / beta, and x where beta · x is above a threshold; PyTorch and Paddle have it at 20.

    Without one every digit is right. Differentiable.
    """
    made = ACTIVATIONS["softplus"].op(x, beta=beta)
    return made if threshold is None else where(greater_than(multiply(x, beta), threshold), x, made)


_activations |= {"gelu": gelu, "softplus": softplus}
globals().update(_activations)
_FAMILIES = (_convolution, _dropout, _elementwise_loss, _normalization, _pooling)
_MORE = (_bags, _ctc, _distance, _gates, _images, _margin_loss, _sampling)
_families = {
    each.__name__: each
    for family in (*_FAMILIES, *_MORE)
    for each in family.FUNCTIONS  # type: ignore[attr-defined]
}
globals().update(_families)
swish, logsigmoid = _activations["silu"], _activations["log_sigmoid"]
for _name, _value in list(vars().items()):
    if isinstance(_value, FunctionType) and _name[0] != "_" and not hasattr(_value, "__wrapped__"):
        globals()[_name] = in_both_words(_value) if _value is not in_both_words else _value

__all__ = [
    *_activations,
    *_families,
    "cross_entropy",
    "embedding",
    "linear",
    "log_softmax",
    "logsigmoid",
    "mse_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "one_hot",
    "scaled_dot_product_attention",
    "softmax",
    "square_error_cost",
    "swish",
]
