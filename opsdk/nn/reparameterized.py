"""Weights that are computed of others at every call of their layer: `nn.utils.weight_norm` and `spectral_norm`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opsdk.autograd.creation import randn
from opsdk.core.errors import AttributeValueError
from opsdk.core.modes import GradMode
from opsdk.nn.layer.layer import Layer
from opsdk.nn.parameter import Parameter
from opsdk.ops import functions as ops

_HELD = "_reparameterized"  # of a layer: by the name of a weight what computes it, the hook, and what it is made of


# Any, in this file: tensors, and Variables where the layer is called in a Program.
def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """Makes a weight of its lengths g and its direction v, w = g · v / ‖v‖ (Salimans & Kingma, 2016).

    Args:
        layer: whose weight; it has the parameters `<name>_g` and `<name>_v` instead from now on.
        name: of the weight.
        dim: the axis along which each slice has a length of its own; None or -1 for one of all.

    Returns:
        The layer.

    Raises:
        AttributeValueError: it has no such parameter, or the weight no such axis.
    """
    weight = _weight_of(layer, name, "weight_norm")
    at = None if dim in (None, -1) else _axis(weight, dim, "weight_norm")

    def length(value: Any) -> Any:
        axes = [axis for axis in range(len(value.shape)) if axis != at]
        return ops.sqrt(ops.sum(ops.square(value), axes, keepdim=True))

    def computed() -> Any:
        v = getattr(layer, f"{name}_v")
        along = [-1 if axis == at else 1 for axis in range(len(v.shape))]
        return ops.multiply(ops.divide(v, length(v)), ops.reshape(getattr(layer, f"{name}_g"), along))

    with GradMode(False):
        parts = {f"{name}_v": weight.detach().clone(), f"{name}_g": ops.reshape(length(weight), [-1])}
    return _made_of(layer, name, parts, computed)


def spectral_norm(
    layer: Layer, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Layer:
    """Divides a weight by its greatest singular value (Miyato et al., 2018), found by power iteration.

    Args:
        layer: whose weight; from now on it has the parameter `<name>_orig` and the buffers `<name>_u` and `<name>_v`
            instead, and changes these at each call while it trains.
        name: of the weight.
        n_power_iterations: how many steps each of these calls goes, ≥ 1.
        eps: the least that vectors are divided by where they get length 1.
        dim: the axis of the outputs; 1 for `Linear` and transposed convolutions unless given, else 0.

    Returns:
        The layer.

    Raises:
        AttributeValueError: it has no such parameter, the weight no such axis, or there are fewer steps.
    """
    weight = _weight_of(layer, name, "spectral_norm")
    if not isinstance(n_power_iterations, int) or n_power_iterations < 1:
        raise AttributeValueError(
            f"spectral_norm: n_power_iterations expected an integer ≥ 1, got {n_power_iterations!r}"
        )
    is_turned = type(layer).__name__.startswith(("Linear", "Conv1DT", "Conv2DT", "Conv3DT", "ConvT"))
    at = _axis(weight, int(is_turned) if dim is None else dim, "spectral_norm")

    def matrix() -> Any:
        value = getattr(layer, f"{name}_orig")
        order = [at, *(axis for axis in range(len(value.shape)) if axis != at)]
        turned = ops.transpose(value, order)
        return ops.reshape(turned, [turned.shape[0], -1])

    def unit(vector: Any) -> Any:
        return ops.divide(vector, ops.clip(ops.sqrt(ops.sum(ops.square(vector))), eps))

    def computed() -> Any:
        u, v = (getattr(layer, f"{name}_{part}") for part in "uv")
        if layer.training:
            with GradMode(False):
                held = matrix()
                for _ in range(n_power_iterations):
                    v.copy_(unit(ops.matmul(held, u, transpose_x=True)))
                    u.copy_(unit(ops.matmul(held, v)))
            u, v = u.clone(), v.clone()  # which the next call changes
        return ops.divide(getattr(layer, f"{name}_orig"), ops.sum(ops.multiply(u, ops.matmul(matrix(), v))))

    sizes = weight.shape[at], math.prod(weight.shape) // max(weight.shape[at], 1)
    buffers = {f"{name}_{part}": unit(randn(size, dtype=weight.dtype)) for part, size in zip("uv", sizes, strict=True)}
    return _made_of(layer, name, {f"{name}_orig": weight.detach().clone()}, computed, buffers)


def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """Makes a weight that `weight_norm` or `spectral_norm` computes a parameter again, with the value that it has.

    Raises:
        AttributeValueError: neither computes it.
    """
    held = layer.__dict__.get(_HELD, {})
    if name not in held:
        raise AttributeValueError(
            f"remove_weight_norm: expected a weight that weight_norm or spectral_norm computes, got {name!r} of "
            f"{type(layer).__name__}"
        )
    computed, hook, parts = held.pop(name)
    hook.remove()
    with GradMode(False):
        value = computed()
    for part in parts:
        delattr(layer, part)
    layer.__dict__.pop(name, None)
    layer.add_parameter(name, Parameter(value))
    return layer


remove_spectral_norm = remove_weight_norm


def _weight_of(layer: Layer, name: str, subject: str) -> Any:
    weight = layer._parameters.get(name)
    if weight is None:
        known = ", ".join(key for key, value in layer._parameters.items() if value is not None) or "none"
        raise AttributeValueError(
            f"{subject}: name expected a parameter of {type(layer).__name__} ({known}), got {name!r}"
        )
    return weight


def _axis(weight: Any, dim: Any, subject: str) -> int:
    if not isinstance(dim, int) or not 0 <= dim < len(weight.shape):
        raise AttributeValueError(f"{subject}: dim expected an axis of the weight {list(weight.shape)}, got {dim!r}")
    return dim


def _made_of(
    layer: Layer, name: str, parts: dict[str, Any], computed: Callable[[], Any], buffers: dict[str, Any] | None = None
) -> Layer:
    """Has a layer compute a weight of other parameters, and buffers, before each call."""
    delattr(layer, name)
    for part, value in parts.items():
        layer.add_parameter(part, Parameter(value))
    for part, value in (buffers or {}).items():
        layer.register_buffer(part, value)

    def compute(layer: Any, inputs: Any) -> None:
        layer.__dict__[name] = computed()

    hook = layer.register_forward_pre_hook(compute)
    layer.__dict__.setdefault(_HELD, {})[name] = (computed, hook, [*parts, *(buffers or {})])
    with GradMode(False):
        layer.__dict__[name] = computed()
    return layer
