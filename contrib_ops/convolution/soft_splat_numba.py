"""Numba kernels of `soft_splat`: which pixels each reaches is found once for all channels."""

import numba
import numpy as np

from opsdk import vmath

MOST = 700.0  # exp of it is finite


def forward(input, flow, metric, mode, y):
    (count, channels, height, width), pixels = input.shape, input.shape[2] * input.shape[3]
    x, made = input.reshape(count, channels, pixels), y.reshape(count, channels, pixels)
    for n in numba.prange(count):
        index, shares, _ = landings(flow[n], height, width)
        z = np.zeros(pixels, input.dtype) if metric is None else metric[n].reshape(pixels)
        gains, inverse = gains_of(index, shares, z, mode)
        for c in range(channels):
            sums = np.zeros(pixels)
            for p in range(pixels):
                for k in range(4):
                    if index[p, k] >= 0:
                        sums[index[p, k]] += shares[p, k] * gains[p, k] * x[n, c, p]
            made[n, c] = sums * inverse


def backward(input, flow, metric, y, dy, mode, dinput, dflow, dmetric):
    (count, channels, height, width), pixels = input.shape, input.shape[2] * input.shape[3]
    x, dx = input.reshape(count, channels, pixels), dinput.reshape(count, channels, pixels)
    out, arriving = y.reshape(count, channels, pixels), dy.reshape(count, channels, pixels)
    turned = dflow.reshape(count, 2, pixels)
    for n in numba.prange(count):
        index, shares, slopes = landings(flow[n], height, width)
        z = np.zeros(pixels, input.dtype) if metric is None else metric[n].reshape(pixels)
        gains, inverse = gains_of(index, shares, z, mode)
        moved = np.zeros((pixels, 4))  # by the weight of each pixel in each that it reaches
        for c in range(channels):
            for p in range(pixels):
                total = 0.0
                for k in range(4):
                    q = index[p, k]
                    if q >= 0:
                        here = arriving[n, c, q] * inverse[q]
                        total += shares[p, k] * gains[p, k] * here
                        moved[p, k] += (x[n, c, p] - (0.0 if mode == "summation" else out[n, c, q])) * here
                dx[n, c, p] = total
        for p in range(pixels):
            right, down, through = 0.0, 0.0, 0.0
            for k in range(4):
                right += moved[p, k] * gains[p, k] * slopes[p, k, 1]
                down += moved[p, k] * gains[p, k] * slopes[p, k, 0]
                through += moved[p, k] * shares[p, k] * (gains[p, k] if mode == "softmax" else 1.0)
            turned[n, 0, p], turned[n, 1, p] = right, down
            if metric is not None:
                dmetric[n, 0, p // width, p % width] = through


@numba.njit
def landings(flow, height, width):
    """Returns which four pixels each reaches, -1 outside, its shares of them, and how these grow down and right."""
    index = np.full((height * width, 4), -1)
    shares, slopes = np.zeros((height * width, 4)), np.zeros((height * width, 4, 2))
    for p in range(height * width):
        i, j = p // width, p % width
        row, column = np.float64(flow[1, i, j]) + i, np.float64(flow[0, i, j]) + j
        if not (-1 <= row < height and -1 <= column < width):
            continue
        top, left = int(np.floor(row)), int(np.floor(column))
        for k in range(4):
            a, b = top + k // 2, left + k % 2
            if 0 <= a < height and 0 <= b < width:
                high, wide = 1 - abs(row - a), 1 - abs(column - b)
                index[p, k], shares[p, k] = a * width + b, high * wide
                slopes[p, k, 0], slopes[p, k, 1] = (2 * (k // 2) - 1) * wide, (2 * (k % 2) - 1) * high
    return index, shares, slopes


@numba.njit
def gains_of(index, shares, z, mode):
    """Returns how much each pixel counts in each that it reaches, and what the sum there is to be multiplied by."""
    gains, totals, greatest = np.ones(index.shape), np.zeros(len(z)), np.full(len(z), -np.inf)
    for p in range(len(z)):
        for k in range(4):
            if shares[p, k] > 0:
                greatest[index[p, k]] = max(greatest[index[p, k]], z[p])
    for p in range(len(z)):
        for k in range(4):
            q = index[p, k]
            if q >= 0:
                if mode == "softmax":
                    base = greatest[q] if greatest[q] > -np.inf else 0.0
                    gains[p, k] = vmath.exp(min(z[p] - base, MOST))
                elif mode == "linear":
                    gains[p, k] = z[p]
                totals[q] += shares[p, k] * gains[p, k]
    for q in range(len(z)):
        totals[q] = 1.0 if mode == "summation" else (1 / totals[q] if totals[q] > 0 else 0.0)
    return gains, totals
