"""Bilinear resizing of images (N, C, H, W), half-pixel centres: outputs of another shape, reads at computed places.

The pixel at place i of n lies at (i + ½) / n of the image. This is what PyTorch's `interpolate` does with
`mode="bilinear", align_corners=False`.
"""

from typing import Annotated

import numpy as np
from numba import cuda, njit

import opsdk

# 1. NumPy. An axis is resized by a matrix with at most two numbers in each row, and the backward by its transpose.


def tap(i, made, size):
    """Returns the two pixels of `size` that pixel i of `made` lies between, and the weight of the second."""
    place = max((i + 0.5) * size / made - 0.5, 0.0)
    low = min(int(place), size - 1)
    return low, min(low + 1, size - 1), place - low


def resizing(made, size, dtype):
    matrix = np.zeros((made, size), dtype)
    for i in range(made):
        low, high, weight = tap(i, made, size)
        matrix[i, low] += 1 - weight
        matrix[i, high] += weight
    return matrix


@opsdk.op(linear=True)
def resize_bilinear(x, *, size: Annotated[tuple[int, int], opsdk.Range(1, None)]):
    vertical, horizontal = (resizing(made, n, x.dtype) for made, n in zip(size, x.shape[2:], strict=True))
    return vertical @ x @ horizontal.T


@resize_bilinear.infer
def resize_bilinear_infer(x, size):  # a buffer for y is made by this rule
    return opsdk.TensorSpec((*x.shape[:2], *size), x.dtype)


@resize_bilinear.backward
def resize_bilinear_grad(x_spec, dy, size):  # of x only the shape is needed, and nothing else is kept
    vertical, horizontal = (resizing(made, n, x_spec.dtype) for made, n in zip(size, x_spec.shape[2:], strict=True))
    return vertical.T @ dy @ horizontal


@resize_bilinear.samples
def resize_bilinear_samples(rng):  # without these, verify would not know what sizes to ask for
    for shape, size, reason in (
        ((2, 3, 4, 5), (7, 9), "larger"),
        ((1, 2, 9, 8), (4, 3), "smaller"),
        ((2, 1, 5, 6), (5, 13), "one axis"),
        ((1, 1, 1, 1), (3, 2), "a single pixel"),
        ((0, 2, 4, 4), (2, 6), "no images"),
    ):
        yield opsdk.Sample(rng.normal(size=shape), size=size, reason=reason)


# 2. Numba on the CPU. The forward gathers; the backward scatters into a buffer that comes uninitialised. Places and
# weights are float64 in float32 too: at pixel 5000 an error of 2⁻²⁴ would already be one of 0.0003 in the weight.

tap_numba = njit(tap)


@resize_bilinear.kernel("cpu", language="numba")
def resize_bilinear_numba(x, y):
    for i in range(y.shape[2]):
        top, bottom, v = tap_numba(i, y.shape[2], x.shape[2])
        for j in range(y.shape[3]):
            left, right, h = tap_numba(j, y.shape[3], x.shape[3])
            for n in range(x.shape[0]):
                for c in range(x.shape[1]):
                    above = (1 - h) * x[n, c, top, left] + h * x[n, c, top, right]
                    below = (1 - h) * x[n, c, bottom, left] + h * x[n, c, bottom, right]
                    y[n, c, i, j] = (1 - v) * above + v * below


@resize_bilinear_grad.kernel("cpu", language="numba")
def resize_bilinear_grad_numba(dy, dx):
    dx[:] = 0
    for i in range(dy.shape[2]):
        top, bottom, v = tap_numba(i, dy.shape[2], dx.shape[2])
        for j in range(dy.shape[3]):
            left, right, h = tap_numba(j, dy.shape[3], dx.shape[3])
            for n in range(dx.shape[0]):
                for c in range(dx.shape[1]):
                    arriving = dy[n, c, i, j]
                    dx[n, c, top, left] += (1 - v) * (1 - h) * arriving
                    dx[n, c, top, right] += (1 - v) * h * arriving
                    dx[n, c, bottom, left] += v * (1 - h) * arriving
                    dx[n, c, bottom, right] += v * h * arriving


# 3. Numba on CUDA. The launch is a function: the kernels get the arrays with all four axes, and a thread per element
# of what they write. The backward gathers too, so that no two threads write one element: each input pixel looks at
# the output pixels near it, and asks of each whether it was read by it.

tap_cuda = cuda.jit(device=True)(tap)


@cuda.jit(device=True)
def share(i, of, made, size):
    """Returns with which weight pixel `of` of the output reads pixel i of the input."""
    low, high, weight = tap_cuda(of, made, size)
    return (1 - weight if low == i else 0.0) + (weight if high == i else 0.0)


@cuda.jit(device=True)
def readers(i, made, size):
    """Returns a range of output pixels that holds all which read pixel i of the input."""
    return max(int((i - 0.5) * made / size - 0.5), 0), min(int((i + 1.5) * made / size - 0.5) + 2, made)


@cuda.jit(device=True)
def indices(k, shape):
    """Returns the four indices of element k in C order."""
    k, j = k // shape[3], k % shape[3]
    k, i = k // shape[2], k % shape[2]
    return k // shape[1], k % shape[1], i, j


@resize_bilinear.kernel("cuda", language="numba", launch=lambda y: (-(-y.size // 128), 128))
def resize_bilinear_cuda(x, y):
    k = cuda.grid(1)
    if k < y.size:
        n, c, i, j = indices(k, y.shape)
        top, bottom, v = tap_cuda(i, y.shape[2], x.shape[2])
        left, right, h = tap_cuda(j, y.shape[3], x.shape[3])
        above = (1 - h) * x[n, c, top, left] + h * x[n, c, top, right]
        below = (1 - h) * x[n, c, bottom, left] + h * x[n, c, bottom, right]
        y[n, c, i, j] = (1 - v) * above + v * below


@resize_bilinear_grad.kernel("cuda", language="numba", launch=lambda dx: (-(-dx.size // 128), 128))
def resize_bilinear_grad_cuda(dy, dx):
    k = cuda.grid(1)
    if k < dx.size:
        n, c, i, j = indices(k, dx.shape)
        first, last = readers(i, dy.shape[2], dx.shape[2])
        start, end = readers(j, dy.shape[3], dx.shape[3])
        total = 0.0
        for p in range(first, last):
            vertical = share(i, p, dy.shape[2], dx.shape[2])
            for q in range(start, end):
                total += vertical * share(j, q, dy.shape[3], dx.shape[3]) * dy[n, c, p, q]
        dx[n, c, i, j] = total


# 4. C, in resize_bilinear.c.

FLOATS = ("float32", "float64")
resize_bilinear.kernel("cpu", language="c", dtype=FLOATS, source="resize_bilinear.c")
resize_bilinear_grad.kernel("cpu", language="c", dtype=FLOATS, source="resize_bilinear.c")


# There is no expression of one element or one row that reads at another place: no one-line form.


if __name__ == "__main__":
    print(opsdk.verify(resize_bilinear))
