"""Functions of what belongs together: segment_sum, segment_softmax, embedding_bag, scatter_mean, scatter_max."""

from contrib_ops.segments.embedding_bag import embedding_bag as embedding_bag
from contrib_ops.segments.scatter import scatter_max as scatter_max
from contrib_ops.segments.scatter import scatter_mean as scatter_mean
from contrib_ops.segments.segment_softmax import segment_softmax as segment_softmax
from contrib_ops.segments.segment_sum import segment_sum as segment_sum
