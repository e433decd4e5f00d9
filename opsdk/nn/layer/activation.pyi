"""Activations as layers, each made from its entry in `ops/activation.py`.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.nn.layer.layer import Layer

class ReLU(Layer):
    """max(x, 0). Gradient 0 at the kink."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns max(x, 0). Gradient 0 at the kink. Differentiable."""

class Tanh(Layer):
    """Hyperbolic tangent."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns hyperbolic tangent. Differentiable."""

class Sigmoid(Layer):
    """1 / (1 + exp(-x)), without overflow on either side."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns 1 / (1 + exp(-x)), without overflow on either side. Differentiable."""

class Silu(Layer):
    """x · σ(x), also called swish."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x · σ(x), also called swish. Differentiable."""

class GELU(Layer):
    """x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x +
    0.044715 x³))).

    Args:
        approximate: "none", or "tanh" for the usual approximation.
        inplace, name: without meaning.
    """

    def __init__(self, approximate: str = 'none', inplace: bool = False, name: str | None = None) -> None:
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
        inplace, name: without meaning.
    """

    def __init__(self, beta: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns log(1 + exp(beta x)) / beta, without overflow. Differentiable."""

    def extra_repr(self) -> str:
        """Returns beta."""

class Mish(Layer):
    """x · tanh(log(1 + eˣ))."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x · tanh(log(1 + eˣ)). Differentiable."""

class LeakyReLU(Layer):
    """x where x > 0, else negative_slope · x. Gradient negative_slope at the kink.

    Args:
        negative_slope: the slope below 0.
        inplace, name: without meaning.
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else negative_slope · x. Gradient negative_slope at the kink. Differentiable."""

    def extra_repr(self) -> str:
        """Returns negative_slope."""

class ELU(Layer):
    """x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink.

    Args:
        alpha: how far below 0 it goes.
        inplace, name: without meaning.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink. Differentiable."""

    def extra_repr(self) -> str:
        """Returns alpha."""

class ReLU6(Layer):
    """x held inside [0, 6]. Gradient 0 at both kinks."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x held inside [0, 6]. Gradient 0 at both kinks. Differentiable."""

class Hardswish(Layer):
    """x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1.
        Differentiable.
        """

class SELU(Layer):
    """scale · x where x > 0, else scale · alpha · (eˣ - 1). Gradient scale · alpha at the kink (Klambauer
    et al.).

    Args:
        scale: a factor on everything, ≥ 1.
        alpha: how far below 0 it goes, before the factor, ≥ 0.
        inplace, name: without meaning.
    """

    def __init__(self, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns scale · x where x > 0, else scale · alpha · (eˣ - 1). Gradient scale · alpha at the kink
        (Klambauer et al.). Differentiable.
        """

    def extra_repr(self) -> str:
        """Returns scale and alpha."""

class CELU(Layer):
    """x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017).

    Args:
        alpha: how far below 0 it goes, > 0.
        inplace, name: without meaning.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017).
        Differentiable.
        """

    def extra_repr(self) -> str:
        """Returns alpha."""

class Hardtanh(Layer):
    """x held inside [min, max]. Gradient 0 at both kinks.

    Args:
        min: the least value.
        max: the greatest value.
        inplace, name: without meaning.
    """

    def __init__(self, min: float = -1.0, max: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x held inside [min, max]. Gradient 0 at both kinks. Differentiable."""

    def extra_repr(self) -> str:
        """Returns min and max."""

class Hardsigmoid(Layer):
    """slope · x + offset held inside [0, 1]. Gradient 0 at both kinks.

    Args:
        slope: its slope.
        offset: its value at 0.
        inplace, name: without meaning.
    """

    def __init__(self, slope: float = 0.16666666666666666, offset: float = 0.5, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns slope · x + offset held inside [0, 1]. Gradient 0 at both kinks. Differentiable."""

    def extra_repr(self) -> str:
        """Returns slope and offset."""

class Hardshrink(Layer):
    """x where |x| > threshold, else 0.

    Args:
        threshold: how large what counts as 0 may be, ≥ 0.
        inplace, name: without meaning.
    """

    def __init__(self, threshold: float = 0.5, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where |x| > threshold, else 0. Differentiable."""

    def extra_repr(self) -> str:
        """Returns threshold."""

class Softshrink(Layer):
    """x drawn to 0 by the threshold, 0 where |x| does not exceed it. Gradient 0 at the kinks.

    Args:
        threshold: by how much x is drawn to 0, ≥ 0.
        inplace, name: without meaning.
    """

    def __init__(self, threshold: float = 0.5, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x drawn to 0 by the threshold, 0 where |x| does not exceed it. Gradient 0 at the kinks.
        Differentiable.
        """

    def extra_repr(self) -> str:
        """Returns threshold."""

class Softsign(Layer):
    """x / (1 + |x|)."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x / (1 + |x|). Differentiable."""

class Tanhshrink(Layer):
    """x - tanh(x)."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x - tanh(x). Differentiable."""

class ThresholdedReLU(Layer):
    """x where x > threshold, else the value.

    Args:
        threshold: above which x stays.
        value: what stands elsewhere.
        inplace, name: without meaning.
    """

    def __init__(self, threshold: float = 1.0, value: float = 0.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x where x > threshold, else the value. Differentiable."""

    def extra_repr(self) -> str:
        """Returns threshold and value."""

class LogSigmoid(Layer):
    """log(1 / (1 + exp(-x))), without overflow."""

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns log(1 / (1 + exp(-x))), without overflow. Differentiable."""

class Softmax(Layer):
    """exp(x) normalised to sum 1 along an axis; nothing overflows, a row of -inf gives nan.

    Args:
        axis: along which.
        inplace, name: without meaning.
    """

    def __init__(self, axis: int = -1, inplace: bool = False, name: str | None = None) -> None:
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
        inplace, name: without meaning.
    """

    def __init__(self, axis: int = -1, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns log of softmax, without forming the softmax. Differentiable."""

    def extra_repr(self) -> str:
        """Returns axis."""

class SiLU(Silu):
    """x · σ(x), also called swish."""

class Swish(Silu):
    """x · σ(x), also called swish."""
