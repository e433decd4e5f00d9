"""Functions of sequences: crf_log_likelihood, viterbi, flash_attention, rotary_embedding, selective_scan, spline."""

from contrib_ops.sequences.crf import crf_log_likelihood as crf_log_likelihood
from contrib_ops.sequences.crf import viterbi as viterbi
from contrib_ops.sequences.flash_attention import flash_attention as flash_attention
from contrib_ops.sequences.rotary_embedding import rotary_embedding as rotary_embedding
from contrib_ops.sequences.selective_scan import selective_scan as selective_scan
from contrib_ops.sequences.spline import spline as spline
