"""Activations as layers, each made from its entry in `ops/activation.py`.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.nn.layer.layer import Layer

class ReLU(Layer):
    """max(x, 0). Gradient 0 at the kink."""

    def forward(self, x: Any) -> Any:
        """Returns max(x, 0). Gradient 0 at the kink. Differentiable."""

class Tanh(Layer):
    """Hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        """Returns hyperbolic tangent. Differentiable."""

class Sigmoid(Layer):
    """1 / (1 + exp(-x)), without overflow on either side."""

    def forward(self, x: Any) -> Any:
        """Returns 1 / (1 + exp(-x)), without overflow on either side. Differentiable."""

class Silu(Layer):
    """x · σ(x), also called swish."""

    def forward(self, x: Any) -> Any:
        """Returns x · σ(x), also called swish. Differentiable."""

class GELU(Layer):
    """x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x +
    0.044715 x³))).

    Args:
        approximate: "none", or "tanh" for the usual approximation.
    """

    def __init__(self, approximate: str = 'none') -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x
        + 0.044715 x³))). Differentiable.
        """

    def extra_repr(self) -> str:
        """Returns approximate."""

class Softplus(Layer):
    """log(1 + exp(beta x)) / beta, without overflow.

    Args:
        beta: how sharp the bend is, > 0.
    """

    def __init__(self, beta: float = 1.0) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns log(1 + exp(beta x)) / beta, without overflow. Differentiable."""

    def extra_repr(self) -> str:
        """Returns beta."""

class Mish(Layer):
    """x · tanh(log(1 + eˣ))."""

    def forward(self, x: Any) -> Any:
        """Returns x · tanh(log(1 + eˣ)). Differentiable."""

class LeakyReLU(Layer):
    """x where x > 0, else negative_slope · x. Gradient negative_slope at the kink.

    Args:
        negative_slope: the slope below 0.
    """

    def __init__(self, negative_slope: float = 0.01) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else negative_slope · x. Gradient negative_slope at the kink. Differentiable."""

    def extra_repr(self) -> str:
        """Returns negative_slope."""

class ELU(Layer):
    """x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink.

    Args:
        alpha: how far below 0 it goes.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink. Differentiable."""

    def extra_repr(self) -> str:
        """Returns alpha."""

class ReLU6(Layer):
    """x held inside [0, 6]. Gradient 0 at both kinks."""

    def forward(self, x: Any) -> Any:
        """Returns x held inside [0, 6]. Gradient 0 at both kinks. Differentiable."""

class Hardswish(Layer):
    """x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1."""

    def forward(self, x: Any) -> Any:
        """Returns x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1.
        Differentiable.
        """

class Softmax(Layer):
    """exp(x) normalised to sum 1 along an axis; nothing overflows, a row of -inf gives nan.

    Args:
        axis: along which.
    """

    def __init__(self, axis: int = -1) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns exp(x) normalised to sum 1 along an axis; nothing overflows, a row of -inf gives nan.
        Differentiable.
        """

    def extra_repr(self) -> str:
        """Returns axis."""

class LogSoftmax(Softmax):
    """log of softmax, without forming the softmax.

    Args:
        axis: along which.
    """

    def __init__(self, axis: int = -1) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns log of softmax, without forming the softmax. Differentiable."""

    def extra_repr(self) -> str:
        """Returns axis."""
