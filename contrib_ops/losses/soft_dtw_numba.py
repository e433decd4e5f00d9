"""Numba kernels of `soft_dtw`: pairs are shared by threads, and computed in float64, in one table of cells each."""

import numba
import numpy as np

INF = np.inf


def forward(distances, gamma, y):
    for n in numba.prange(len(y)):
        totals, _ = align(distances[n], gamma)
        y[n] = totals[-1, -1]


def backward(distances, dy, gamma, ddistances):
    for n in numba.prange(len(dy)):
        _, weights = align(distances[n], gamma)
        likely, _ = spread_back(weights, np.zeros_like(weights))
        ddistances[n] = dy[n] * likely


def backward_of_backward(distances, dy, dddistances, gamma, distances_grad, ddy):
    for n in range(len(dy)):
        _, weights = align(distances[n], gamma)
        likely, product = spread_back(weights, turn(weights, dddistances[n], gamma))
        distances_grad[n] = dy[n] * product
        ddy[n] = (likely * dddistances[n]).sum()


@numba.njit(error_model="numpy")
def align(distances, gamma):
    """Returns what `alignments` does, of one pair."""
    rows, columns = distances.shape
    totals, weights = np.full((rows + 1, columns + 1), INF), np.empty((rows, columns, 3))
    totals[0, 0] = 0.0
    for i in range(rows):
        for j in range(columns):
            a, b, c = totals[i, j], totals[i, j + 1], totals[i + 1, j]
            least = min(a, min(b, c))
            p, q, r = np.exp((least - a) / gamma), np.exp((least - b) / gamma), np.exp((least - c) / gamma)
            total = p + q + r
            weights[i, j, 0], weights[i, j, 1], weights[i, j, 2] = p / total, q / total, r / total
            totals[i + 1, j + 1] = distances[i, j] + least - gamma * np.log(total)
    return totals, weights


@numba.njit
def turn(weights, direction, gamma):
    """Returns the derivative of the weights along a direction of the distances."""
    rows, columns, _ = weights.shape
    moved, turned = np.zeros((rows + 1, columns + 1)), np.empty_like(weights)
    for i in range(rows):
        for j in range(columns):
            w, a, b, c = weights[i, j], moved[i, j], moved[i, j + 1], moved[i + 1, j]
            mean = w[0] * a + w[1] * b + w[2] * c
            moved[i + 1, j + 1] = direction[i, j] + mean
            turned[i, j, 0] = w[0] * (mean - a) / gamma
            turned[i, j, 1] = w[1] * (mean - b) / gamma
            turned[i, j, 2] = w[2] * (mean - c) / gamma
    return turned


@numba.njit
def spread_back(weights, turned):
    """Returns E of one pair, and its derivative where the weights change by `turned`."""
    rows, columns, _ = weights.shape
    likely, product = np.zeros((rows + 1, columns + 1)), np.zeros((rows + 1, columns + 1))
    likely[rows, columns] = 1.0
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            here, change = likely[i + 1, j + 1], product[i + 1, j + 1]
            for k in range(3):
                p, q = i + (k == 2), j + (k == 1)
                likely[p, q] += weights[i, j, k] * here
                product[p, q] += weights[i, j, k] * change + turned[i, j, k] * here
    return likely[1:, 1:], product[1:, 1:]
