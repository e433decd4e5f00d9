"""Backwards that are wrong, each in one way: (name, forward, vjp, inputs)."""

from __future__ import annotations

from typing import Any

import numpy as np

_DRAW = np.random.default_rng(20)
X = _DRAW.normal(size=(4, 6))
SQUARE = _DRAW.normal(size=(4, 4))
LONG = _DRAW.normal(size=500)

Case = tuple[str, Any, Any, tuple[Any, ...]]  # Any: the subjects are plain NumPy functions of every signature


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _mutating_forward(x: Any) -> Any:
    y = np.sin(x)
    x *= 1 + 1e-6
    return y


def _mutating_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] * np.cos(inputs[0])
    cotangents[0][...] = 0
    return (gradient,)


class _Stale:
    """Keeps the input of the last forward instead of using vjp's arguments."""

    def forward(self, x: Any) -> Any:
        self.kept = x.copy()
        return x * x

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (2 * self.kept * cotangents[0],)


class _Counter:
    """Is right on the first call only."""

    calls = 0

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        self.calls += 1
        return (cotangents[0] * np.cos(inputs[0]) * (1 + 1e-3 * self.calls),)


def _memory_order(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    flat = cotangents[0].ravel(order="K").reshape(cotangents[0].shape)
    return (flat * np.cos(inputs[0]),)


def _last_wrong(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] * np.cos(inputs[0])
    gradient.flat[-1] = 0
    return (gradient,)


def _middle_wrong(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.cumsum(cotangents[0][::-1])[::-1].copy()
    gradient[237] *= 1.01
    return (gradient,)


def _threshold(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    dy = np.where(np.abs(cotangents[0]) < 1e-6, 0, cotangents[0])
    return (dy * np.cos(inputs[0]),)


def _tied_max(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * (inputs[0] == outputs[0]),)


_stale, _counter = _Stale(), _Counter()

WRONG: list[Case] = [
    ("factor 2", np.sin, lambda i, o, c: (2 * c[0] * np.cos(i[0]),), (X,)),
    ("sign", np.cos, lambda i, o, c: (c[0] * np.sin(i[0]),), (X,)),
    ("relative error 1e-6", np.sin, lambda i, o, c: (c[0] * np.cos(i[0]) * (1 + 1e-6),), (X,)),
    ("relative error 1e-8", np.exp, lambda i, o, c: (c[0] * o[0] * (1 + 1e-8),), (X,)),
    ("absolute error 1e-2", lambda x: x + 0, lambda i, o, c: (c[0] + 1e-2,), (np.ones((2, 2)),)),
    (
        "transposed",
        lambda a, b: a @ b,
        lambda i, o, c: ((c[0] @ i[1].T).T, i[0].T @ c[0]),
        (SQUARE, SQUARE[::-1].copy()),
    ),
    ("ignores the cotangent", np.sin, lambda i, o, c: (np.cos(i[0]),), (X,)),
    ("uses |dy|", np.sin, lambda i, o, c: (np.abs(c[0]) * np.cos(i[0]),), (X,)),
    ("wrong for x < 0", np.square, lambda i, o, c: (c[0] * 2 * np.abs(i[0]),), (X,)),
    ("wrong for x < 0, inputs positive", np.square, lambda i, o, c: (c[0] * 2 * np.abs(i[0]),), (np.abs(X),)),
    ("relu of the output's sign", _relu, lambda i, o, c: (c[0] * (o[0] >= 0),), (X,)),
    ("broadcast not reduced", lambda x, b: x + b, lambda i, o, c: (c[0].copy(), c[0].copy()), (X, X[0])),
    ("broadcast reduced by mean", lambda x, b: x + b, lambda i, o, c: (c[0].copy(), c[0].mean(0)), (X, X[0])),
    ("swapped inputs", lambda a, b: a * b, lambda i, o, c: (c[0] * i[0], c[0] * i[1]), (X, X + 1)),
    ("last element", np.sin, _last_wrong, (X,)),
    ("one element of 500", np.cumsum, _middle_wrong, (LONG,)),
    ("forward changes its input", _mutating_forward, lambda i, o, c: (c[0] * np.cos(i[0]),), (X,)),
    ("vjp changes its cotangent", np.sin, _mutating_vjp, (X,)),
    ("returns the cotangent", lambda x: x + 1, lambda i, o, c: (c[0],), (X,)),
    ("returns one array twice", lambda a, b: a + b, lambda i, o, c: (c[0] + 0,) * 2, (X, X)),
    ("forward returns its input", lambda x: x, lambda i, o, c: (c[0].copy(),), (X,)),
    ("stateful counter", np.sin, _counter.vjp, (X,)),
    ("stale saved value", _stale.forward, _stale.vjp, (X,)),
    ("float32 inside", np.exp, lambda i, o, c: ((c[0] * np.exp(i[0].astype(np.float32))).astype(np.float64),), (X,)),
    ("float32 result", np.sin, lambda i, o, c: ((c[0] * np.cos(i[0])).astype(np.float32),), (X,)),
    ("float64 for float32", np.sin, lambda i, o, c: (c[0] * np.cos(i[0].astype(np.float64)),), (X.astype(np.float32),)),
    ("too many gradients", np.sin, lambda i, o, c: (c[0] * np.cos(i[0]), None), (X,)),
    ("None undeclared", lambda a, b: a * b, lambda i, o, c: (c[0] * i[1], None), (X, X)),
    ("gradient of an integer", lambda x, n: x * n, lambda i, o, c: (c[0] * i[1], c[0] * i[0]), (X, np.full((4, 6), 3))),
    ("memory order", np.sin, _memory_order, (X,)),
    ("small cotangents dropped", np.sin, _threshold, (X,)),
    ("tied maxima counted twice", lambda x: x.max(), _tied_max, (np.array([1.0, 3.0, 3.0, 2.0]),)),
    ("raises", np.sin, lambda i, o, c: (c[0] @ np.zeros((9, 9)),), (X,)),
    ("NaN", np.sin, lambda i, o, c: (c[0] * np.nan,), (X,)),
    ("wrong shape", np.sin, lambda i, o, c: ((c[0] * np.cos(i[0])).ravel(),), (X,)),
    ("straight-through floor", np.floor, lambda i, o, c: (c[0] * 1,), (X * 3,)),
    ("factor in the second output", lambda x: (x + 0, x * x), lambda i, o, c: (c[0] + c[1] * i[0],), (X,)),
]
