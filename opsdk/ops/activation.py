"""Activations, each in one entry: from it come the op, the function of `nn.functional`, and the layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.core.written import written
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.expr import vmath
from opsdk.expr.decorators import elementwise
from opsdk.ops.elementary import FLOATING, OfNumbers

# Any, in the expressions of built-in ops: a symbol, while the expression is read.
_ROOT_HALF = 0.7071067811865476
_ROOT_TWO_OVER_PI = 0.7978845608028654


@dataclass(frozen=True)
class Activation:
    """An op of one tensor that stands between layers, and that is a layer too.

    Args:
        op: what it computes, with two attributes at most.
        layer: what the layer is called.
        about: what the attributes are, in order.
    """

    op: Op
    layer: str
    about: tuple[str, ...] = ()

    # Any, in all three: attribute values, and functions of tensors, variables or arrays.
    @property
    def options(self) -> dict[str, tuple[str, Any]]:
        """By the names of the attributes their types and defaults."""
        return {decl.name: (str(decl.type), decl.default) for decl in self.op.opdef.schema.attrs}

    @property
    def annotations(self) -> dict[str, str]:
        """The types of the attributes, for a signature; numbers that are held to a range are floats there."""
        return {name: "float" if "float" in kind else kind for name, (kind, _) in self.options.items()}

    def function(self, module: str, plain: bool = True) -> Callable[..., Any]:
        """Returns the function that a module has of it, which takes the attributes by position as well.

        Args:
            module: where it is found.
            plain: the op itself serves where there are no attributes.
        """
        op, options = self.op, self.options
        if not options and plain:
            return op
        one, other = [*options, "", ""][:2]
        made: Callable[..., Any] = written(
            (lambda x, first, second: op(x, **{one: first, other: second}))
            if other
            else (lambda x, value: op(x, **{one: value}))
            if one
            else (lambda x: op(x)),
            op.__name__,
            {"x": "Any", **self.annotations, "return": "Any"},
            module=module,
            doc=f"Returns {op.opdef.doc} Differentiable.",
            defaults=[default for _, default in options.values()],
            origin=op.opdef.origin,
        )
        return made


ACTIVATIONS: dict[str, Activation] = {}


# Any: an infer rule, and the function of scalars that an expression is read from.
def _activation(layer: str, attrs: str = "", *about: str, infer: Any = FLOATING) -> Callable[..., Op]:
    """Defines an activation.

    Args:
        layer: what its layer is called.
        attrs: its attributes, as schemas write them.
        about: what each of them is.
        infer: rule for the dtype.
    """

    def define(function: Any) -> Op:
        name = function.__name__
        named = f", *, {attrs}" if attrs else ""
        op = elementwise(f"opsdk::{name}(Tensor x{named}) -> Tensor out", infer=infer, lazy=True)(function)
        ACTIVATIONS[name] = Activation(op, layer, about)
        return op

    return define


@_activation("ReLU", infer=OfNumbers())
def relu(x: Any) -> Any:
    """max(x, 0). Gradient 0 at the kink."""
    return vmath.maximum(x, 0)


@_activation("Tanh")
def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return vmath.tanh(x)


@_activation("Sigmoid")
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow on either side."""
    return vmath.sigmoid(x)


@_activation("Silu")
def silu(x: Any) -> Any:
    """x · σ(x), also called swish."""
    return x * vmath.sigmoid(x)


@_activation("GELU", 'str approximate="none"', '"none", or "tanh" for the usual approximation.')
def gelu(x: Any, *, approximate: str) -> Any:
    """x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))."""
    if approximate == "tanh":
        # (1 + tanh u) / 2 = σ(2u), which keeps the tail on the left
        return x * vmath.sigmoid(2.0 * _ROOT_TWO_OVER_PI * x * (1.0 + 0.044715 * vmath.square(x)))
    if approximate != "none":
        raise AttributeValueError(f"op 'opsdk::gelu': approximate expected 'none' or 'tanh', got {approximate!r}")
    return 0.5 * x * vmath.erfc(-_ROOT_HALF * x)  # 1 + erf would lose the tail on the left


@_activation("Softplus", "float beta=1.0", "how sharp the bend is, > 0.")
def softplus(x: Any, *, beta: Any) -> Any:
    """log(1 + exp(beta x)) / beta, without overflow."""
    return vmath.softplus(beta * x) / beta


@_activation("Mish")
def mish(x: Any) -> Any:
    """x · tanh(log(1 + eˣ))."""
    return x * vmath.tanh(vmath.softplus(x))


@_activation("LeakyReLU", "float negative_slope=0.01", "the slope below 0.")
def leaky_relu(x: Any, *, negative_slope: Any) -> Any:
    """x where x > 0, else negative_slope · x. Gradient negative_slope at the kink."""
    return vmath.where(x > 0.0, x, negative_slope * x)


@_activation("ELU", "float alpha=1.0", "how far below 0 it goes.")
def elu(x: Any, *, alpha: Any) -> Any:
    """x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink."""
    below = vmath.where(x > 0.0, 0.0, x)  # else the branch that is not taken overflows, and its gradient with it
    return vmath.where(x > 0.0, x, alpha * vmath.expm1(below))


@_activation("ReLU6")
def relu6(x: Any) -> Any:
    """x held inside [0, 6]. Gradient 0 at both kinks."""
    return vmath.minimum(vmath.maximum(x, 0.0), 6.0)


