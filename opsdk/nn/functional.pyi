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
from opsdk.nn.convolution import conv_transpose1d as conv_transpose1d
from opsdk.nn.convolution import conv_transpose2d as conv_transpose2d
from opsdk.nn.convolution import conv_transpose3d as conv_transpose3d
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
from opsdk.nn.functions.bags import embedding_bag as embedding_bag
from opsdk.nn.functions.ctc import ctc_loss as ctc_loss
from opsdk.nn.functions.distance import bilinear as bilinear
from opsdk.nn.functions.distance import cosine_similarity as cosine_similarity
from opsdk.nn.functions.distance import normalize as normalize
from opsdk.nn.functions.distance import pairwise_distance as pairwise_distance
from opsdk.nn.functions.distance import pdist as pdist
from opsdk.nn.functions.gates import celu_ as celu_
from opsdk.nn.functions.gates import elu_ as elu_
from opsdk.nn.functions.gates import glu as glu
from opsdk.nn.functions.gates import gumbel_softmax as gumbel_softmax
from opsdk.nn.functions.gates import hardtanh_ as hardtanh_
from opsdk.nn.functions.gates import leaky_relu_ as leaky_relu_
from opsdk.nn.functions.gates import maxout as maxout
from opsdk.nn.functions.gates import prelu as prelu
from opsdk.nn.functions.gates import relu_ as relu_
from opsdk.nn.functions.gates import rrelu as rrelu
from opsdk.nn.functions.gates import rrelu_ as rrelu_
from opsdk.nn.functions.gates import selu_ as selu_
from opsdk.nn.functions.gates import sigmoid_ as sigmoid_
from opsdk.nn.functions.gates import softmax_ as softmax_
from opsdk.nn.functions.gates import softmin as softmin
from opsdk.nn.functions.gates import swiglu as swiglu
from opsdk.nn.functions.gates import tanh_ as tanh_
from opsdk.nn.functions.gates import threshold as threshold
from opsdk.nn.functions.gates import threshold_ as threshold_
from opsdk.nn.functions.gates import thresholded_relu_ as thresholded_relu_
from opsdk.nn.functions.images import channel_shuffle as channel_shuffle
from opsdk.nn.functions.images import fold as fold
from opsdk.nn.functions.images import local_response_norm as local_response_norm
from opsdk.nn.functions.images import lp_pool1d as lp_pool1d
from opsdk.nn.functions.images import lp_pool2d as lp_pool2d
from opsdk.nn.functions.images import lp_pool3d as lp_pool3d
from opsdk.nn.functions.images import max_unpool1d as max_unpool1d
from opsdk.nn.functions.images import max_unpool2d as max_unpool2d
from opsdk.nn.functions.images import max_unpool3d as max_unpool3d
from opsdk.nn.functions.images import pad as pad
from opsdk.nn.functions.images import pixel_shuffle as pixel_shuffle
from opsdk.nn.functions.images import pixel_unshuffle as pixel_unshuffle
from opsdk.nn.functions.images import unfold as unfold
from opsdk.nn.functions.images import zeropad2d as zeropad2d
from opsdk.nn.functions.margin_loss import cosine_embedding_loss as cosine_embedding_loss
from opsdk.nn.functions.margin_loss import dice_loss as dice_loss
from opsdk.nn.functions.margin_loss import gaussian_nll_loss as gaussian_nll_loss
from opsdk.nn.functions.margin_loss import label_smooth as label_smooth
from opsdk.nn.functions.margin_loss import log_loss as log_loss
from opsdk.nn.functions.margin_loss import multi_label_margin_loss as multi_label_margin_loss
from opsdk.nn.functions.margin_loss import multi_label_soft_margin_loss as multi_label_soft_margin_loss
from opsdk.nn.functions.margin_loss import multi_margin_loss as multi_margin_loss
from opsdk.nn.functions.margin_loss import npair_loss as npair_loss
from opsdk.nn.functions.margin_loss import poisson_nll_loss as poisson_nll_loss
from opsdk.nn.functions.margin_loss import sigmoid_focal_loss as sigmoid_focal_loss
from opsdk.nn.functions.margin_loss import triplet_margin_loss as triplet_margin_loss
from opsdk.nn.functions.margin_loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from opsdk.nn.functions.sampling import affine_grid as affine_grid
from opsdk.nn.functions.sampling import grid_sample as grid_sample
from opsdk.nn.functions.sampling import interpolate as interpolate
from opsdk.nn.functions.sampling import upsample as upsample
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

tanh: Op
sigmoid: Op
softsign: Op
tanhshrink: Op
log_sigmoid: Op
logsigmoid: Op
multilabel_margin_loss = multi_label_margin_loss
multilabel_soft_margin_loss = multi_label_soft_margin_loss

def relu(x: Any, inplace: bool = False) -> Any:
    """Returns max(x, 0). Gradient 0 at the kink. Differentiable."""

def silu(x: Any, inplace: bool = False) -> Any:
    """Returns x · σ(x), also called swish. Differentiable."""

def gelu(x: Any, approximate: str | bool = 'none') -> Any:
    """Returns x · Φ(x), with the normal distribution Φ; "tanh", or True as in Paddle, the usual approximation."""

def softplus(x: Any, beta: float = 1.0, threshold: float | None = None) -> Any:
    """Returns log(1 + exp(beta x)) / beta, and x where beta · x is above a threshold; PyTorch and Paddle
    have it at 20.

    Without one every digit is right. Differentiable.
    """

def mish(x: Any, inplace: bool = False) -> Any:
    """Returns x · tanh(log(1 + eˣ)). Differentiable."""

def leaky_relu(x: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """Returns x where x > 0, else negative_slope · x. Gradient negative_slope at the kink. Differentiable."""

def elu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Returns x where x > 0, else alpha · (eˣ - 1). Gradient alpha at the kink. Differentiable."""

def relu6(x: Any, inplace: bool = False) -> Any:
    """Returns x held inside [0, 6]. Gradient 0 at both kinks. Differentiable."""

def hardswish(x: Any, inplace: bool = False) -> Any:
    """Returns x · min(max(x + 3, 0), 6) / 6. At the kinks the gradient is that of the outer side, 0 and 1.
    Differentiable.
    """

def selu(x: Any, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, inplace: bool = False) -> Any:
    """Returns scale · x where x > 0, else scale · alpha · (eˣ - 1). Gradient scale · alpha at the kink
    (Klambauer et al.). Differentiable.
    """

def celu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """Returns x where x > 0, else alpha · (exp(x / alpha) - 1), which has no kink (Barron 2017).
    Differentiable.
    """

def hardtanh(x: Any, min: float = -1.0, max: float = 1.0, inplace: bool = False) -> Any:
    """Returns x held inside [min, max]. Gradient 0 at both kinks. Differentiable."""

def hardsigmoid(x: Any, slope: float = 0.16666666666666666, offset: float = 0.5, inplace: bool = False) -> Any:
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

swish = silu
