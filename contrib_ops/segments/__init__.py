"""Functions of what belongs together: sums, bags, scattered and ragged rows."""

from contrib_ops.segments.embedding_bag import embedding_bag as embedding_bag
from contrib_ops.segments.ragged import padded_from_ragged as padded_from_ragged
from contrib_ops.segments.ragged import ragged_from_padded as ragged_from_padded
from contrib_ops.segments.scatter import scatter_max as scatter_max
from contrib_ops.segments.scatter import scatter_mean as scatter_mean
from contrib_ops.segments.segment_softmax import segment_softmax as segment_softmax
from contrib_ops.segments.segment_sum import segment_sum as segment_sum
