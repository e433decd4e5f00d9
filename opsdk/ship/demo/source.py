"""The files that the demonstration writes: a right ReLU with two rows, and one whose backward is wrong."""

from __future__ import annotations

from pathlib import Path

RELU = '''\
"""ReLU, written twice: as a pair of NumPy functions and as a pair of Numba kernels."""

import numpy as np

import opsdk


@opsdk.op
def relu(x):
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):  # by name: y is what relu returned, dy the gradient that arrives there
    return dy * (y > 0)


@relu.kernel("cpu", language="numba")
def relu_numba(x, y):  # a parameter named after an output is a buffer to fill
    for i in range(x.size):
        y.flat[i] = max(x.flat[i], 0)


@relu_grad.kernel("cpu", language="numba")
def relu_grad_numba(y, dy, dx):
    for i in range(y.size):
        dx.flat[i] = dy.flat[i] if y.flat[i] > 0 else 0
'''

WRONG = '''\
"""ReLU with one character too many in its backward: y is never below 0, so y >= 0 lets every gradient through."""

import numpy as np

import opsdk


@opsdk.op
def relu(x):
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):
    return dy * (y >= 0)
'''


def write(folder: Path) -> tuple[Path, Path]:
    """Writes both files into a folder, which is made where it does not exist; returns the right and the wrong one."""
    folder.mkdir(parents=True, exist_ok=True)
    right, wrong = folder / "relu.py", folder / "relu_wrong.py"
    right.write_text(RELU, encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")
    return right, wrong
