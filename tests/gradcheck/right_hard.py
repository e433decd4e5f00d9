"""More right-but-hard backwards: values that are not finite, flat tails, staircases, masks and extreme scales."""

from __future__ import annotations

from typing import Any

import numpy as np

_DRAW = np.random.default_rng(77)
MASK = np.array([True, False, True])
ROWS = _DRAW.normal(size=(4, 6))
KEPT = _DRAW.random((4, 6)) > 0.4
KEPT[:, 0] = True
FAR = np.array([-40.0, -37.0, -36.0, -30.0, -25.0, 20.0, 30.0, 37.0, 40.0])
HOLES = ROWS.copy()
HOLES[2, 3] = np.nan
LOGS = ROWS.copy()
LOGS[2, 3] = LOGS[0, 0] = LOGS[0, 1] = -np.inf
INFINITE = _DRAW.normal(size=(4, 5))
INFINITE[1, 2] = np.inf
BROKEN = INFINITE.copy()
BROKEN[1, 2] = np.nan
POSITIONS = np.array([0, 4, 4, 2])

Case = tuple[str, Any, Any, tuple[Any, ...], dict[str, Any]]  # Any: the subjects are plain NumPy functions


def _where(x: Any) -> Any:
    return np.where(MASK, x, x.dtype.type(0))


def _where_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.where(MASK, cotangents[0], cotangents[0].dtype.type(0)),)


def _reciprocal(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] / inputs[0],)


def _quotient(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    a, b = inputs
    return cotangents[0] / b, -cotangents[0] * a / b**2


def _zero(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.zeros_like(inputs[0]),)


def _matmul_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return cotangents[0] @ inputs[1].T, inputs[0].T @ cotangents[0]


def _cumsum_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.cumsum(cotangents[0][::-1])[::-1].copy(),)


def _logsumexp(x: Any) -> Any:
    top = x.max(-1, keepdims=True)
    return (top + np.log(np.exp(x - top).sum(-1, keepdims=True)))[..., 0]


def _logsumexp_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0][..., None] * np.exp(inputs[0] - outputs[0][..., None]),)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _softmax_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    y, dy = outputs[0], cotangents[0]
    return (y * (dy - (dy * y).sum(-1, keepdims=True)),)


def _masked_softmax(x: Any, kept: Any) -> Any:
    return _softmax(np.where(kept, x, -np.inf))


def _masked_softmax_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (*_softmax_vjp(inputs, outputs, cotangents), None)


def _masked_mean(x: Any, kept: Any) -> Any:
    return (x * kept).sum(-1) / kept.sum(-1)


def _masked_mean_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    kept = inputs[1]
    return cotangents[0][:, None] * kept / kept.sum(-1, keepdims=True), None


def _nansum_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.where(np.isnan(inputs[0]), 0.0, 2 * inputs[0] * cotangents[0]),)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _sigmoid_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    e = np.exp(-np.abs(inputs[0]))
    return (cotangents[0] * e / (1 + e) ** 2,)


def _tanh_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] / np.cosh(inputs[0]) ** 2,)


def _mish(x: Any) -> Any:
    return x * np.tanh(np.log(1 + np.exp(x)))


def _mish_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x,) = inputs
    soft = np.logaddexp(x, 0)
    return (cotangents[0] * (np.tanh(soft) + x * _sigmoid(x) / np.cosh(soft) ** 2),)


def _softplus_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * _sigmoid(inputs[0]),)


def _log_cosh(x: Any) -> Any:
    return np.log(np.cosh(x))


def _log_cosh_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.tanh(inputs[0]),)


def _square_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (2 * cotangents[0] * inputs[0],)


def _product_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return cotangents[0] * inputs[1], cotangents[0] * inputs[0]


def _sort_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    gradient[np.argsort(inputs[0], kind="stable")] = cotangents[0]
    return (gradient,)


def _one_hot(x: Any, n: Any) -> Any:
    return np.eye(5)[n] @ x


def _one_hot_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return np.eye(5)[inputs[1]].T @ cotangents[0], None


def _along(x: Any, n: Any) -> Any:
    return np.take_along_axis(x, n[:, None], 1)[:, 0]


def _along_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return np.eye(6)[inputs[1] % 6] * cotangents[0][:, None], None


