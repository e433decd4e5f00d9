"""Activations as layers."""

from __future__ import annotations

from typing import Any

from opsdk.nn import functional
from opsdk.nn.layer import Layer


# Any, in this file: tensors, variables or arrays.
class ReLU(Layer):
    """max(x, 0)."""

    def forward(self, x: Any) -> Any:
        """Returns max(x, 0). Differentiable; 0 at the kink."""
        return functional.relu(x)


class Tanh(Layer):
    """Hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        """Returns tanh x. Differentiable."""
        return functional.tanh(x)


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Any) -> Any:
        """Returns σ(x). Differentiable."""
        return functional.sigmoid(x)


class Softmax(Layer):
    """exp(x) normalised to sum 1 along an axis.

    Args:
        axis: along which.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """Returns softmax(x). Differentiable."""
        return functional.softmax(x, self.axis)

    def extra_repr(self) -> str:
        """Returns the axis."""
        return f"axis={self.axis}"


class LogSoftmax(Softmax):
    """The logarithm of softmax, along an axis.

    Args:
        axis: along which.
    """

    def forward(self, x: Any) -> Any:
        """Returns log softmax(x). Differentiable."""
        return functional.log_softmax(x, self.axis)
