"""Numba kernel of `sinkhorn`: an iteration reads the costs twice, by rows both times."""

import numba
import numpy as np

from opsdk import vmath


def forward(cost, a, b, eps, iterations, plan):
    rows, columns = cost.shape
    one = cost.dtype.type(1)
    kernel = cost * (-one / cost.dtype.type(eps))
    log_a, log_b = np.log(a / a.sum()), np.log(b / b.sum())
    f, g, line = np.empty_like(a), np.zeros_like(b), np.empty_like(b)
    top, total = np.empty_like(b), np.empty_like(b)
    for _ in range(iterations):
        for i in range(rows):
            f[i] = log_a[i] - log_sum(kernel[i], g, line)
        top[:], total[:] = kernel[0] + f[0], 0
        for i in range(1, rows):
            for j in range(columns):
                top[j] = max(top[j], kernel[i, j] + f[i])
        for i in range(rows):
            for j in range(columns):
                total[j] += vmath.exp(kernel[i, j] + f[i] - top[j])
        for j in range(columns):
            g[j] = log_b[j] - top[j] - vmath.log(total[j])
    for i in range(rows):
        for j in range(columns):
            plan[i, j] = vmath.exp(kernel[i, j] + f[i] + g[j])


@numba.njit(fastmath={"reassoc", "contract"})  # a sum in lanes
def log_sum(row, g, line):
    """Returns log Σ exp(row + g); `line` is memory for it."""
    top = row[0] + g[0]
    for j in range(len(row)):
        line[j] = row[j] + g[j]
        top = max(top, line[j])
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += vmath.exp(line[j] - top)
    return top + vmath.log(total)
