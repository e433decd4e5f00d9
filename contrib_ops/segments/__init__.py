"""Functions of segments, rows that belong together: segment_sum, segment_softmax, embedding_bag."""

from contrib_ops.segments.embedding_bag import embedding_bag as embedding_bag
from contrib_ops.segments.segment_softmax import segment_softmax as segment_softmax
from contrib_ops.segments.segment_sum import segment_sum as segment_sum
