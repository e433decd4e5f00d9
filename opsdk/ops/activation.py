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
        op: what it computes, with one attribute at most.
        layer: what the layer is called.
        about: what that attribute is.
    """

    op: Op
    layer: str
    about: str = ""

    # Any, in both: attribute values, and functions of tensors, variables or arrays.
    @property
    def option(self) -> tuple[str, str, Any] | None:
        """The name, the type and the default of the attribute; None without one."""
        return next(((decl.name, str(decl.type), decl.default) for decl in self.op.opdef.schema.attrs), None)

    def function(self, module: str) -> Callable[..., Any]:
        """Returns the function that a module has of it, which takes the attribute by position as well."""
        op = self.op
        if self.option is None:
            return op
        name, kind, default = self.option
        types = {"x": "Any", name: kind, "return": "Any"}
        made: Callable[..., Any] = written(
            lambda x, value: op(x, **{name: value}),
            op.__name__,
            types,
            module=module,
            doc=f"Returns {op.opdef.doc} Differentiable.",
            defaults=(default,),
            origin=op.opdef.origin,
        )
        return made


ACTIVATIONS: dict[str, Activation] = {}


# Any: an infer rule, and the function of scalars that an expression is read from.
def _activation(layer: str, attr: str = "", about: str = "", infer: Any = FLOATING) -> Callable[..., Op]:
    """Defines an activation.

    Args:
        layer: what its layer is called.
        attr: its attribute, as schemas write it.
        about: what the attribute is.
        infer: rule for the dtype.
    """

    def define(function: Any) -> Op:
        name = function.__name__
        attrs = f", *, {attr}" if attr else ""
        op = elementwise(f"opsdk::{name}(Tensor x{attrs}) -> Tensor out", infer=infer, lazy=True)(function)
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
