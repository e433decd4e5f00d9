"""Functions of neural networks. Each calls ops, and so takes tensors, Program variables and arrays alike.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.define.op import Op
from opsdk.nn.attention import scaled_dot_product_attention as scaled_dot_product_attention
from opsdk.nn.convolution import conv1d as conv1d
from opsdk.nn.convolution import conv1d_transpose as conv1d_transpose
from opsdk.nn.convolution import conv2d as conv2d
from opsdk.nn.convolution import conv2d_transpose as conv2d_transpose
from opsdk.nn.convolution import conv3d as conv3d
from opsdk.nn.convolution import conv3d_transpose as conv3d_transpose
from opsdk.nn.dropout import alpha_dropout as alpha_dropout
from opsdk.nn.dropout import drop_block as drop_block
from opsdk.nn.dropout import dropout as dropout
from opsdk.nn.dropout import dropout2d as dropout2d
from opsdk.nn.dropout import dropout3d as dropout3d
from opsdk.nn.elementwise_loss import binary_cross_entropy as binary_cross_entropy
from opsdk.nn.elementwise_loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from opsdk.nn.elementwise_loss import hinge_embedding_loss as hinge_embedding_loss
from opsdk.nn.elementwise_loss import huber_loss as huber_loss
from opsdk.nn.elementwise_loss import kl_div as kl_div
from opsdk.nn.elementwise_loss import l1_loss as l1_loss
from opsdk.nn.elementwise_loss import margin_ranking_loss as margin_ranking_loss
from opsdk.nn.elementwise_loss import smooth_l1_loss as smooth_l1_loss
from opsdk.nn.elementwise_loss import soft_margin_loss as soft_margin_loss
from opsdk.nn.embedding import embedding as embedding
from opsdk.nn.loss import cross_entropy as cross_entropy
from opsdk.nn.loss import mse_loss as mse_loss
from opsdk.nn.loss import nll_loss as nll_loss
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
softsign: Op
tanhshrink: Op
log_sigmoid: Op
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

def selu(x: Any, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Any:
    """Returns scale · x where x > 0, else scale · alpha · (eˣ - 1). Gradient scale · alpha at the kink
    (Klambauer et al.). Differentiable.
    """

def celu(x: Any, alpha: float = 1.0) -> Any:
    """Returns x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017).
    Differentiable.
    """

def hardtanh(x: Any, min: float = -1.0, max: float = 1.0) -> Any:
    """Returns x held inside [min, max]. Gradient 0 at both kinks. Differentiable."""

def hardsigmoid(x: Any, slope: float = 0.16666666666666666, offset: float = 0.5) -> Any:
    """Returns slope · x + offset held inside [0, 1]. Gradient 0 at both kinks. Differentiable."""

def hardshrink(x: Any, threshold: float = 0.5) -> Any:
    """Returns x where |x| > threshold, else 0. Differentiable."""

def softshrink(x: Any, threshold: float = 0.5) -> Any:
    """Returns x drawn to 0 by the threshold, 0 where |x| does not exceed it. Gradient 0 at the kinks.
    Differentiable.
    """

def thresholded_relu(x: Any, threshold: float = 1.0, value: float = 0.0) -> Any:
    """Returns x where x > threshold, else the value. Differentiable."""

def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Returns x · weight + bias.

    Args:
        x: float values of shape (..., in).
        weight: of shape (in, out).
        bias: of shape (out,), or None.

    Returns:
        Values of shape (..., out). Differentiable in all three.
    """