HARD: list[Case] = [
    ("nan that is not taken", _where, _where_vjp, (np.array([1.0, np.nan, 2.0]),), {}),
    ("nan that is taken", _where, _where_vjp, (np.array([np.nan, 1.0, 2.0]),), {}),
    ("nan that is not taken, float32", _where, _where_vjp, (np.array([1, np.nan, 2], np.float32),), {}),
    ("log at 0", np.log, _reciprocal, (np.array([0.0, 1.0, 2.0]),), {}),
    ("log at 0, float32", np.log, _reciprocal, (np.array([0, 1, 2], np.float32),), {}),
    ("sqrt of -1", np.sqrt, lambda i, o, c: (c[0] / (2 * o[0]),), (np.array([-1.0, 4.0, -2.0, 9.0]),), {}),
    ("one zero divisor", np.divide, _quotient, (np.array([1.0, 2, 3]), np.array([1.0, 0, 2])), {}),
    ("cumsum to a nan", np.cumsum, _cumsum_vjp, (np.array([1.0, 2, 3, np.nan, 4]),), {}),
    ("matmul with inf", lambda a, b: a @ b, _matmul_vjp, (INFINITE, ROWS[:, :5].T.copy()), {}),
    ("matmul with nan", lambda a, b: a @ b, _matmul_vjp, (BROKEN, ROWS[:, :5].T.copy()), {}),
    ("softmax with a nan row", _softmax, _softmax_vjp, (HOLES,), {}),
    ("nansum", lambda x: np.nansum(x * x, 0), _nansum_vjp, (HOLES,), {}),
    ("logsumexp with -inf", _logsumexp, _logsumexp_vjp, (LOGS,), {}),
    ("masked softmax", _masked_softmax, _masked_softmax_vjp, (ROWS, KEPT), {}),
    ("masked mean", _masked_mean, _masked_mean_vjp, (ROWS, KEPT), {}),
    ("tanh far out", np.tanh, _tanh_vjp, (FAR,), {}),
    ("sigmoid far out", _sigmoid, _sigmoid_vjp, (FAR,), {}),
    ("sigmoid at -40, 0-d", _sigmoid, _sigmoid_vjp, (np.array(-40.0),), {}),
    ("mish far out", _mish, _mish_vjp, (FAR,), {}),
    ("mish at -37", _mish, _mish_vjp, (np.array([-37.0]),), {}),
    ("naive softplus far out", lambda x: np.log(1 + np.exp(x)), _softplus_vjp, (FAR,), {}),
    ("round of 1e5", np.round, _zero, (ROWS * 1e5,), {}),
    ("round of 1e3", np.round, _zero, (ROWS * 1e3,), {}),
    ("log cosh near 0", _log_cosh, _log_cosh_vjp, (_DRAW.normal(size=37) * 1e-7,), {}),
    ("log cosh at 1e-5", _log_cosh, _log_cosh_vjp, (_DRAW.normal(size=5) * 1e-5,), {}),
    ("one-hot gather", _one_hot, _one_hot_vjp, (_DRAW.normal(size=(5, 3)), POSITIONS), {}),
    ("take along an axis", _along, _along_vjp, (ROWS, POSITIONS), {}),
    ("sort of distinct values", np.sort, _sort_vjp, (_DRAW.permutation(20) * 1.0,), {}),
    ("sort of distinct float32", np.sort, _sort_vjp, (_DRAW.permutation(20).astype(np.float32),), {}),
    ("square at 1e-150", np.square, _square_vjp, (ROWS * 1e-150,), {}),
    ("square at 1e150", np.square, _square_vjp, (ROWS * 1e150,), {}),
    ("product of 1e-150 and 1e150", np.multiply, _product_vjp, (ROWS * 1e-150, ROWS[::-1] * 1e150), {}),
    ("float32 softmax", _softmax, _softmax_vjp, (ROWS.astype(np.float32),), {}),
    ("float32 matmul", np.matmul, _matmul_vjp, (ROWS.astype(np.float32), ROWS.T.astype(np.float32)), {}),
    ("float32 tanh far out", np.tanh, _tanh_vjp, (FAR.astype(np.float32),), {}),
]
