"""Rounding and selection with declared surrogate gradients: topk_straight_through, fake_quantize, learned_step."""

from contrib_ops.quantization.fake_quantize import fake_quantize as fake_quantize
from contrib_ops.quantization.learned_step import learned_step as learned_step
from contrib_ops.quantization.topk_straight_through import topk_straight_through as topk_straight_through
