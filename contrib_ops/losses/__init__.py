"""Losses: ctc_loss, focal_loss, negative_binomial_nll, probit_loss, soft_dtw, student_t_nll, von_mises_nll."""

from contrib_ops.losses.ctc_loss import ctc_loss as ctc_loss
from contrib_ops.losses.focal_loss import focal_loss as focal_loss
from contrib_ops.losses.negative_binomial_nll import negative_binomial_nll as negative_binomial_nll
from contrib_ops.losses.probit_loss import probit_loss as probit_loss
from contrib_ops.losses.soft_dtw import soft_dtw as soft_dtw
from contrib_ops.losses.student_t_nll import student_t_nll as student_t_nll
from contrib_ops.losses.von_mises_nll import von_mises_nll as von_mises_nll
