"""Operators from papers and other libraries, written with the public names of `opsdk` only, as a user would write them.

Importing the package registers them all, in the namespace `contrib`. Each is one file, `contrib_ops/<family>/<op>.py`:
a reference that says what is right, faster kernels, gradients and samples. `opsdk check contrib_ops` judges every one.
"""

from contrib_ops.activations import snake as snake
from contrib_ops.activations import squareplus as squareplus
from contrib_ops.convolution import deform_conv2d as deform_conv2d
from contrib_ops.convolution import fft_conv as fft_conv
from contrib_ops.convolution import soft_splat as soft_splat
from contrib_ops.detection import nms as nms
from contrib_ops.detection import roi_align as roi_align
from contrib_ops.implicit import fixed_point as fixed_point
from contrib_ops.implicit import ode_solve as ode_solve
from contrib_ops.linear_algebra import cholesky as cholesky
from contrib_ops.linear_algebra import eigh as eigh
from contrib_ops.linear_algebra import sinkhorn as sinkhorn
from contrib_ops.linear_algebra import sparse_solve as sparse_solve
from contrib_ops.losses import ctc_loss as ctc_loss
from contrib_ops.losses import focal_loss as focal_loss
from contrib_ops.losses import negative_binomial_nll as negative_binomial_nll
from contrib_ops.losses import probit_loss as probit_loss
from contrib_ops.losses import soft_dtw as soft_dtw
from contrib_ops.losses import student_t_nll as student_t_nll
from contrib_ops.losses import von_mises_nll as von_mises_nll
from contrib_ops.normalization import batch_norm as batch_norm
from contrib_ops.normalization import rms_norm as rms_norm
from contrib_ops.optimizers import fused_adamw as fused_adamw
from contrib_ops.quantization import fake_quantize as fake_quantize
from contrib_ops.quantization import learned_step as learned_step
from contrib_ops.quantization import topk_straight_through as topk_straight_through
from contrib_ops.regularization import dropout as dropout
from contrib_ops.regularization import stateful_dropout as stateful_dropout
from contrib_ops.segments import embedding_bag as embedding_bag
from contrib_ops.segments import padded_from_ragged as padded_from_ragged
from contrib_ops.segments import ragged_from_padded as ragged_from_padded
from contrib_ops.segments import scatter_max as scatter_max
from contrib_ops.segments import scatter_mean as scatter_mean
from contrib_ops.segments import segment_softmax as segment_softmax
from contrib_ops.segments import segment_sum as segment_sum
from contrib_ops.selection import advanced_index as advanced_index
from contrib_ops.selection import masked_select as masked_select
from contrib_ops.selection import nonzero as nonzero
from contrib_ops.selection import unique as unique
from contrib_ops.sequences import crf_log_likelihood as crf_log_likelihood
from contrib_ops.sequences import flash_attention as flash_attention
from contrib_ops.sequences import rotary_embedding as rotary_embedding
from contrib_ops.sequences import selective_scan as selective_scan
from contrib_ops.sequences import spline as spline
from contrib_ops.sequences import viterbi as viterbi
