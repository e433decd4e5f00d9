"""Initializers in PyTorch's words: functions that fill a tensor in place, outside of the graph, and return it.

Written by `python -m tests.contracts.stubs`.
"""

from opsdk.autograd.tensor import Tensor
from opsdk.ops.initializer import calculate_gain as calculate_gain

def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills a tensor with one value."""

def zeros_(tensor: Tensor) -> Tensor:
    """Fills a tensor with zeros."""

def ones_(tensor: Tensor) -> Tensor:
    """Fills a tensor with ones."""

def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fills a tensor with values spread evenly over [a, b)."""

def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fills a tensor with normally distributed values."""

def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a tensor with U(-a, a), a = gain · √(6 / (fan_in + fan_out))."""

def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a tensor with N(0, std²), std = gain · √(2 / (fan_in + fan_out))."""

def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu') -> Tensor:
    """Fills a tensor with uniform values of variance gain² / fan.

    Args:
        tensor: of at least one dimension; a weight of shape (in, out), or (out, in, *kernel).
        a: slope of leaky_relu below 0.
        mode: fan_in or fan_out.
        nonlinearity: what follows the layer.
    """

def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = 'fan_in', nonlinearity: str = 'leaky_relu') -> Tensor:
    """Fills a tensor with normal values of variance gain² / fan; the arguments are those of `kaiming_uniform_`."""

def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Fills a tensor with normal values that lie in [a, b], which are numbers, not deviations."""

def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fills a tensor with orthonormal rows, or columns where there are fewer, times `gain`."""

def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fills the kernel of a convolution so that it passes its first channels on."""

def eye_(tensor: Tensor) -> Tensor:
    """Fills a matrix with ones on the diagonal."""

constant = constant_
uniform = uniform_
normal = normal_
xavier_uniform = xavier_uniform_
xavier_normal = xavier_normal_
kaiming_uniform = kaiming_uniform_
kaiming_normal = kaiming_normal_
