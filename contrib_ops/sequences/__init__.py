"""Functions of sequences: rotary_embedding, selective_scan, spline."""

from contrib_ops.sequences.rotary_embedding import rotary_embedding as rotary_embedding
from contrib_ops.sequences.selective_scan import selective_scan as selective_scan
from contrib_ops.sequences.spline import spline as spline
