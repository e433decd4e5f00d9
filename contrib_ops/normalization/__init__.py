"""Normalizations: rms_norm."""

from contrib_ops.normalization.rms_norm import rms_norm as rms_norm
