"""Wrong pairs as they are met in practice, which must all be found: (name, forward, vjp, inputs).

They are small, and each is right nearly everywhere: at other values, at other sizes, in other calls, for other
cotangents or in another memory than the fault needs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.gradcheck.right_ops import normal

X = normal(3, 4)
SQUARE = normal(3, 3)
ROW = normal(6)
POSITIVE = np.abs(normal(3, 4)) + 0.5
TIED = np.array([1.0, 2.0, 3.0])
COMPLEX = normal(4) + 1j * normal(4)


def unary(rule: Callable[[Any, Any, Any], Any]) -> Any:
    """Gives the vjp of one input whose gradient is `rule(x, y, dy)`."""
    return lambda i, o, c: (rule(i[0], o[0], c[0]),)


def _sinc(x: Any) -> Any:
    return np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x))


def _sinc_slope(x: Any, y: Any, dy: Any) -> Any:
    safe = np.where(x == 0, 1.0, x)
    return dy * np.where(x == 0, 1.0, (np.cos(safe) - np.sin(safe) / safe) / safe)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _layer_norm_short(x: Any, y: Any, dy: Any) -> Any:
    return (dy - dy.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _taken(i: Any, o: Any, c: Any) -> Any:
    gradient = np.zeros_like(i[0])
    gradient[i[1]] = c[0]
    return gradient, None


def _without_padding(i: Any, o: Any, c: Any) -> Any:
    gradient = np.zeros_like(i[0])
    np.add.at(gradient, i[1], c[0])
    gradient[0] = 0
    return gradient, None


def _reflected_as_symmetric(x: Any, y: Any, dy: Any) -> Any:
    gradient = dy[2:-2].copy()
    gradient[:2] += dy[:2][::-1]
    gradient[-2:] += dy[-2:][::-1]
    return gradient


def _root(a: Any) -> Any:
    x = np.full_like(a, 1.5)
    for _ in range(40):
        x = x - (x**3 + x - a) / (3 * x * x + 1)
    return x


def _fixed_point(a: Any) -> Any:
    z = np.zeros_like(a)
    for _ in range(100):
        z = np.tanh(0.5 * z + a)
    return z


def _few_steps(x: Any, y: Any, dy: Any) -> Any:
    slope, adjoint = 1 - y**2, np.zeros_like(dy)
    for _ in range(20):
        adjoint = dy + 0.5 * slope * adjoint
    return slope * adjoint


def _by_column(i: Any, o: Any, c: Any) -> Any:
    return c[0] @ i[1].T, i[0].T @ c[0] * (2 if c[0].shape[1] == 1 else 1)


def _tail(length: int) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        whole = x.size // length * length if x.size >= length else x.size
        return dy * np.cos(x) * (np.arange(x.size) < whole).reshape(x.shape)

    return unary(rule)


def _after(calls: int) -> Any:
    counter = itertools.count()
    return unary(lambda x, y, dy: dy * np.cos(x) * (1.5 if next(counter) >= calls else 1.0))


class _FirstCallOnly:
    """Wrong once in its life; who judges it again copies it before, as a deep copy of a function is no copy."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        self.calls += 1
        return (cotangents[0] * np.cos(inputs[0]) * (2.0 if self.calls == 1 else 1.0),)


def _second_call_zero() -> Any:
    counter = itertools.count()
    return unary(lambda x, y, dy: dy * np.cos(x) * (0.0 if next(counter) else 1.0))


def _kept_by(key: Callable[[Any], Any]) -> Any:
    kept: dict[Any, Any] = {}
    return unary(lambda x, y, dy: dy * kept.setdefault(key(x), np.cos(x)))


class _Kept:
    """Keeps what the first forward saw."""

    def __init__(self) -> None:
        self.slopes: dict[Any, Any] = {}

    def forward(self, x: Any) -> Any:
        self.slopes.setdefault(x.shape, np.cos(x))
        return np.sin(x)

    def vjp(self, i: Any, o: Any, c: Any) -> Any:
        return (c[0] * self.slopes[i[0].shape],)


