"""ReLU, y = max(x, 0): the shortest op there is, in every way that a kernel can be written."""

import numpy as np
from numba import cuda

import opsdk
from opsdk import vmath

# 1. NumPy. This pair says what is right; every kernel below is compared with it.


@opsdk.op
def relu(x):
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):  # named, so saved: y. It is 0 wherever x < 0, so x itself is not needed
    return dy * (y > 0)


# 2. Numba on the CPU. A parameter named after an output is a buffer to fill: y, and dx in the gradient.


@relu.kernel("cpu", language="numba")
def relu_numba(x, y):
    for i in range(x.size):
        y.flat[i] = 0 if x.flat[i] < 0 else x.flat[i]  # NaN is not below 0, and stays


@relu_grad.kernel("cpu", language="numba")
def relu_grad_numba(y, dy, dx):
    for i in range(y.size):
        dx.flat[i] = dy.flat[i] if y.flat[i] > 0 else 0


# 3. Numba on CUDA. One thread per element; `launch` says so, and gives every array as one dimension.


@relu.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
def relu_cuda(x, y):
    i = cuda.grid(1)
    if i < y.size:  # the last block may be larger than what is left
        y[i] = 0 if x[i] < 0 else x[i]


@relu_grad.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("dx"))
def relu_grad_cuda(y, dy, dx):
    i = cuda.grid(1)
    if i < dx.size:
        dx[i] = dy[i] if y[i] > 0 else 0


# 4. C, in relu.c: one function for each dtype. Other dtypes go to the kernels above.

FLOATS = ("float32", "float64")
relu.kernel("cpu", language="c", dtype=FLOATS, source="relu.c")
relu_grad.kernel("cpu", language="c", dtype=FLOATS, source="relu.c")


# One line instead of all that: opsdk differentiates the expression, and compiles it for CPU and CUDA.


@opsdk.elementwise
def relu_expression(x):
    return vmath.maximum(x, 0)


if __name__ == "__main__":
    print(opsdk.verify(relu))
    print(opsdk.verify(relu_expression))
