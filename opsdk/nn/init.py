"""Initializers in PyTorch's words: functions that fill a tensor in place, outside of the graph, and return it."""

from __future__ import annotations

from opsdk.autograd.tensor import Tensor
from opsdk.ops.initializer import (
    Constant,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Uniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,
)
from opsdk.ops.nets.structured import Dirac, Eye, Orthogonal, TruncatedNormal


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills a tensor with one value."""
    return _filled(tensor, Constant(val))


def zeros_(tensor: Tensor) -> Tensor:
    """Fills a tensor with zeros."""
    return _filled(tensor, Constant(0.0))


def ones_(tensor: Tensor) -> Tensor:
    """Fills a tensor with ones."""
    return _filled(tensor, Constant(1.0))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fills a tensor with values spread evenly over [a, b)."""
    return _filled(tensor, Uniform(a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fills a tensor with normally distributed values."""
    return _filled(tensor, Normal(mean, std))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a tensor with U(-a, a), a = gain · √(6 / (fan_in + fan_out))."""
    return _filled(tensor, XavierUniform(gain=gain))


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a tensor with N(0, std²), std = gain · √(2 / (fan_in + fan_out))."""
    return _filled(tensor, XavierNormal(gain=gain))


def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fills a tensor with uniform values of variance gain² / fan.

    Args:
        tensor: of at least one dimension; a weight of shape (in, out), or (out, in, *kernel).
        a: slope of leaky_relu below 0.
        mode: fan_in or fan_out.
        nonlinearity: what follows the layer.
    """
    return _filled(tensor, KaimingUniform(negative_slope=a, nonlinearity=nonlinearity, mode=mode))


def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Fills a tensor with normal values of variance gain² / fan; the arguments are those of `kaiming_uniform_`."""
    return _filled(tensor, KaimingNormal(negative_slope=a, nonlinearity=nonlinearity, mode=mode))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fills a tensor with normal values that lie in [a, b], which are numbers, not deviations."""
    return _filled(tensor, TruncatedNormal(mean, std, (a - mean) / std, (b - mean) / std))


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a tensor with orthonormal rows, or columns where there are fewer, times `gain`."""
    return _filled(tensor, Orthogonal(gain))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the kernel of a convolution so that it passes its first channels on."""
    return _filled(tensor, Dirac(groups))


def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with ones on the diagonal."""
    return _filled(tensor, Eye())


def _filled(tensor: Tensor, initializer: Initializer) -> Tensor:
    initializer(tensor)
    return tensor


_fills = [name for name in globals() if name.endswith("_") and not name.startswith("_")]
_older = ("constant", "uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal")
globals().update({name: globals()[f"{name}_"] for name in _older})  # as they were spelt before the underscore

__all__ = ["calculate_gain", *_fills, *_older]