def _pair(kept: _Kept) -> Any:
    return kept.forward, kept.vjp


@functools.cache
def _twice(shape: Any) -> Any:
    return np.empty(shape)


def _kept_buffer(x: Any, y: Any, dy: Any) -> Any:
    return np.multiply(dy, np.cos(x), out=_twice(x.shape))


def _same_outputs(x: Any) -> Any:
    y = np.sin(x)
    return y, y


def _overlapping_outputs(x: Any) -> Any:
    y = np.sin(x)
    return y, y[:2]


def _overlapping_vjp(i: Any, o: Any, c: Any) -> Any:
    total = c[0].copy()
    total[:2] += c[1]
    return (total * np.cos(i[0]),)


def _restored(x: Any, y: Any, dy: Any) -> Any:
    x += 1.0
    x -= 1.0
    return dy * np.cos(x)


def _short_if_negative(x: Any) -> Any:
    return np.sin(x) if x.flat[:1].sum() > 0 else np.sin(x).astype(np.float32)


VALUES = [
    ("zero where x is 0", lambda x: x**2 + x, unary(lambda x, y, dy: dy * np.where(x == 0, 0.0, 2 * x + 1)), (X,)),
    ("sinc with a slope at 0", _sinc, unary(_sinc_slope), (X,)),
    ("ReLU of slope 2 at 0", lambda x: np.maximum(x, 0), unary(lambda x, y, dy: dy * np.where(x == 0, 2.0, x > 0)),
     (X,)),
    ("product zero at 0", np.prod,
     unary(lambda x, y, dy: dy * np.where(x == 0, 0.0, y / np.where(x == 0, 1.0, x))), (POSITIVE[0],)),
    ("a tie between inputs counted twice", np.maximum,
     lambda i, o, c: (c[0] * (i[0] >= i[1]), c[0] * (i[1] >= i[0])), (X, normal(3, 4))),
    ("a tie between inputs not counted", np.minimum,
     lambda i, o, c: (c[0] * (i[0] < i[1]), c[0] * (i[1] < i[0])), (X, normal(3, 4))),
    ("a tie in given inputs counted twice", np.maximum,
     lambda i, o, c: (c[0] * (i[0] >= i[1]), c[0] * (i[1] >= i[0])), (TIED, np.array([1.0, 3.0, 3.0]))),
    ("all ties of a maximum", lambda x: x.max(axis=1),
     unary(lambda x, y, dy: dy[:, None] * (x == x.max(axis=1, keepdims=True))), (X,)),
    ("saturated beyond 3", np.tanh, unary(lambda x, y, dy: dy * np.where(np.abs(x) > 3, 0.0, 1 - y**2)), (X,)),
    ("two parts in 1e8", np.sin, unary(lambda x, y, dy: dy * np.cos(x) * (1 + 2e-8)), (X,)),
    ("a constant of 1e-6", np.exp, unary(lambda x, y, dy: dy * y + 1e-6), (X,)),
]  # fmt: skip

