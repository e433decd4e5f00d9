"""The files that the demonstration writes: a right ReLU in every language, and one whose backward is wrong.

The languages are those that kernels can be written in here.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

from opsdk.backends.c.compiler import find_compiler
from opsdk.core.errors import CompileError

HEAD = '''\
"""ReLU, written once for each way to write a kernel."""

import numpy as np
'''

PAIR = """\

import opsdk


@opsdk.op
def relu(x):  # the NumPy pair: it says what is right
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):  # by name: y is what relu returned, dy the gradient that arrives there
    return dy * (y > 0)


@opsdk.elementwise
def relu_expression(x):  # one expression: opsdk differentiates it, and compiles both
    return opsdk.vmath.maximum(x, 0)
"""

C = '''

C = """
int32_t relu_f32(const DLTensor *x, DLTensor *y) {
  const float *in = OPSDK_DATA(const float, x);
  float *out = OPSDK_DATA(float, y);
  const int64_t n = opsdk_size(x);
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] < 0 ? 0 : in[i];
  return 0;
}

int32_t relu_grad_f32(const DLTensor *y, const DLTensor *dy, DLTensor *dx) {
  const float *out = OPSDK_DATA(const float, y), *arriving = OPSDK_DATA(const float, dy);
  float *leaving = OPSDK_DATA(float, dx);
  const int64_t n = opsdk_size(y);
  for (int64_t i = 0; i < n; ++i) leaving[i] = out[i] > 0 ? arriving[i] : 0;
  return 0;
}
"""
relu.kernel("cpu", language="c", dtype="float32", source=C)
relu_grad.kernel("cpu", language="c", dtype="float32", source=C)
'''

CUDA = """

@relu.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("y"))
def relu_cuda(x, y):  # a parameter named after an output is a buffer to fill
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 0 if x[i] < 0 else x[i]


@relu_grad.kernel("cuda", language="numba", launch=opsdk.launch.elementwise("dx"))
def relu_grad_cuda(y, dy, dx):
    i = cuda.grid(1)
    if i < dx.size:
        dx[i] = dy[i] if y[i] > 0 else 0
"""

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


def relu(languages: Collection[str]) -> str:
    """Returns the right ReLU: the NumPy pair, the expression, and of `c` and `cuda` those among `languages`."""
    parts = [HEAD, "from numba import cuda\n" if "cuda" in languages else "", PAIR]
    return "".join([*parts, C if "c" in languages else "", CUDA if "cuda" in languages else ""])


def write(folder: Path, languages: Collection[str]) -> tuple[Path, Path]:
    """Writes both files into a folder, which is made where it does not exist; returns the right and the wrong one."""
    folder.mkdir(parents=True, exist_ok=True)
    right, wrong = folder / "relu.py", folder / "relu_wrong.py"
    right.write_text(relu(languages), encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")
    return right, wrong


def missing_languages() -> dict[str, str]:
    """Returns what cannot run here, `c` or `cuda`, with the reason; every other way needs only what opsdk needs."""
    missing = {}
    try:
        find_compiler("opsdk demo")
    except CompileError as error:
        missing["c"] = str(error).partition(": ")[2]
    try:  # numba.cuda of Numba itself or of the package numba-cuda; it is not tried
        has_cuda = find_spec("numba.cuda") is not None
    except (ImportError, ValueError):  # there is no Numba, or something stands in its place
        has_cuda = False
    if not has_cuda:
        missing["cuda"] = 'found no numba.cuda; pip install "opsdk[cuda]"'
    return missing
