"""Ops of a newcomer's that give wrong numbers and no error, as files; what is wrong with each is its name."""

from __future__ import annotations

_PAIR = """import numpy as np
import opsdk

@opsdk.op
def f(x):
    return {forward}

@f.backward
def f_grad({saved}):
    return {backward}
"""


def _pair(forward: str, saved: str, backward: str) -> str:
    return _PAIR.format(forward=forward, saved=saved, backward=backward)


RELU = (
    _pair("np.maximum(x, 0)", "y, dy", "dy * (y >= 0)")
    .replace("f(", "relu(")
    .replace("f.", "relu.")
    .replace("f_", "relu_")
)

_BY_MEMORY = "2 * np.lib.stride_tricks.as_strided(dy, dy.shape, np.empty(dy.shape).strides).astype(dy.dtype)"
_TWICE = _pair("2 * x", "dy", "2 * dy")
_CUBE = _pair("x**3", "x, dy", "3 * dy * x * x")

SILENT = {
    "a second derivative that lacks a factor": f"""{_CUBE}
@f_grad.backward
def f_grad_grad(x, dy, ddx):
    return 3 * ddx * dy * x, 3 * ddx * x * x
""",
    "a cotangent that is read as if it were contiguous": _pair("2 * x", "dy", _BY_MEMORY),
    "a cotangent that is changed in place": _pair("2 * x", "dy", "np.multiply(dy, 2, out=dy)"),
    "an array of the first call, kept and used again": _pair("np.exp(KEPT.setdefault(x.shape, x))", "y, dy", "dy * y")
    + "\nKEPT = {}\n",
    "one wrong element of many": _pair(
        "np.exp(x)", "y, dy", "dy * np.where(np.arange(y.size).reshape(y.shape) == 7, 1.01, 1.0) * y"
    ),
    "a compiled loop that reads beyond its array": f"""{_TWICE}
@f.kernel("cpu", language="numba")
def f_numba(x, y):
    flat = x.ravel()
    for i in range(x.size):
        y.flat[i] = 2 * flat[i] + 0 * flat[i + 1]
""",
    "a kernel that is wrong for one dtype": f"""{_TWICE}
@f.kernel("cpu", language="numba", dtype="float32")
def f_numba(x):
    return np.float32(2.001) * x
""",
    "a gradient that is right for a sum only": _pair("3 * x", "x, dy", "0 * dy + 3"),
}
