"""Elementwise ops in NumPy with `out=`, and copies of as many bytes as an op has to move, on one thread and on all."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from benchmarks.subjects.references import GELU_CUBE, GELU_SCALE
from benchmarks.subjects.tasks import BOTH, FORWARD, TASKS, Copy, Large, copied

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _relu(x, y, s):
    return np.maximum(x, 0, out=y)


def _sigmoid(x, s):
    np.negative(x, out=s)
    np.exp(s, out=s)
    np.add(s, 1, out=s)
    return np.reciprocal(s, out=s)


def _swish(x, y, s):
    return np.multiply(x, _sigmoid(x, s), out=y)


def _softplus(x, y, s):
    return np.logaddexp(x, 0, out=y)


def _mish(x, y, s):
    np.tanh(np.logaddexp(x, 0, out=s), out=s)
    return np.multiply(x, s, out=y)


def _gelu(x, y, s):
    np.multiply(x, x, out=s)
    np.multiply(s, GELU_CUBE, out=s)
    np.add(s, 1, out=s)
    np.multiply(s, x, out=s)
    np.multiply(s, GELU_SCALE, out=s)
    np.tanh(s, out=s)
    np.add(s, 1, out=s)
    np.multiply(s, x, out=s)
    return np.multiply(s, 0.5, out=y)


# The backwards follow a forward: y is its value, s what it left behind. They change dx and t, and return dx.


def _relu_back(x, y, s, dy, dx, t):
    np.greater(x, 0, out=t)
    return np.multiply(t, dy, out=dx)


def _swish_back(x, y, s, dy, dx, t):
    np.subtract(1, s, out=t)  # dy (s + y (1 - s))
    np.multiply(t, y, out=t)
    np.add(t, s, out=t)
    return np.multiply(t, dy, out=dx)


def _softplus_back(x, y, s, dy, dx, t):
    return np.multiply(_sigmoid(x, t), dy, out=dx)


def _mish_back(x, y, s, dy, dx, t):
    np.multiply(s, s, out=dx)  # dy (s + x σ(x) (1 - s²))
    np.subtract(1, dx, out=dx)
    np.multiply(dx, _sigmoid(x, t), out=dx)
    np.multiply(dx, x, out=dx)
    np.add(dx, s, out=dx)
    return np.multiply(dx, dy, out=dx)


def _gelu_back(x, y, s, dy, dx, t):
    np.divide(y, x, out=t)  # (1 + tanh)/2 = c; dy (c + 2 x c (1 - c) inner), inner = scale (1 + 3 cube x²)
    np.multiply(x, x, out=dx)
    np.multiply(dx, 3 * GELU_CUBE, out=dx)
    np.add(dx, 1, out=dx)
    np.multiply(dx, 2 * GELU_SCALE, out=dx)
    np.multiply(dx, y, out=dx)
    np.subtract(1, t, out=s)
    np.multiply(dx, s, out=dx)
    np.add(dx, t, out=dx)
    return np.multiply(dx, dy, out=dx)


FUNCTIONS = {
    "relu": (_relu, _relu_back),
    "swish": (_swish, _swish_back),
    "softplus": (_softplus, _softplus_back),
    "mish": (_mish, _mish_back),
    "gelu": (_gelu, _gelu_back),
}


def _build(task, arrays):
    names = {"x": arrays["x"]}
    names["forward"], names["backward"] = FUNCTIONS[task.op]
    names.update({name: np.zeros_like(arrays["x"]) for name in "ys"})
    if task.has_backward:
        names.update(dy=arrays["dy"], dx=np.zeros_like(arrays["x"]), t=np.zeros_like(arrays["x"]))
    return names


def _result(names):
    value = names["forward"](names["x"], names["y"], names["s"])
    if "dy" not in names:
        return value, ()
    return value, (names["backward"](*[names[name] for name in ("x", "y", "s", "dy", "dx", "t")]),)


def _copier(direction):
    def build(task, arrays):
        source = copied(task, direction, arrays)
        return {"np": np, "source": source, "out": source.copy()}

    return build


def _splitter(direction):
    def build(task, arrays):
        source = copied(task, direction, arrays)
        pieces = list(zip(np.array_split(source.copy(), THREADS), np.array_split(source, THREADS), strict=True))
        pool = ThreadPoolExecutor(THREADS - 1) if THREADS > 1 else None

        def split():
            others = [pool.submit(np.copyto, *piece) for piece in pieces[1:]]
            np.copyto(*pieces[0])
            wait(others)

        return {"split": split}

    return build


_TEXTS = {FORWARD: "forward(x, y, s)", BOTH: "forward(x, y, s); backward(x, y, s, dy, dx, t)"}
SUBJECTS = [
    *(Large("NumPy, out=", task, _build, _TEXTS, _result) for task in TASKS if task.op in FUNCTIONS),
    *(
        Copy(name, task, maker(direction), {direction: statement})
        for task in TASKS
        for direction in task.directions
        for name, maker, statement in (
            ("copy, NumPy", _copier, "np.copyto(out, source)"),
            ("copy, NumPy on all threads", _splitter, "split()"),
        )
    ),
]
VERSION = np.__version__
