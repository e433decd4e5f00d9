"""Swish, y = x · sigmoid(βx): an attribute, and a function that float32 must not compute in float64."""

import math

from numba import cuda

import opsdk
from opsdk import vmath

# 1. NumPy. vmath.sigmoid takes arrays: it does not overflow, and float32 stays float32.


@opsdk.op
def swish(x, *, beta: float = 1.0):
    return x * vmath.sigmoid(x.dtype.type(beta) * x)


@swish.backward
def swish_grad(x, dy, beta):
    beta = x.dtype.type(beta)
    s = vmath.sigmoid(beta * x)
    return dy * (s + beta * x * s * (1 - s))


# 2. Numba on the CPU. The same vmath.sigmoid is inlined here, and the loop is vectorized.


@swish.kernel("cpu", language="numba")
def swish_numba(x, beta, y):
    b = x.dtype.type(beta)  # an attribute comes as float64, and would take the whole line with it
    a, out = x.ravel(), y.ravel()
    for i in range(a.size):
        out[i] = a[i] * vmath.sigmoid(b * a[i])


@swish_grad.kernel("cpu", language="numba")
def swish_grad_numba(x, dy, beta, dx):
    b, one = x.dtype.type(beta), x.dtype.type(1)
    a, arriving, leaving = x.ravel(), dy.ravel(), dx.ravel()
    for i in range(a.size):
        s = vmath.sigmoid(b * a[i])
        leaving[i] = arriving[i] * (s + b * a[i] * s * (one - s))


# 3. Numba on CUDA. Kernels share code as device functions. To Numba, 1 + float32 is float64, so 1 comes along too.


@cuda.jit(device=True)
def sigmoid(z, one):
    e = math.exp(-abs(z))  # at most 1: exp never overflows
    return (e if z < 0 else one) / (one + e)


@swish.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
def swish_cuda(x, beta, y):
    i = cuda.grid(1)
    if i < y.size:
        real = x.dtype.type
        y[i] = x[i] * sigmoid(real(beta) * x[i], real(1))


@swish_grad.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("dx"))
def swish_grad_cuda(x, dy, beta, dx):
    i = cuda.grid(1)
    if i < dx.size:
        b, one = x.dtype.type(beta), x.dtype.type(1)
        s = sigmoid(b * x[i], one)
        dx[i] = dy[i] * (s + b * x[i] * s * (one - s))


# 4. C, in swish.c. An attribute `float beta` is a double there, and is cast once.

FLOATS = ("float32", "float64")
swish.kernel("cpu", language="c", dtype=FLOATS, source="swish.c")
swish_grad.kernel("cpu", language="c", dtype=FLOATS, source="swish.c")


# One line instead: forward, derivatives of every order, CPU and CUDA.


@opsdk.elementwise
def swish_expression(x, *, beta: float = 1.0):
    return x * vmath.sigmoid(beta * x)


if __name__ == "__main__":
    print(opsdk.verify(swish))
    print(opsdk.verify(swish_expression))
