"""Functions of neural networks. Each calls ops, and so takes tensors, Program variables and arrays alike.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.define.op import Op
from opsdk.nn.convolution import conv1d as conv1d
from opsdk.nn.convolution import conv1d_transpose as conv1d_transpose
from opsdk.nn.convolution import conv2d as conv2d
from opsdk.nn.convolution import conv2d_transpose as conv2d_transpose
from opsdk.nn.convolution import conv3d as conv3d
from opsdk.nn.convolution import conv3d_transpose as conv3d_transpose
from opsdk.nn.loss import cross_entropy as cross_entropy
from opsdk.nn.loss import mse_loss as mse_loss
from opsdk.nn.loss import square_error_cost as square_error_cost
from opsdk.nn.normalization import batch_norm as batch_norm
from opsdk.nn.normalization import group_norm as group_norm
from opsdk.nn.normalization import instance_norm as instance_norm
from opsdk.nn.normalization import layer_norm as layer_norm
from opsdk.nn.normalization import rms_norm as rms_norm
from opsdk.nn.pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from opsdk.nn.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from opsdk.nn.pooling import adaptive_avg_pool3d as adaptive_avg_pool3d
from opsdk.nn.pooling import adaptive_max_pool1d as adaptive_max_pool1d
from opsdk.nn.pooling import adaptive_max_pool2d as adaptive_max_pool2d
from opsdk.nn.pooling import adaptive_max_pool3d as adaptive_max_pool3d
from opsdk.nn.pooling import avg_pool1d as avg_pool1d
from opsdk.nn.pooling import avg_pool2d as avg_pool2d
from opsdk.nn.pooling import avg_pool3d as avg_pool3d
from opsdk.nn.pooling import max_pool1d as max_pool1d
from opsdk.nn.pooling import max_pool2d as max_pool2d
from opsdk.nn.pooling import max_pool3d as max_pool3d
from opsdk.ops.functions import log_softmax as log_softmax
from opsdk.ops.functions import one_hot as one_hot
from opsdk.ops.functions import softmax as softmax

relu: Op
tanh: Op
sigmoid: Op
silu: Op
mish: Op
relu6: Op
hardswish: Op
swish: Op

def gelu(x: Any, approximate: str = 'none') -> Any:
    """Returns x · Φ(x), with the normal distribution Φ; `approximate="tanh"` has 0.5 x (1 + tanh(√(2/π) (x
    + 0.044715 x³))). Differentiable.
    """

def softplus(x: Any, beta: float = 1.0) -> Any:
    """Returns log(1 + exp(beta x)) / beta, without overflow. Differentiable."""

def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """Returns x where x > 0, else negative_slope · x. Gradient negative_slope at the kink. Differentiable."""

def elu(x: Any, alpha: float = 1.0) -> Any:
    """Returns x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink. Differentiable."""

def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Returns x · weight + bias.

    Args:
        x: float values of shape (..., in).
        weight: of shape (in, out).
        bias: of shape (out,), or None.

    Returns:
        Values of shape (..., out). Differentiable in all three.
    """
