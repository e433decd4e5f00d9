"""Numba kernels of `soft_splat`: which pixels each reaches is found once for all channels."""

import numba
import numpy as np

from opsdk import vmath

MOST = 700.0  # exp of it is finite


def forward(input, flow, metric, mode, y, base, total):
    (count, channels, height, width), pixels = input.shape, input.shape[2] * input.shape[3]
    x, made = input.reshape(count, channels, pixels), y.reshape(count, channels, pixels)
    for n in numba.prange(count):
        index, shares, _ = landings(flow[n], height, width)
        z = np.zeros(pixels, input.dtype) if metric is None else metric[n].reshape(pixels)
        greatest, divisors = base.reshape(count, pixels)[n], total.reshape(count, pixels)[n]
        fill_totals(index, shares, z, mode, greatest, divisors)
        gains, _ = gains_of(index, z, mode, greatest, divisors)
        for c in range(channels):
            sums = np.zeros(pixels)
            for p in range(pixels):
                for k in range(4):
                    if index[p, k] >= 0:
                        sums[index[p, k]] += shares[p, k] * gains[p, k] * x[n, c, p]
            made[n, c] = sums


def backward(input, flow, metric, y, base, total, dy, mode, dinput, dflow, dmetric):
    (count, channels, height, width), pixels = input.shape, input.shape[2] * input.shape[3]
    x, dx = input.reshape(count, channels, pixels), dinput.reshape(count, channels, pixels)
    out, arriving = y.reshape(count, channels, pixels), dy.reshape(count, channels, pixels)
    turned, averages = dflow.reshape(count, 2, pixels), 0.0 if mode == "summation" else 1.0
    for n in numba.prange(count):
        index, shares, slopes = landings(flow[n], height, width)
        z = np.zeros(pixels, input.dtype) if metric is None else metric[n].reshape(pixels)
        gains, gains_slopes = gains_of(index, z, mode, base.reshape(count, pixels)[n], total.reshape(count, pixels)[n])
        moved = np.zeros((pixels, 4))  # by the weight of each pixel in each that it reaches
        for c in range(channels):
            for p in range(pixels):
                through = 0.0
                for k in range(4):
                    q = index[p, k]
                    if q >= 0:
                        here = arriving[n, c, q]
                        through += shares[p, k] * gains[p, k] * here
                        moved[p, k] += (x[n, c, p] - averages * out[n, c, q]) * here
                dx[n, c, p] = through
        for p in range(pixels):
            right, down, through = 0.0, 0.0, 0.0
            for k in range(4):
                right += moved[p, k] * gains[p, k] * slopes[p, k, 1]
                down += moved[p, k] * gains[p, k] * slopes[p, k, 0]
                through += moved[p, k] * shares[p, k] * gains_slopes[p, k]
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
def fill_totals(index, shares, z, mode, base, total):
    """Fills in what gains are relative to, and by what the sum of each pixel is divided; inf where nothing lands."""
    softmax, linear = mode == "softmax", mode == "linear"
    base[:], total[:] = -np.inf if softmax else 0, 1 if mode == "summation" else 0
    if mode == "summation":
        return
    for p in range(len(z) if softmax else 0):
        for k in range(4):
            if shares[p, k] > 0:
                base[index[p, k]] = np.maximum(base[index[p, k]], z[p])  # nan stays
    for p in range(len(z)):
        for k in range(4):
            q = index[p, k]
            if shares[p, k] > 0:
                total[q] += shares[p, k] * (vmath.exp(z[p] - base[q]) if softmax else (z[p] if linear else 1.0))
    for q in range(len(z)):
        base[q] = 0 if base[q] == -np.inf else base[q]
        total[q] = total[q] if total[q] > 0 else np.inf


@numba.njit(error_model="numpy")
def gains_of(index, z, mode, base, total):
    """Returns how much pixels count in each that they reach, divided by its total, and how that grows with z."""
    softmax, linear = mode == "softmax", mode == "linear"
    gains, slopes = np.zeros(index.shape), np.zeros(index.shape)
    for p in range(len(z)):
        for k in range(4):
            q = index[p, k]
            if q >= 0 and softmax:
                gains[p, k] = slopes[p, k] = vmath.exp(min(z[p] - base[q], MOST)) / total[q]
            elif q >= 0:
                gains[p, k], slopes[p, k] = (z[p] if linear else 1.0) / total[q], 1.0 / total[q]
    return gains, slopes
