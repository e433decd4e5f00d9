"""Softmax over rows, y = exp(x) / Σ exp(x): reductions, first in a loop, then by the threads of a block."""

import math

import numpy as np
from numba import cuda

import opsdk
from opsdk import vmath
from opsdk.core.errors import ShapeError

THREADS = 64  # of a block on CUDA, a power of two

# 1. NumPy. Without the maximum, exp would overflow from x = 89 on in float32.


@opsdk.op
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@softmax.infer
def softmax_infer(x):  # for all kernels at once: what it refuses, none has to expect
    if not x.shape:
        raise ShapeError("op 'softmax': x expected at least one axis, got shape (); reshape it to (1,)")
    return x


@softmax.backward
def softmax_grad(y, dy):
    return y * (dy - (y * dy).sum(axis=-1, keepdims=True))


@softmax.samples
def softmax_samples(rng):  # without these, verify would try an input without axes, which has no rows
    for shape, reason in (((3, 5), "rows"), ((2, 3, 4), "rows of rows"), ((2, 70), "longer than a block")):
        yield opsdk.Sample(rng.normal(size=shape), reason=reason)
    yield opsdk.Sample(rng.normal(size=7), reason="a single row")
    yield opsdk.Sample(np.zeros((0, 4)), reason="no rows")
    yield opsdk.Sample(np.array([[-800.0, 0.0, 800.0], [89.0, 88.0, 90.0]]), reason="exp overflows")


# 2. Numba on the CPU.


@softmax.kernel("cpu", language="numba")
def softmax_numba(x, y):
    n = x.shape[-1]
    rows, out = np.ascontiguousarray(x).reshape(-1, n), y.reshape(-1, n)  # an input may come with any strides
    for i in range(rows.shape[0]):
        top = rows[i].max()
        total = x.dtype.type(0)
        for j in range(n):
            out[i, j] = vmath.exp(rows[i, j] - top)
            total += out[i, j]
        for j in range(n):
            out[i, j] /= total


@softmax_grad.kernel("cpu", language="numba")
def softmax_grad_numba(y, dy, dx):
    n = y.shape[-1]
    rows, arriving = np.ascontiguousarray(y).reshape(-1, n), np.ascontiguousarray(dy).reshape(-1, n)
    leaving = dx.reshape(-1, n)
    for i in range(rows.shape[0]):
        inner = y.dtype.type(0)
        for j in range(n):
            inner += rows[i, j] * arriving[i, j]
        for j in range(n):
            leaving[i, j] = rows[i, j] * (arriving[i, j] - inner)


# 3. Numba on CUDA. One block per row. Each thread takes every 64th element; what the threads found is put together in
# shared memory, in six steps, each with half as many threads.


@cuda.jit(device=True)
def largest(part, lane):
    """Returns the greatest of `part` to all threads of the block."""
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if lane < step:
            part[lane] = max(part[lane], part[lane + step])
        cuda.syncthreads()
        step //= 2
    return part[0]


@cuda.jit(device=True)
def summed(part, lane):
    """Returns the sum of `part` to all threads of the block."""
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if lane < step:
            part[lane] += part[lane + step]
        cuda.syncthreads()
        step //= 2
    return part[0]


@softmax.kernel("cuda", language="numba", launch=opsdk.launch.rows("x", "y", threads=THREADS))
def softmax_cuda(x, y):  # x and y come as matrices, whatever their shapes
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(THREADS, x.dtype)
    part[lane] = -math.inf
    for j in range(lane, x.shape[1], THREADS):
        part[lane] = max(part[lane], x[row, j])
    top = largest(part, lane)
    cuda.syncthreads()  # everybody has read part[0]
    part[lane] = 0
    for j in range(lane, x.shape[1], THREADS):
        y[row, j] = math.exp(x[row, j] - top)
        part[lane] += y[row, j]
    total = summed(part, lane)
    for j in range(lane, x.shape[1], THREADS):
        y[row, j] /= total


@softmax_grad.kernel("cuda", language="numba", launch=opsdk.launch.rows("y", "dy", "dx", threads=THREADS))
def softmax_grad_cuda(y, dy, dx):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    part = cuda.shared.array(THREADS, y.dtype)
    part[lane] = 0
    for j in range(lane, y.shape[1], THREADS):
        part[lane] += y[row, j] * dy[row, j]
    inner = summed(part, lane)
    for j in range(lane, y.shape[1], THREADS):
        dx[row, j] = y[row, j] * (dy[row, j] - inner)


# 4. C, in softmax.c.

FLOATS = ("float32", "float64")
softmax.kernel("cpu", language="c", dtype=FLOATS, source="softmax.c")
softmax_grad.kernel("cpu", language="c", dtype=FLOATS, source="softmax.c")


# One line instead: a function of one row. Its callers may choose the axis.


@opsdk.rowwise
def softmax_expression(x, *, axis: int = -1):
    return vmath.exp(x - vmath.row_logsumexp(x))


if __name__ == "__main__":
    print(opsdk.verify(softmax))
    print(opsdk.verify(softmax_expression))
