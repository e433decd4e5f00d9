"""Backwards that are right although a plain checker may doubt them: (name, forward, vjp, inputs, options)."""

from __future__ import annotations

from typing import Any

import numpy as np

_DRAW = np.random.default_rng(21)
X = _DRAW.normal(size=(4, 6))
KINKED = np.array([0.0, 1.0, -1.0, 3e-7, -3e-7, 0.0])

Case = tuple[str, Any, Any, tuple[Any, ...], dict[str, Any]]  # Any: the subjects are plain NumPy functions


def _relu(x: Any) -> Any:
    return np.maximum(x, 0)


def _relu_with(convention: float) -> Any:
    return lambda i, o, c: (c[0] * np.where(i[0] == 0, convention, i[0] > 0),)


def _first_maximum(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    gradient[np.argmax(inputs[0])] = cotangents[0]
    return (gradient,)


def _split_maximum(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    hit = inputs[0] == outputs[0]
    return (cotangents[0] * hit / hit.sum(),)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _softmax_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    y, dy = outputs[0], cotangents[0]
    return (y * (dy - (dy * y).sum(-1, keepdims=True)),)


def _sort_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    gradient[np.argsort(inputs[0], kind="stable")] = cotangents[0]
    return (gradient,)


def _clip(x: Any) -> Any:
    return np.clip(x, 0, 1)


def _norm(x: Any) -> Any:
    return np.sqrt((x * x).sum())


def _layer_norm(x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def _layer_norm_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x,), (y,), (dy,) = inputs, outputs, cotangents
    scale = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (scale * (dy - dy.mean(-1, keepdims=True) - y * (dy * y).mean(-1, keepdims=True)),)


def _gather_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    np.add.at(gradient, inputs[1], cotangents[0])
    return gradient, None


def _sin_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def _cube_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (3 * inputs[0] ** 2 * cotangents[0],)


def _exp_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * outputs[0],)


THREE = np.array([0.3, -1.2, 2.0])

RIGHT: list[Case] = [
    ("relu at 0, convention 0", _relu, _relu_with(0.0), (KINKED,), {}),
    ("relu at 0, convention 1/2", _relu, _relu_with(0.5), (KINKED,), {}),
    ("relu at 0, convention 1", _relu, _relu_with(1.0), (KINKED,), {}),
    ("abs at 0", np.abs, lambda i, o, c: (c[0] * np.sign(i[0]),), (KINKED,), {}),
    ("max, first wins", lambda x: x.max(), _first_maximum, (np.array([1.0, 3, 3, 2]),), {}),
    ("max, split", lambda x: x.max(), _split_maximum, (np.array([1.0, 3, 3, 2]),), {}),
    ("sort with ties", np.sort, _sort_vjp, (np.array([3.0, 1, 1, 2]),), {}),
    (
        "clip at its edges",
        _clip,
        lambda i, o, c: (c[0] * ((i[0] >= 0) & (i[0] <= 1)),),
        (np.array([0.0, 1, 0.5, 2]),),
        {},
    ),
    ("exp far apart", np.exp, _exp_vjp, (np.array([-100.0, 0, 13]),), {}),
    ("log near 0", np.log, lambda i, o, c: (c[0] / i[0],), (np.array([1e-3, 1e-5, 100.0]),), {}),
    ("large offset", lambda x: 1e8 + np.sin(x), _sin_vjp, (X,), {}),
    ("hidden large offset", lambda x: (1e8 + np.sin(x)) - 1e8, _sin_vjp, (X,), {}),
    ("float32 sin", np.sin, _sin_vjp, (THREE.astype(np.float32),), {}),
    ("float32 exp", np.exp, _exp_vjp, (THREE.astype(np.float32),), {}),
    ("float32 cube", lambda x: x**3, _cube_vjp, (THREE.astype(np.float32),), {}),
    ("float16 sin", np.sin, _sin_vjp, (THREE.astype(np.float16),), {}),
    (
        "float32 only inside",
        lambda x: np.sin(x.astype(np.float32)),
        lambda i, o, c: ((c[0] * np.cos(i[0].astype(np.float32))).astype(i[0].dtype),),
        (X,),
        {},
    ),
    ("broadcast add", lambda x, b: x + b, lambda i, o, c: (c[0].copy(), c[0].sum(0)), (X, X[0]), {}),
    (
        "broadcast mul",
        lambda x, b: x * b,
        lambda i, o, c: (c[0] * i[1], (c[0] * i[0]).sum(1, keepdims=True)),
        (X, X[:, :1]),
        {},
    ),
    ("matmul", lambda a, b: a @ b, lambda i, o, c: (c[0] @ i[1].T, i[0].T @ c[0]), (X, X.T.copy()), {}),
    ("0-d", np.sin, _sin_vjp, (np.array(0.7),), {}),
    ("python scalar", lambda x, a: x * a, lambda i, o, c: (c[0] * i[1], (c[0] * i[0]).sum()), (X, 2.5), {}),
    ("size 0", np.sin, _sin_vjp, (np.zeros((0, 3)),), {}),
    (
        "sum of size 0",
        lambda x: x.sum(0),
        lambda i, o, c: (np.broadcast_to(c[0], i[0].shape).copy(),),
        (np.zeros((0, 3)),),
        {},
    ),
    (
        "two outputs",
        lambda x: (np.sin(x), x.sum()),
        lambda i, o, c: (c[0] * np.cos(i[0]) + c[1],),
        (X,),
        {},
    ),
    ("integer input", lambda x, n: x[n], _gather_vjp, (X, np.array([0, 2, 2])), {}),
    ("integer output", lambda x: (x.max(), x.argmax()), _first_maximum, (X[0].copy(),), {}),
    (
        "sqrt near the edge",
        np.sqrt,
        lambda i, o, c: (c[0] / (2 * o[0]),),
        (np.array([1e-9, 0.5, 4]),),
        {"domain": (0, np.inf)},
    ),
    (
        "sqrt at the edge",
        np.sqrt,
        lambda i, o, c: (c[0] / (2 * o[0]),),
        (np.array([0.0, 1e-12, 4]),),
        {"domain": (0, np.inf)},
    ),
    (
        "arcsin at the edge",
        np.arcsin,
        lambda i, o, c: (c[0] / np.sqrt(1 - i[0] ** 2),),
        (np.array([0.5, 0.999, -0.9999]),),
        {},
    ),
    ("norm", _norm, lambda i, o, c: (c[0] * i[0] / o[0],), (X,), {}),
    ("softmax", _softmax, _softmax_vjp, (X,), {}),
    ("saturated softmax", _softmax, _softmax_vjp, (X * 100,), {}),
    ("layer norm", _layer_norm, _layer_norm_vjp, (X,), {}),
    ("high frequency", lambda x: np.sin(50 * x), lambda i, o, c: (50 * c[0] * np.cos(50 * i[0]),), (X,), {}),
    ("tiny inputs", np.exp, _exp_vjp, (X * 1e-9,), {}),
    ("huge inputs", lambda x: x * x, lambda i, o, c: (2 * c[0] * i[0],), (X * 1e100,), {}),
    ("constant", lambda x: np.ones(3), lambda i, o, c: (np.zeros_like(i[0]),), (X,), {}),
    ("floor", np.floor, lambda i, o, c: (np.zeros_like(i[0]),), (X * 3,), {}),
    ("log with NaN outputs", np.log, lambda i, o, c: (c[0] / i[0],), (X,), {}),
    (
        "view allowed",
        lambda x: x.reshape(-1),
        lambda i, o, c: (c[0].reshape(i[0].shape),),
        (X,),
        {"alias_ok": ("output", "cotangent")},
    ),
    (
        "declared",
        lambda x, t: x * (t > 0),
        lambda i, o, c: (c[0] * (i[1] > 0), None),
        (X, X + 0.1),
        {"nondifferentiable": ("t",)},
    ),
    (
        "cumulative sum of 300",
        np.cumsum,
        lambda i, o, c: (np.cumsum(c[0][::-1])[::-1].copy(),),
        (_DRAW.normal(size=300),),
        {},
    ),
]
