"""Numba kernel of `topk_straight_through`: the k-th largest is found without sorting.

What is greater than it stays, and as many equals as are left.
"""

import numba
import numpy as np


def forward(x, k, y):
    n = x.shape[-1]
    y[...] = 0
    if k == 0 or x.size == 0:
        return
    rows, out = np.ascontiguousarray(x).reshape(-1, n), y.reshape(-1, n)
    for i in numba.prange(rows.shape[0]):
        moved = rows[i].copy()
        least = selected(moved, k - 1)
        left = k
        for j in range(n):
            left -= above(rows[i, j], least)
        for j in range(n):
            if above(rows[i, j], least):
                out[i, j] = rows[i, j]
            elif left > 0 and not above(least, rows[i, j]):
                out[i, j] = rows[i, j]
                left -= 1


@numba.njit
def selected(values, position):
    """Returns what stands at a position where the greatest comes first (Hoare 1961, Find); moves the values."""
    low, high = 0, values.size - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while above(values[i], pivot):
                i += 1
            while above(pivot, values[j]):
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if j < position < i:
            break
        low, high = (low, j) if position <= j else (i, high)
    return values[position]


@numba.njit
def above(a, b):
    """Whether a is greater, where nan is greater than any number."""
    return a > b or (a != a and b == b)
