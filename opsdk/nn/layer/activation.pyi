"""Activations as layers, each made from its entry in `ops/activation.py`.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.nn.layer.layer import Layer

class ReLU(Layer):
    """max(x, 0). Gradient 0 at the kink.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns max(x, 0). Gradient 0 at the kink. Differentiable."""

class Tanh(Layer):
    """Hyperbolic tangent.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns hyperbolic tangent. Differentiable."""

class Sigmoid(Layer):
    """1 / (1 + exp(-x)), without overflow on either side.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns 1 / (1 + exp(-x)), without overflow on either side. Differentiable."""

class Silu(Layer):
    """x · σ(x), also called swish.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x · σ(x), also called swish. Differentiable."""

class GELU(Layer):
    """x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x +
    0.044715 x³))).

    Args:
        approximate: "none", or "tanh" for the usual approximation.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, approximate: str = 'none', inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x
        + 0.044715 x³))). Differentiable.
        """

class Softplus(Layer):
    """log(1 + exp(beta x)) / beta, without overflow.

    Args:
        beta: how sharp the bend is, > 0.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, beta: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns log(1 + exp(beta x)) / beta, without overflow. Differentiable."""

class Mish(Layer):
    """x · tanh(log(1 + eˣ)).

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x · tanh(log(1 + eˣ)). Differentiable."""

class LeakyReLU(Layer):
    """x where x > 0, else negative_slope · x. Gradient negative_slope at the kink.

    Args:
        negative_slope: the slope below 0.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else negative_slope · x. Gradient negative_slope at the kink. Differentiable."""

class ELU(Layer):
    """x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink.

    Args:
        alpha: how far below 0 it goes.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink. Differentiable."""

class ReLU6(Layer):
    """x held inside [0, 6]. Gradient 0 at both kinks.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x held inside [0, 6]. Gradient 0 at both kinks. Differentiable."""

class Hardswish(Layer):
    """x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

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
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns scale · x where x > 0, else scale · alpha · (eˣ - 1). Gradient scale · alpha at the kink
        (Klambauer et al.). Differentiable.
        """

class CELU(Layer):
    """x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017).

    Args:
        alpha: how far below 0 it goes, > 0.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017).
        Differentiable.
        """

class Hardtanh(Layer):
    """x held inside [min, max]. Gradient 0 at both kinks.

    Args:
        min: the least value.
        max: the greatest value.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, min: float = -1.0, max: float = 1.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x held inside [min, max]. Gradient 0 at both kinks. Differentiable."""

class Hardsigmoid(Layer):
    """slope · x + offset held inside [0, 1]. Gradient 0 at both kinks.

    Args:
        slope: its slope.
        offset: its value at 0.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, slope: float = 0.16666666666666666, offset: float = 0.5, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns slope · x + offset held inside [0, 1]. Gradient 0 at both kinks. Differentiable."""

class Hardshrink(Layer):
    """x where |x| > threshold, else 0.

    Args:
        threshold: how large what counts as 0 may be, ≥ 0.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, threshold: float = 0.5, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x where |x| > threshold, else 0. Differentiable."""

class Softshrink(Layer):
    """x drawn to 0 by the threshold, 0 where |x| does not exceed it. Gradient 0 at the kinks.

    Args:
        threshold: by how much x is drawn to 0, ≥ 0.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, threshold: float = 0.5, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x drawn to 0 by the threshold, 0 where |x| does not exceed it. Gradient 0 at the kinks.
        Differentiable.
        """

class Softsign(Layer):
    """x / (1 + |x|).

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x / (1 + |x|). Differentiable."""

class Tanhshrink(Layer):
    """x - tanh(x).

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x - tanh(x). Differentiable."""

class ThresholdedReLU(Layer):
    """x where x > threshold, else the value.

    Args:
        threshold: above which x stays.
        value: what stands elsewhere.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, threshold: float = 1.0, value: float = 0.0, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns x where x > threshold, else the value. Differentiable."""

class LogSigmoid(Layer):
    """log(1 / (1 + exp(-x))), without overflow.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns log(1 / (1 + exp(-x))), without overflow. Differentiable."""

class Softmax(Layer):
    """exp(x) normalised to sum 1 along an axis; nothing overflows, a row of -inf gives nan.

    Args:
        axis: along which.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, axis: int = -1, inplace: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns exp(x) normalised to sum 1 along an axis; nothing overflows, a row of -inf gives nan.
        Differentiable.
        """

class LogSoftmax(Softmax):
    """log of softmax, without forming the softmax.

    Args:
        axis: along which.
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

    def __init__(self, axis: int = -1, inplace: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns log of softmax, without forming the softmax. Differentiable."""

class SiLU(Silu):
    """x · σ(x), also called swish.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """

class Swish(Silu):
    """x · σ(x), also called swish.

    Args:
        inplace: puts what comes out in the place of what goes in, which has to be a tensor.
        name: start of the layer's unique name.
    """