FORMULAS = [
    ("transpose of a symmetric matrix", lambda x: x @ x, unary(lambda x, y, dy: dy @ x + x @ dy), (SQUARE + SQUARE.T,)),
    ("inverse, on a symmetric matrix", np.linalg.inv, unary(lambda x, y, dy: -y @ dy @ y),
     (SQUARE @ SQUARE.T + 3 * np.eye(3),)),
    ("absolute determinant", lambda x: np.linalg.det(x + np.diag([4.0, -4.0, 4.0])),
     unary(lambda x, y, dy: dy * np.abs(y) * np.linalg.inv(x + np.diag([4.0, -4.0, 4.0])).T), (SQUARE,)),
    ("softmax summed over all", _softmax, unary(lambda x, y, dy: y * (dy - (dy * y).sum())), (X,)),
    ("layer norm without its second term", _layer_norm, unary(_layer_norm_short), (X,)),
    ("duplicate indices overwrite", lambda x, k: x[k], _taken, (normal(5, 2), np.array([0, 2, 2, 4]))),
    ("the padding row zeroed", lambda x, k: x[k], _without_padding, (normal(5, 2), np.array([0, 2, 2, 4]))),
    ("reflected padding as symmetric", lambda x: np.pad(x, 2, mode="reflect"), unary(_reflected_as_symmetric), (ROW,)),
    ("a permutation not inverted", lambda x: x[[1, 2, 0]], unary(lambda x, y, dy: dy[[1, 2, 0]]), (SQUARE,)),
    ("axes flipped instead of one", lambda x: np.flip(x, 0).copy(), unary(lambda x, y, dy: np.flip(dy, 1).copy()),
     (SQUARE,)),
    ("Newton without the inner derivative", _root, unary(lambda x, y, dy: dy / (3 * y * y)), (POSITIVE[0],)),
    ("an adjoint that has not converged", _fixed_point, unary(_few_steps), (X[0],)),
    ("the second output's sign", lambda x: (np.sin(x), np.cos(x)),
     lambda i, o, c: (c[0] * np.cos(i[0]) + c[1] * np.sin(i[0]),), (X,)),
    ("product of complex numbers, not conjugated", np.square, unary(lambda x, y, dy: 2 * dy * x), (COMPLEX,)),
    ("a straight-through rounding", np.round, unary(lambda x, y, dy: dy.copy()), (X,)),
]  # fmt: skip

CALLS = [
    ("only the first call is wrong", np.sin, _FirstCallOnly(), (X,)),
    ("right in the first call alone", np.sin, _after(1), (X,)),
    ("right in three calls", np.sin, _after(3), (X,)),
    ("zero from the second call on", np.sin, _second_call_zero(), (X,)),
    ("kept by identity", np.sin, _kept_by(lambda x: (id(x), x.shape)), (X,)),
    ("kept by address", np.sin, _kept_by(lambda x: (x.ctypes.data, x.shape)), (X,)),
    ("kept by shape", np.sin, _kept_by(lambda x: x.shape), (X,)),
    ("what the first forward saw", *_pair(_Kept()), (X,)),
    ("one gradient buffer per shape", np.sin, unary(_kept_buffer), (X,)),
    ("one array for two outputs", _same_outputs, lambda i, o, c: ((c[0] + c[1]) * np.cos(i[0]),), (X,)),
    ("an output inside another", _overlapping_outputs, _overlapping_vjp, (X,)),
    ("the input changed and restored", np.sin, unary(_restored), (X,)),
    ("a shorter dtype for some values", _short_if_negative, unary(lambda x, y, dy: (dy * np.cos(x)).astype(x.dtype)),
     (POSITIVE,)),
]  # fmt: skip

COTANGENTS_AND_SIZES = [
    ("a cotangent all negative", np.sin,
     unary(lambda x, y, dy: np.cos(x) * (dy if (dy >= 0).any() or not dy.size else -dy)), (X,)),
    ("cotangents below 1e-28 dropped", np.sin,
     unary(lambda x, y, dy: np.cos(x) * np.where(np.abs(dy) < 1e-28, 0.0, dy)), (X,)),
    ("ones alone are right", np.sin, unary(lambda x, y, dy: np.cos(x) * dy * (1.0 if (dy == 1).all() else 1.0001)),
     (X,)),
    ("whole blocks of 64", np.sin, _tail(64), (normal(64),)),
    ("nothing beyond 64", np.sin, unary(lambda x, y, dy: dy * np.cos(x) * (np.arange(x.size) < 64)), (normal(8),)),
    ("even lengths", np.sin, unary(lambda x, y, dy: dy * np.cos(x) * (2 - x.size % 2)), (normal(5),)),
    ("a single column", np.matmul, _by_column, (X, normal(4, 2))),
]  # fmt: skip

MET_IN_PRACTICE = [*VALUES, *FORMULAS, *CALLS, *COTANGENTS_AND_SIZES]
