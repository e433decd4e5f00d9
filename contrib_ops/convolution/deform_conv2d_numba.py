"""Numba kernels of `deform_conv2d`: a row of outputs at a time, whose taps of all channels stay in cache."""

import numba
import numpy as np

PARTS = 4  # of the images, for threads; fixed, so that sums do not depend on how many threads there are


def forward(input, offset, mask, weight, bias, stride, padding, dilation, y):
    (count, channels, _, _), (of_outputs, each, kh, kw) = input.shape, weight.shape
    taps, high, wide = kh * kw, offset.shape[2], offset.shape[3]
    of_group = of_outputs // (channels // each)
    weights = weight.reshape(of_outputs, each * taps)
    for row in numba.prange(count * high):
        n, p = row // high, row % high
        read = np.empty((channels * taps, wide), input.dtype)
        for c in range(channels):
            for k in range(taps):
                d = c // (channels // (mask.shape[1] // taps))
                line = read[c * taps + k]
                for q in range(wide):
                    i, j = place(offset, n, d * taps + k, p, q, k, kw, stride, padding, dilation)
                    value, _, _ = bilinear(input[n, c], i, j)
                    line[q] = value * mask[n, d * taps + k, p, q]
        for o in range(of_outputs):
            first = o // of_group * each * taps
            line = y[n, o, p]
            line[:] = 0 if bias is None else bias[o]
            for m in range(each * taps):
                add_scaled(line, weights[o, m], read[first + m])


def backward(input, offset, mask, weight, bias, dy, stride, padding, dilation, dinput, doffset, dmask, dweight, dbias):
    (count, channels, _, _), (of_outputs, each, kh, kw) = input.shape, weight.shape
    taps, high, wide = kh * kw, offset.shape[2], offset.shape[3]
    of_group, of_offset = of_outputs // (channels // each), channels // (mask.shape[1] // taps)
    weights, sums = weight.reshape(of_outputs, each * taps), np.zeros((PARTS, of_outputs, each * taps))
    dinput[:], doffset[:], dmask[:] = 0, 0, 0
    for part in numba.prange(PARTS):
        read, arriving = np.empty((channels * taps, wide), input.dtype), np.empty((channels * taps, wide), input.dtype)
        for n in range(part, count, PARTS):
            for p in range(high):
                arriving[:] = 0
                for o in range(of_outputs):
                    for m in range(each * taps):
                        add_scaled(arriving[o // of_group * each * taps + m], weights[o, m], dy[n, o, p])
                for c in range(channels):
                    for k in range(taps):
                        at = c // of_offset * taps + k
                        for q in range(wide):
                            i, j = place(offset, n, at, p, q, k, kw, stride, padding, dilation)
                            value, down, right = bilinear(input[n, c], i, j)
                            factor, here = mask[n, at, p, q], arriving[c * taps + k, q]
                            read[c * taps + k, q] = value * factor
                            dmask[n, at, p, q] += here * value
                            doffset[n, 2 * at, p, q] += here * factor * down
                            doffset[n, 2 * at + 1, p, q] += here * factor * right
                            spread(dinput[n, c], i, j, here * factor)
                for o in range(of_outputs):
                    first = o // of_group * each * taps
                    for m in range(each * taps):
                        sums[part, o, m] += dot(dy[n, o, p], read[first + m])
    dweight.reshape(of_outputs, each * taps)[:] = sums.sum(axis=0)
    if bias is not None:
        for o in range(of_outputs):
            dbias[o] = dy[:, o].sum()


@numba.njit
def place(offset, n, at, p, q, k, kw, stride, padding, dilation):
    """Returns where tap k of an output reads, in float64."""
    row = np.float64(offset[n, 2 * at, p, q]) + (p * stride[0] + k // kw * dilation[0] - padding[0])
    column = np.float64(offset[n, 2 * at + 1, p, q]) + (q * stride[1] + k % kw * dilation[1] - padding[1])
    return row, column


@numba.njit
def bilinear(image, row, column):
    """Returns the value between four pixels, and how it grows down and right."""
    value, down, right = 0.0, 0.0, 0.0
    if -1 <= row < image.shape[0] and -1 <= column < image.shape[1]:
        i, j = int(np.floor(row)), int(np.floor(column))
        low, left = row - i, column - j
        a, b = pixel(image, i, j), pixel(image, i, j + 1)
        c, d = pixel(image, i + 1, j), pixel(image, i + 1, j + 1)
        value = (1 - low) * ((1 - left) * a + left * b) + low * ((1 - left) * c + left * d)
        down = (1 - left) * (c - a) + left * (d - b)
        right = (1 - low) * (b - a) + low * (d - c)
    return value, down, right


@numba.njit
def pixel(image, i, j):
    return image[i, j] if 0 <= i < image.shape[0] and 0 <= j < image.shape[1] else image.dtype.type(0)


@numba.njit
def spread(image, row, column, value):
    """Adds a value to the four pixels that `bilinear` reads."""
    if -1 <= row < image.shape[0] and -1 <= column < image.shape[1]:
        i, j = int(np.floor(row)), int(np.floor(column))
        for a in range(max(i, 0), min(i + 2, image.shape[0])):
            for b in range(max(j, 0), min(j + 2, image.shape[1])):
                image[a, b] += (1 - abs(row - a)) * (1 - abs(column - b)) * value


@numba.njit
def add_scaled(total, weight, x):
    for i in range(len(total)):
        total[i] += weight * x[i]


@numba.njit(fastmath={"reassoc", "contract"})  # a sum in lanes
def dot(x, w):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * w[i]
    return total
