"""Functions of neural networks. Each calls ops, and so takes tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

from opsdk.nn.loss import cross_entropy, mse_loss, square_error_cost
from opsdk.ops.activation import ACTIVATIONS
from opsdk.ops.elementwise import one_hot as _one_hot
from opsdk.ops.functions import add, log_softmax, matmul, softmax


# Any, in both: tensors, variables or arrays, and the same out.
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


def one_hot(x: Any, num_classes: int) -> Any:
    """Returns rows that are 1 at the class and 0 elsewhere, float32. Not differentiable.

    Args:
        x: integer classes in [0, num_classes), of any shape.
        num_classes: size of the axis that is added last.
    """
    return _one_hot(x, num_classes=num_classes)


_activations = {name: each.function(__name__) for name, each in ACTIVATIONS.items()}
globals().update(_activations)
swish = _activations["silu"]

__all__ = [
    *_activations,
    "cross_entropy",
    "linear",
    "log_softmax",
    "mse_loss",
    "one_hot",
    "softmax",
    "square_error_cost",
    "swish",
]
