"""Splines in time n + m: five diagonals in the place of matrices, in float64."""

import numba
import numpy as np


@numba.njit
def diagonals(knots, boundary):
    """Returns A and R of A M = R f, element (i, j) at [i, j - i + 2]."""
    n = len(knots)
    A, R = np.zeros((n, 5)), np.zeros((n, 5))
    for i in range(1, n - 1):
        h, k = knots[i] - knots[i - 1], knots[i + 1] - knots[i]
        A[i, 1], A[i, 2], A[i, 3] = h, 2 * (h + k), k
        R[i, 1], R[i, 2], R[i, 3] = 6 / h, -6 / h - 6 / k, 6 / k
    if boundary == "natural":
        A[0, 2] = A[n - 1, 2] = 1
    elif boundary == "clamped":
        h, k = knots[1] - knots[0], knots[n - 1] - knots[n - 2]
        A[0, 2], A[0, 3], R[0, 2], R[0, 3] = 2 * h, h, -6 / h, 6 / h
        A[n - 1, 1], A[n - 1, 2], R[n - 1, 1], R[n - 1, 2] = k, 2 * k, 6 / k, -6 / k
    else:
        h, k = knots[1] - knots[0], knots[2] - knots[1]
        A[0, 2], A[0, 3], A[0, 4] = k, -h - k, h
        h, k = knots[n - 2] - knots[n - 3], knots[n - 1] - knots[n - 2]
        A[n - 1, 0], A[n - 1, 1], A[n - 1, 2] = k, -h - k, h
    return A, R


@numba.njit
def turned(A):
    """Returns the transpose."""
    n = len(A)
    T = np.zeros((n, 5))
    for i in range(n):
        for d in range(5):
            if 0 <= i + d - 2 < n:
                T[i + d - 2, 4 - d] = A[i, d]
    return T


@numba.njit
def times(R, f):
    n = len(R)
    made = np.zeros(n)
    for i in range(n):
        for d in range(5):
            if 0 <= i + d - 2 < n:
                made[i] += R[i, d] * f[i + d - 2]
    return made


@numba.njit
def solved(A, f):
    """Solves by elimination; every pivot is above 0, since the knots increase."""
    n, A, f = len(A), A.copy(), f.copy()
    for i in range(n):
        for k in range(i + 1, min(i + 3, n)):
            factor = A[k, i - k + 2] / A[i, 2]
            for j in range(i, min(i + 3, n)):
                A[k, j - k + 2] -= factor * A[i, j - i + 2]
            f[k] -= factor * f[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, min(i + 3, n)):
            f[i] -= A[i, j - i + 2] * f[j]
        f[i] /= A[i, 2]
    return f


@numba.njit
def piece(knots, x, mode, order):
    """Returns the knot to the left of x, and the factors of both values and both second derivatives."""
    if not np.isfinite(x):
        return 0, np.nan, np.nan, np.nan, np.nan
    i = min(max(np.searchsorted(knots, x, side="right") - 1, 0), len(knots) - 2)
    h = knots[i + 1] - knots[i]
    b = (x - knots[i]) / h
    a = 1 - b
    f0, f1 = (a, b) if order == 0 else (-1 / h, 1 / h) if order == 1 else (0.0, 0.0)
    m0, m1 = 0.0, 0.0
    if mode == "cubic":
        if order == 0:
            m0, m1 = (a**3 - a) * h * h / 6, (b**3 - b) * h * h / 6
        elif order == 1:
            m0, m1 = (1 - 3 * a * a) * h / 6, (3 * b * b - 1) * h / 6
        elif order == 2:
            m0, m1 = a, b
        elif order == 3:
            m0, m1 = -1 / h, 1 / h
    return i, f0, f1, m0, m1


def forward(knots, values, x, mode, boundary, order, y):
    n, m = len(knots), len(x)
    t = knots.astype(np.float64)
    A, R = diagonals(t, boundary) if mode == "cubic" else (np.zeros((n, 5)), np.zeros((n, 5)))
    curves, made = values.reshape((-1, n)), y.reshape((values.size // n, m))
    for k in range(len(curves)):
        f = curves[k].astype(np.float64)
        bend = solved(A, times(R, f)) if mode == "cubic" else np.zeros(n)
        for j in range(m):
            i, f0, f1, m0, m1 = piece(t, np.float64(x[j]), mode, order)
            made[k, j] = f0 * f[i] + f1 * f[i + 1] + m0 * bend[i] + m1 * bend[i + 1]


def backward(knots, x, dy, mode, boundary, order, dvalues):
    n, m = len(knots), len(x)
    t = knots.astype(np.float64)
    A, R = diagonals(t, boundary) if mode == "cubic" else (np.zeros((n, 5)), np.zeros((n, 5)))
    arriving, made = dy.reshape((dvalues.size // n, m)), dvalues.reshape((-1, n))
    for k in range(len(arriving)):
        f, bend = np.zeros(n), np.zeros(n)
        for j in range(m):
            i, f0, f1, m0, m1 = piece(t, np.float64(x[j]), mode, order)
            f[i] += f0 * arriving[k, j]
            f[i + 1] += f1 * arriving[k, j]
            bend[i] += m0 * arriving[k, j]
            bend[i + 1] += m1 * arriving[k, j]
            if not np.isfinite(x[j]):
                f[:] = np.nan
        if mode == "cubic":
            f += times(turned(R), solved(turned(A), bend))
        for i in range(n):
            made[k, i] = f[i]
