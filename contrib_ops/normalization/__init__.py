"""Normalizations: batch_norm, rms_norm."""

from contrib_ops.normalization.batch_norm import batch_norm as batch_norm
from contrib_ops.normalization.rms_norm import rms_norm as rms_norm
