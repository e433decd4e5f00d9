"""gelu(x·w + b) in one pass over memory: x holds rows, w and b one number per column, whose gradients are sums.

As three ops it would write, and for the backward keep, two arrays of the size of x that nobody wants.
"""

import math

import numpy as np
from numba import cuda

import opsdk
from opsdk import vmath
from opsdk.core.errors import ShapeError

# gelu(z) = z Φ(z), where Φ is the distribution function of the standard normal; its derivative is Φ(z) + z φ(z).
# Φ(z) is erfc(-z √½) / 2: unlike 1 + erf, erfc keeps its digits where z is far below 0.
ROOT_HALF = math.sqrt(0.5)
DENSITY_AT_0 = 1 / math.sqrt(2 * math.pi)

# 1. NumPy, with x (…, n), w and b (n,).


@opsdk.op
def scale_bias_gelu(x, w, b):
    z = x * w + b
    return z * vmath.erfc(-z * ROOT_HALF) / 2


@scale_bias_gelu.infer
def scale_bias_gelu_infer(x, w, b):  # for all kernels at once: what it refuses, none has to expect
    if not x.shape or w.shape != x.shape[-1:] or b.shape != x.shape[-1:]:
        raise ShapeError(f"op 'scale_bias_gelu': w and b expected shape {x.shape[-1:]}, got {w.shape} and {b.shape}")
    return x


@scale_bias_gelu.backward
def scale_bias_gelu_grad(x, w, b, dy):
    z = x * w + b
    slope = vmath.erfc(-z * ROOT_HALF) / 2 + z * DENSITY_AT_0 * vmath.exp(-z * z / 2)
    dz = dy * slope
    return dz * w, opsdk.sum_to(dz * x, w.shape), opsdk.sum_to(dz, b.shape)


@scale_bias_gelu.samples
def scale_bias_gelu_samples(rng):  # without these, verify would try three inputs of one shape
    for shape, reason in (((3, 5), "rows"), ((2, 3, 4), "rows of rows"), ((7,), "a single row"), ((0, 4), "no rows")):
        n = shape[-1]
        yield opsdk.Sample(rng.normal(size=shape), rng.normal(size=n), rng.normal(size=n), reason=reason)
    yield opsdk.Sample(np.array([[-9.0, 0.0, 40.0]]), np.ones(3), np.zeros(3), reason="far out")


# 2. Numba on the CPU. Attributes and Python's floats are float64: what meets float32 is cast first. The sums are
# added up in their buffers, which come uninitialised.


@scale_bias_gelu.kernel("cpu", language="numba")
def scale_bias_gelu_numba(x, w, b, y):
    half, root_half = x.dtype.type(0.5), x.dtype.type(ROOT_HALF)
    rows, out = np.ascontiguousarray(x).reshape(-1, w.size), y.reshape(-1, w.size)  # x may come with any strides
    for i in range(rows.shape[0]):
        for j in range(w.size):
            z = rows[i, j] * w[j] + b[j]
            out[i, j] = half * z * vmath.erfc(-root_half * z)


@scale_bias_gelu_grad.kernel("cpu", language="numba")
def scale_bias_gelu_grad_numba(x, w, b, dy, dx, dw, db):
    half, root_half, density_at_0 = x.dtype.type(0.5), x.dtype.type(ROOT_HALF), x.dtype.type(DENSITY_AT_0)
    rows, arriving = np.ascontiguousarray(x).reshape(-1, w.size), np.ascontiguousarray(dy).reshape(-1, w.size)
    leaving = dx.reshape(-1, w.size)
    dw[:] = 0
    db[:] = 0
    for i in range(rows.shape[0]):
        for j in range(w.size):
            z = rows[i, j] * w[j] + b[j]
            dz = arriving[i, j] * (half * vmath.erfc(-root_half * z) + z * density_at_0 * vmath.exp(-half * z * z))
            leaving[i, j] = dz * w[j]
            dw[j] += dz * rows[i, j]
            db[j] += dz


# 3. Numba on CUDA. The gradient has one thread per column, which walks down the rows: neighbouring threads read
# neighbouring elements, nothing has to be added atomically, and the sums are the same at every run.


@scale_bias_gelu.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
def scale_bias_gelu_cuda(x, w, b, y):
    i = cuda.grid(1)
    if i < y.size:
        j = i % w.size
        z = x[i] * w[j] + b[j]
        y[i] = x.dtype.type(0.5) * z * math.erfc(-z * x.dtype.type(ROOT_HALF))


@scale_bias_gelu_grad.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("dw"))
def scale_bias_gelu_grad_cuda(x, w, b, dy, dx, dw, db):
    j = cuda.grid(1)
    if j < dw.size:
        half, root_half, density_at_0 = x.dtype.type(0.5), x.dtype.type(ROOT_HALF), x.dtype.type(DENSITY_AT_0)
        sum_w, sum_b = x.dtype.type(0), x.dtype.type(0)
        for i in range(j, x.size, w.size):
            z = x[i] * w[j] + b[j]
            dz = dy[i] * (half * math.erfc(-root_half * z) + z * density_at_0 * math.exp(-half * z * z))
            dx[i] = dz * w[j]
            sum_w += dz * x[i]
            sum_b += dz
        dw[j], db[j] = sum_w, sum_b


# 4. C, in scale_bias_gelu.c.

FLOATS = ("float32", "float64")
scale_bias_gelu.kernel("cpu", language="c", dtype=FLOATS, source="scale_bias_gelu.c")
scale_bias_gelu_grad.kernel("cpu", language="c", dtype=FLOATS, source="scale_bias_gelu.c")


# Two lines instead: inputs of an expression broadcast, and opsdk sums their gradients.


@opsdk.elementwise
def scale_bias_gelu_expression(x, w, b):
    z = x * w + b
    return z * vmath.erfc(-z * ROOT_HALF) / 2


if __name__ == "__main__":
    print(opsdk.verify(scale_bias_gelu))
    print(opsdk.verify(scale_bias_gelu_expression))
