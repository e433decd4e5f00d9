"""CUDA kernels of `soft_dtw`: a block for each pair, whose threads share the cells of an anti-diagonal; all in float64.

Cell (i, j) of the distances is at (i + 1, j + 1) of totals, so that nothing asks where the edge is.
"""

import math

from numba import cuda

INF = math.inf


@cuda.jit(device=True)
def align(distances, gamma, totals, weights):
    """Fills in R, and how much each of the three cells before weighs in it."""
    rows, columns = distances.shape
    for i in range(cuda.threadIdx.x, rows + 1, cuda.blockDim.x):
        totals[i, 0] = 0.0 if i == 0 else INF
    for j in range(cuda.threadIdx.x + 1, columns + 1, cuda.blockDim.x):
        totals[0, j] = INF
    cuda.syncthreads()
    for d in range(rows + columns - 1):
        for i in range(cuda.threadIdx.x, rows, cuda.blockDim.x):
            j = d - i
            if 0 <= j < columns:
                a, b, c = totals[i, j], totals[i, j + 1], totals[i + 1, j]
                least = min(a, min(b, c))
                p, q, r = math.exp((least - a) / gamma), math.exp((least - b) / gamma), math.exp((least - c) / gamma)
                total = p + q + r
                weights[i, j, 0], weights[i, j, 1], weights[i, j, 2] = p / total, q / total, r / total
                totals[i + 1, j + 1] = distances[i, j] + least - gamma * math.log(total)
        cuda.syncthreads()


def forward(distances, gamma, y, totals, weights):
    n = cuda.blockIdx.x
    align(distances[n], gamma, totals[n], weights[n])
    if cuda.threadIdx.x == 0:
        y[n] = totals[n, distances.shape[1], distances.shape[2]]


def backward(distances, dy, gamma, ddistances, totals, weights, likely):
    n = cuda.blockIdx.x
    rows, columns = distances.shape[1:]
    align(distances[n], gamma, totals[n], weights[n])
    for d in range(rows + columns - 2, -1, -1):
        for i in range(cuda.threadIdx.x, rows, cuda.blockDim.x):
            j = d - i
            if 0 <= j < columns:
                passes = 1.0 if d == rows + columns - 2 else 0.0
                if i + 1 < rows and j + 1 < columns:
                    passes += weights[n, i + 1, j + 1, 0] * likely[n, i + 1, j + 1]
                if i + 1 < rows:
                    passes += weights[n, i + 1, j, 1] * likely[n, i + 1, j]
                if j + 1 < columns:
                    passes += weights[n, i, j + 1, 2] * likely[n, i, j + 1]
                likely[n, i, j] = passes
                ddistances[n, i, j] = dy[n] * passes
        cuda.syncthreads()