@_activation("Hardswish")
def hardswish(x: Any) -> Any:
    """x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1."""
    return x * vmath.minimum(vmath.maximum(x + 3.0, 0.0), 6.0) / 6.0


@_activation(
    "SELU",
    "float >= 1 scale=1.0507009873554805, float >= 0 alpha=1.6732632423543772",
    "a factor on everything, ≥ 1.",
    "how far below 0 it goes, before the factor, ≥ 0.",
)
def selu(x: Any, *, scale: Any, alpha: Any) -> Any:
    """scale · x where x > 0, else scale · alpha · (eˣ - 1). Gradient scale · alpha at the kink (Klambauer et al.)."""
    below = vmath.where(x > 0.0, 0.0, x)
    return scale * vmath.where(x > 0.0, x, alpha * vmath.expm1(below))


@_activation("CELU", "float > 0 alpha=1.0", "how far below 0 it goes, > 0.")
def celu(x: Any, *, alpha: Any) -> Any:
    """x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017)."""
    below = vmath.where(x > 0.0, 0.0, x)
    return vmath.where(x > 0.0, x, alpha * vmath.expm1(below / alpha))


@_activation("Hardtanh", "float min=-1.0, float max=1.0", "the least value.", "the greatest value.")
def hardtanh(x: Any, *, min: Any, max: Any) -> Any:
    """x held inside [min, max]. Gradient 0 at both kinks."""
    return vmath.where(x <= min, min, vmath.where(x >= max, max, x))  # of nan it is nan, here and below


@_activation("Hardsigmoid", "float slope=0.16666666666666666, float offset=0.5", "its slope.", "its value at 0.")
def hardsigmoid(x: Any, *, slope: Any, offset: Any) -> Any:
    """slope · x + offset held inside [0, 1]. Gradient 0 at both kinks."""
    line = slope * x + offset
    return vmath.where(line <= 0.0, 0.0, vmath.where(line >= 1.0, 1.0, line))


@_activation("Hardshrink", "float >= 0 threshold=0.5", "how large what counts as 0 may be, ≥ 0.")
def hardshrink(x: Any, *, threshold: Any) -> Any:
    """x where |x| > threshold, else 0."""
    return vmath.where(vmath.abs(x) <= threshold, 0.0, x)


@_activation("Softshrink", "float >= 0 threshold=0.5", "by how much x is drawn to 0, ≥ 0.")
def softshrink(x: Any, *, threshold: Any) -> Any:
    """x drawn to 0 by the threshold, 0 where |x| does not exceed it. Gradient 0 at the kinks."""
    return vmath.where(vmath.abs(x) <= threshold, 0.0, vmath.where(x > 0.0, x - threshold, x + threshold))


@_activation("Softsign")
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (1.0 + vmath.abs(x))


@_activation("Tanhshrink")
def tanhshrink(x: Any) -> Any:
    """x - tanh(x)."""
    return x - vmath.tanh(x)


@_activation(
    "ThresholdedReLU", "float threshold=1.0, float value=0.0", "above which x stays.", "what stands elsewhere."
)
def thresholded_relu(x: Any, *, threshold: Any, value: Any) -> Any:
    """x where x > threshold, else the value."""
    return vmath.where(x <= threshold, value, x)


@_activation("LogSigmoid")
def log_sigmoid(x: Any) -> Any:
    """log(1 / (1 + exp(-x))), without overflow."""
    return -vmath.softplus(-x)


@elementwise("opsdk::prelu(Tensor x, Tensor weight) -> Tensor out", infer=FLOATING, lazy=True)
def prelu(x: Any, weight: Any) -> Any:
    """x where x > 0, else weight · x, with slopes that broadcast (He et al. 2015). Gradient weight at the kink."""
    return vmath.where(x > 0.0, x, weight * x)


@gelu.samples
def _gelu_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for approximate in ("none", "tanh"):
        yield Sample(rng.normal(size=(3, 5)), approximate=approximate, reason="matrix")
        yield Sample(np.array([-30.0, -4.0, 0.0, 4.0, 30.0]), approximate=approximate, reason="0, and the tails")
        yield Sample(rng.normal(size=(7, 13)), approximate=approximate, reason="past one vector")
    yield Sample(np.array(0.5), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")


@leaky_relu.samples
def _leaky_relu_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="matrix")
    yield Sample(np.array([-1.0, 0.0, 1.0]), negative_slope=0.5, reason="the kink")
    yield Sample(rng.normal(size=(7, 13)), negative_slope=-0.3, reason="past one vector, a slope below 0")
    yield Sample(np.array(-2.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")


@elu.samples
def _elu_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), reason="matrix")
    yield Sample(np.array([-1.0, 0.0, 1.0]), alpha=0.5, reason="the kink")
    yield Sample(np.array([-800.0, -30.0, 800.0]), reason="eˣ overflows on the side that is not taken")
    yield Sample(rng.normal(size=(7, 13)), alpha=1.7, reason="past one vector")
    yield Sample(np.array(-2.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")


@hardtanh.samples
@hardsigmoid.samples
@hardshrink.samples
@softshrink.samples
@thresholded_relu.samples
def _bent_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(3.0 * rng.normal(size=(3, 5)), reason="on all sides of the kinks")
    yield Sample(rng.normal(size=(7, 13)), reason="past one vector")
    yield Sample(np.array(-2.0), reason="0-d")
    yield Sample(np.zeros((0, 4)), reason="empty")
