"""Activations as layers."""

from __future__ import annotations

from typing import Any

from opsdk.nn import functional
from opsdk.nn.layer.layer import Layer


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


class Silu(Layer):
    """x · σ(x), also called swish."""

    def forward(self, x: Any) -> Any:
        """Returns x · σ(x). Differentiable."""
        return functional.silu(x)


class Mish(Layer):
    """x · tanh(log(1 + eˣ))."""

    def forward(self, x: Any) -> Any:
        """Returns x · tanh(log(1 + eˣ)). Differentiable."""
        return functional.mish(x)


class Hardswish(Layer):
    """x · min(max(x + 3, 0), 6) / 6."""

    def forward(self, x: Any) -> Any:
        """Returns x · min(max(x + 3, 0), 6) / 6. Differentiable."""
        return functional.hardswish(x)


class ReLU6(Layer):
    """x held inside [0, 6]."""

    def forward(self, x: Any) -> Any:
        """Returns x held inside [0, 6]. Differentiable; 0 at both kinks."""
        return functional.relu6(x)


class GELU(Layer):
    """x · Φ(x), with the normal distribution Φ.

    Args:
        approximate: "none", or "tanh" for the usual approximation.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        """Returns gelu(x). Differentiable."""
        return functional.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        """Returns which formula it is."""
        return f"approximate={self.approximate}"


class Softplus(Layer):
    """log(1 + exp(beta x)) / beta.

    Args:
        beta: how sharp the bend is, > 0.
    """

    def __init__(self, beta: float = 1.0) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, x: Any) -> Any:
        """Returns softplus(x). Differentiable."""
        return functional.softplus(x, self.beta)

    def extra_repr(self) -> str:
        """Returns beta."""
        return f"beta={self.beta}"


class LeakyReLU(Layer):
    """x where x > 0, else negative_slope · x.

    Args:
        negative_slope: the slope below 0.
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Any) -> Any:
        """Returns leaky_relu(x). Differentiable; negative_slope at the kink."""
        return functional.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        """Returns the slope."""
        return f"negative_slope={self.negative_slope}"


class ELU(Layer):
    """x where x > 0, else alpha · (eˣ - 1).

    Args:
        alpha: how far below 0 it goes.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Any) -> Any:
        """Returns elu(x). Differentiable; alpha at 0."""
        return functional.elu(x, self.alpha)

    def extra_repr(self) -> str:
        """Returns alpha."""
        return f"alpha={self.alpha}"


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
