"""CUDA kernels of `roi_align`: a thread per result, and for the gradient a thread per plane of the images."""

import math

from numba import cuda


def span(low, high, bins, scale, ratio, aligned):
    """Returns the start of a box on one axis, the distance of samples and how many a bin has."""
    start = low * scale - (0.5 if aligned else 0.0)
    length = high * scale - low * scale
    if not aligned:
        length = max(length, 1.0)
    samples = ratio if ratio > 0 else math.ceil(length / bins)
    return start, length / max(bins * samples, 1), samples


def tap(place, extent):
    """Returns the two pixels that a place lies between, and their weights; no weight where it lies outside."""
    if place < -1 or place > extent:
        return 0, 0, 0.0, 0.0
    place = min(max(place, 0.0), extent - 1.0)
    low = int(place)
    return low, min(low + 1, extent - 1), 1 - (place - low), place - low


span_cuda = cuda.jit(device=True)(span)
tap_cuda = cuda.jit(device=True)(tap)


def forward(input, boxes, spatial_scale, sampling_ratio, aligned, y):
    i = cuda.grid(1)
    if i >= y.size:
        return
    h, w, channels = y.shape[2], y.shape[3], y.shape[1]
    k, c, p, q = i // (channels * h * w), i // (h * w) % channels, i // w % h, i % w
    n = int(boxes[k, 0])
    top, down, rows = span_cuda(float(boxes[k, 2]), float(boxes[k, 4]), h, spatial_scale, sampling_ratio, aligned)
    left, across, columns = span_cuda(float(boxes[k, 1]), float(boxes[k, 3]), w, spatial_scale, sampling_ratio, aligned)
    total = 0.0
    for a in range(p * rows, (p + 1) * rows):
        above, below, upper, lower = tap_cuda(top + (a + 0.5) * down, input.shape[2])
        for b in range(q * columns, (q + 1) * columns):
            west, east, near, far = tap_cuda(left + (b + 0.5) * across, input.shape[3])
            total += upper * (near * input[n, c, above, west] + far * input[n, c, above, east])
            total += lower * (near * input[n, c, below, west] + far * input[n, c, below, east])
    y[k, c, p, q] = total / max(rows * columns, 1)


def backward(boxes, dy, spatial_scale, sampling_ratio, aligned, sums, dinput):
    # A thread owns its plane: nothing has to be added atomically, and the sums are the same at every run. They are
    # taken in float64, since many boxes may lie on one pixel.
    i = cuda.grid(1)
    if i >= dinput.shape[0] * dinput.shape[1]:
        return
    n, c = i // dinput.shape[1], i % dinput.shape[1]
    for a in range(dinput.shape[2]):
        for b in range(dinput.shape[3]):
            sums[n, c, a, b] = 0
    h, w = dy.shape[2], dy.shape[3]
    for k in range(boxes.shape[0]):
        if int(boxes[k, 0]) != n:
            continue
        top, down, rows = span_cuda(float(boxes[k, 2]), float(boxes[k, 4]), h, spatial_scale, sampling_ratio, aligned)
        left, across, columns = span_cuda(
            float(boxes[k, 1]), float(boxes[k, 3]), w, spatial_scale, sampling_ratio, aligned
        )
        for a in range(h * rows):
            above, below, upper, lower = tap_cuda(top + (a + 0.5) * down, dinput.shape[2])
            for b in range(w * columns):
                west, east, near, far = tap_cuda(left + (b + 0.5) * across, dinput.shape[3])
                arriving = dy[k, c, a // rows, b // columns] / (rows * columns)
                sums[n, c, above, west] += upper * near * arriving
                sums[n, c, above, east] += upper * far * arriving
                sums[n, c, below, west] += lower * near * arriving
                sums[n, c, below, east] += lower * far * arriving
    for a in range(dinput.shape[2]):
        for b in range(dinput.shape[3]):
            dinput[n, c, a, b] = sums[n, c, a, b]
