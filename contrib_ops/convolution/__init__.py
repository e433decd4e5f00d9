"""Convolutions, and what reads or writes between pixels: deform_conv2d, fft_conv, soft_splat."""

from contrib_ops.convolution.deform_conv2d import deform_conv2d as deform_conv2d
from contrib_ops.convolution.fft_conv import fft_conv as fft_conv
from contrib_ops.convolution.soft_splat import soft_splat as soft_splat
