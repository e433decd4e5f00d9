"""Families of pairs of which the wrong one is wrong at other sizes than those given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.gradcheck.families import Pair, matmul, normal, unary

# Lengths that no sample of the author has.


def _cos_where(kept: Callable[[Any], Any]) -> Any:
    return unary(lambda x, y, dy: dy * np.cos(x) * np.broadcast_to(kept(x), x.shape))


def _up_to(count: int, axis: int = 0) -> Any:
    def kept(x: Any) -> Any:
        return (np.arange(x.shape[axis]) < count).reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])

    return kept


def _whole_blocks(length: int) -> Any:
    def kept(x: Any) -> Any:
        whole = x.shape[0] // length * length if x.shape[0] >= length else x.shape[0]
        return np.arange(x.shape[0]) < whole

    return kept


_cosine = unary(lambda x, y, dy: dy * np.cos(x))


def _cumsum_short(limit: int) -> Any:
    """Begins again at each block of so many."""

    def rule(x: Any, y: Any, dy: Any) -> Any:
        parts = [np.cumsum(dy[k : k + limit][::-1])[::-1] for k in range(0, len(dy), limit)]
        return np.concatenate(parts) if parts else dy.copy()

    return unary(rule)


def _row_norms(x: Any) -> Any:
    return (x * x).sum(1)


LONG = [
    Pair("blocks of 16 without their rest", np.sin, (normal(9),), _cosine, _cos_where(_whole_blocks(16))),
    Pair("nothing from row 17", np.sin, (normal(3, 4),), _cosine, _cos_where(_up_to(16))),
    Pair("nothing from column 17", np.sin, (normal(3, 4),), _cosine, _cos_where(_up_to(16, 1))),
    Pair("nothing from place 17 of a middle axis", np.sin, (normal(2, 3, 4),), _cosine, _cos_where(_up_to(16, 1))),
    Pair("nothing beyond 128", np.sin, (normal(8),), _cosine, _cos_where(_up_to(128))),
    Pair("nothing beyond 256", np.sin, (normal(8),), _cosine, _cos_where(_up_to(256))),
    Pair("nothing beyond 1024", np.sin, (normal(8),), _cosine, _cos_where(_up_to(1024))),
    Pair("sums of 128 that begin again", np.cumsum, (normal(6),),
         unary(lambda x, y, dy: np.cumsum(dy[::-1])[::-1].copy()), _cumsum_short(128)),
    Pair("a row sum from row 33", _row_norms, (normal(3, 4),), unary(lambda x, y, dy: 2 * x * dy[:, None]),
         unary(lambda x, y, dy: 2 * x * dy[:, None] * _up_to(32)(x))),
    Pair("a row sum from column 129", _row_norms, (normal(3, 4),), None,
         unary(lambda x, y, dy: 2 * x * dy[:, None] * _up_to(128, 1)(x))),
]  # fmt: skip


# An axis of length 1 that grows.

GROWING = [
    Pair("a mean over one row", lambda x: x.mean(0), (normal(1, 4),),
         unary(lambda x, y, dy: np.broadcast_to(dy / len(x), x.shape).copy()),
         unary(lambda x, y, dy: np.broadcast_to(dy, x.shape).copy())),
    Pair("a mean over one row, kept", lambda x: x.mean(0, keepdims=True), (normal(1, 4),),
         unary(lambda x, y, dy: np.broadcast_to(dy / len(x), x.shape).copy()),
         unary(lambda x, y, dy: dy + 0 * x)),
    Pair("one batch", lambda x: x.sum(1), (normal(1, 3),),
         unary(lambda x, y, dy: np.repeat(dy[:, None], x.shape[1], 1)),
         unary(lambda x, y, dy: np.broadcast_to(dy[0] if dy.size else 0.0, x.shape).copy())),
    Pair("one column of weights", np.matmul, (normal(3, 4), normal(4, 1)), matmul,
         lambda i, o, c: (c[0][:, :1] * i[1][:, 0], i[0].T @ c[0])),
    Pair("one row and one column", np.matmul, (normal(1, 3), normal(3, 1)), matmul,
         lambda i, o, c: (c[0] @ i[1].T, i[0].T @ c[0] * (1 if len(i[0]) == 1 else 2))),
    Pair("a single element", lambda x: x - x.mean(), (normal(1),), unary(lambda x, y, dy: dy - dy.mean()),
         unary(lambda x, y, dy: np.zeros_like(x))),
    Pair("one channel, flattened", lambda x: np.square(x).ravel(), (normal(1, 3),),
         unary(lambda x, y, dy: 2 * x * dy.reshape(x.shape)),
         unary(lambda x, y, dy: 2 * x * dy.reshape(x.shape[::-1]).T)),
    Pair("one row of a bias", lambda x, b: x + b, (normal(3, 4), normal(1, 4)),
         lambda i, o, c: (c[0].copy(), c[0].copy() if len(i[1]) == len(c[0]) else c[0].sum(0, keepdims=True)),
         lambda i, o, c: (c[0].copy(), np.broadcast_to(c[0].sum(0, keepdims=True), i[1].shape).copy())),
]  # fmt: skip


# Two lengths that happen to be equal.


def _reduced(axis_of: Any) -> Any:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return c[0].copy(), c[0].sum(axis=axis_of(i))

    return vjp


def _outer_short(i: Any, o: Any, c: Any) -> Any:
    return (c[0] @ i[1], c[0] @ i[0]) if c[0].shape[0] == c[0].shape[1] else (c[0] @ i[1], c[0].T @ i[0])


EQUAL_LENGTHS = [
    Pair("a bias of a column, found by its length", lambda x, b: x + b[:, None], (normal(3, 4), normal(3)),
         _reduced(lambda i: 1), _reduced(lambda i: 0 if i[0].shape[1] == i[1].size else 1)),
    Pair("a product transposed where square", np.matmul, (normal(3, 4), normal(4, 2)), matmul,
         lambda i, o, c: (c[0] @ i[1].T, i[0].T @ (c[0].T if c[0].shape[0] == c[0].shape[1] else c[0]))),
    Pair("an outer product where square", lambda a, b: np.outer(a, b), (normal(3), normal(4)),
         lambda i, o, c: (c[0] @ i[1], c[0].T @ i[0]), _outer_short),
    Pair("a sum over the first axis where square", lambda x: np.square(x).sum(0), (normal(3, 5),),
         unary(lambda x, y, dy: 2 * x * dy),
         unary(lambda x, y, dy: 2 * x * (dy if x.shape[0] != x.shape[1] else dy[:, None]))),
    Pair("the outer two of three equal", lambda x: x.transpose(2, 1, 0) ** 2, (normal(2, 3, 4),),
         unary(lambda x, y, dy: 2 * x * dy.transpose(2, 1, 0)),
         unary(lambda x, y, dy: 2 * x * (dy if x.shape[0] == x.shape[2] else dy.transpose(2, 1, 0)))),
    Pair("an input as long as another", lambda x, w: x.sum() * w, (normal(3), normal(5)),
         lambda i, o, c: (np.full(i[0].shape, (c[0] * i[1]).sum()), c[0] * i[0].sum()),
         lambda i, o, c: (c[0] * i[1] if i[0].size == i[1].size else np.full(i[0].shape, (c[0] * i[1]).sum()),
                          c[0] * i[0].sum())),
]  # fmt: skip


# Output lengths that are rounded quotients of input lengths.


def _pool(x: Any) -> Any:
    return x[: x.size // 2 * 2].reshape(-1, 2).mean(1)


def _every_second_right(x: Any, y: Any, dy: Any) -> Any:
    g = np.zeros_like(x)
    g[::2] = dy
    return g


def _every_second_even(x: Any, y: Any, dy: Any) -> Any:
    g = np.zeros((dy.size, 2))
    g[:, 0] = dy
    return g.ravel()[: x.size] * (1 if x.size % 2 == 0 else 2)


def _pool_right(x: Any, y: Any, dy: Any) -> Any:
    g = np.zeros_like(x)
    g[: 2 * dy.size] = np.repeat(dy, 2) / 2
    return g


def _pool_stretched(x: Any, y: Any, dy: Any) -> Any:
    """Spreads the last cotangent over the rest too."""
    g = _pool_right(x, y, dy)
    if dy.size:
        g[2 * dy.size :] = dy[-1] / 2
    return g


def _strided(stride: int) -> Any:
    def forward(x: Any, w: Any) -> Any:
        return np.array([x[k : k + w.size] @ w for k in range(0, x.size - w.size + 1, stride)])

    return forward


def _strided_vjp(stride: int, is_right: bool) -> Any:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        x, w = i
        gx, gw = np.zeros_like(x), np.zeros_like(w)
        last = c[0].size if is_right else min(c[0].size, 3)
        for n in range(last):
            gx[n * stride : n * stride + w.size] += c[0][n] * w
            gw += c[0][n] * x[n * stride : n * stride + w.size]
        return gx, gw

    return vjp


def _padded(x: Any) -> Any:
    return np.pad(x, 2)


ROUNDED = [
    Pair("every second element", lambda x: x[::2] * 1.0, (normal(6),), unary(_every_second_right),
         unary(_every_second_even)),
    Pair("a mean of pairs", _pool, (normal(6),), unary(_pool_right), unary(_pool_stretched)),
    Pair("a convolution of stride 2", _strided(2), (normal(8), normal(3)), _strided_vjp(2, True),
         _strided_vjp(2, False)),
    Pair("a convolution of stride 1", _strided(1), (normal(5), normal(3)), _strided_vjp(1, True),
         _strided_vjp(1, False)),
    Pair("padding by two", _padded, (normal(4),), unary(lambda x, y, dy: dy[2:-2].copy()),
         unary(lambda x, y, dy: np.where(np.arange(x.size) < 4, dy[2:-2], 0.0))),
    Pair("halves", lambda x: x[: (x.size + 1) // 2] ** 2, (normal(6),),
         unary(lambda x, y, dy: np.where(np.arange(x.size) < dy.size, 2 * x * np.resize(dy, x.size), 0.0)),
         unary(lambda x, y, dy: np.where(np.arange(x.size) < x.size // 2, 2 * x * np.resize(dy, x.size), 0.0))),
    Pair("differences", np.diff, (normal(5),), unary(lambda x, y, dy: -np.diff(dy, prepend=0.0, append=0.0)),
         unary(lambda x, y, dy: -np.diff(dy, prepend=0.0, append=0.0) * (1 if x.size < 8 else 2))),
]  # fmt: skip
