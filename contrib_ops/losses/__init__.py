"""Losses: focal_loss, ctc_loss, soft_dtw."""

from contrib_ops.losses.ctc_loss import ctc_loss as ctc_loss
from contrib_ops.losses.focal_loss import focal_loss as focal_loss
from contrib_ops.losses.soft_dtw import soft_dtw as soft_dtw
