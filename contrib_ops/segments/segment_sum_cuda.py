"""CUDA row of `segment_sum`: a thread goes down one column of all rows.

Nothing is added atomically, and the sums are the same at every run.
"""

from numba import cuda


def forward(data, segment_ids, num_segments, y):
    j = cuda.grid(1)
    width = y.size // max(num_segments, 1)
    if j < width:
        for s in range(num_segments):
            y[s * width + j] = 0
        for i in range(segment_ids.size):
            y[segment_ids[i] * width + j] += data[i * width + j]
