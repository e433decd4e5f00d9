"""CUDA kernels of `masked_select` and its gradient: `place[i]` counts what is selected up to element i."""

from numba import cuda


def forward(x, mask, place, y, sizes):
    i = cuda.grid(1)
    if i < x.size and mask[i]:
        y[place[i] - 1] = x[i]
    if i == x.size - 1:
        sizes[0] = place[i]


def backward(mask, dy, place, dx):
    i = cuda.grid(1)
    if i < dx.size:
        dx[i] = dy[place[i] - 1] if mask[i] else 0
