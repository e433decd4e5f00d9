"""Families of pairs at values where a derivative is hard to tell: zeros, ties, and inputs that may not be anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import domain, stop_gradient
from tests.gradcheck.families import Pair, normal, unary

# Gradients that are NaN where the derivative is finite and sharp.


def _square_over(x: Any, y: Any, dy: Any) -> Any:
    return dy * (2 * y / x)


def _smooth_abs(x: Any) -> Any:
    return np.sqrt(x * x + 1.0) - 1.0


def _sinc(x: Any) -> Any:
    return np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x))


def _sinc_vjp(at_zero: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        safe = np.where(x == 0, 1.0, x)
        exact = (np.cos(safe) - np.sin(safe) / safe) / safe
        small = -x / 3 + x**3 / 30 - x**5 / 840  # cos x - sin x / x cancels
        return dy * np.where(x == 0, at_zero, np.where(np.abs(x) < 1e-2, small, exact))

    return unary(rule)


def _cube(x: Any) -> Any:
    return x**3


NOT_FINITE = [
    Pair("a square by its root", np.square, (normal(6),), unary(lambda x, y, dy: 2 * dy * x), unary(_square_over)),
    Pair("a product by its factors", np.prod, (normal(4),),
         unary(lambda x, y, dy: dy * np.array([np.prod(np.delete(x, k)) for k in range(x.size)])),
         unary(lambda x, y, dy: dy * y / x)),
    Pair("sinc", _sinc, (normal(5),), _sinc_vjp(0.0), _sinc_vjp(np.nan)),
    Pair("a cube by logarithms", _cube, (normal(6),), unary(lambda x, y, dy: 3 * dy * x * x),
         unary(lambda x, y, dy: 3 * dy * np.exp(2 * np.log(np.abs(x))) * x / x)),
    Pair("a softened magnitude", _smooth_abs, (normal(5),), unary(lambda x, y, dy: dy * x / np.sqrt(x * x + 1)),
         unary(lambda x, y, dy: dy * x * np.abs(x) / np.sqrt(x * x + 1) / np.abs(x))),
]  # fmt: skip


# Subgradients at ties, where the derivative does not exist although single elements seem to have one.


def _first_of(places: Any) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        g = np.zeros_like(x)
        for weight, place in places(x):
            g[place] += weight * dy
        return g

    return unary(rule)


def _middle(x: Any) -> Any:
    order = np.argsort(x, kind="stable")
    return [(0.5, order[(x.size - 1) // 2]), (0.5, order[x.size // 2])] if x.size else []


def _extremes(low: float, high: float) -> Any:
    return lambda x: [(low, np.argmin(x)), (high, np.argmax(x))] if x.size else []


def _of_extremes(sign: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        places = np.arange(x.size)
        return dy * ((places == np.argmax(x)) * x.min() + sign * (places == np.argmin(x)) * x.max())

    return unary(rule)


def _trimmed(x: Any) -> Any:
    return np.sort(x)[1:-1].sum()


def _largest_two(x: Any) -> Any:
    return np.sort(x)[-2:].sum()


def _medians(x: Any) -> Any:
    return np.median(x, axis=1)


def _medians_vjp(factor: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        g = np.zeros_like(x)
        for row in range(len(x)):
            for weight, place in _middle(x[row]):
                g[row, place] += factor * weight * dy[row]
        return g

    return unary(rule)


def _pair_hinge(x: Any) -> Any:
    return np.maximum(x[:, None] - x[None], 0.0).sum()


def _kernel_distance(x: Any) -> Any:
    return np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)).sum()


def _kernel_distance_vjp(factor: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        gaps = x[:, None] - x[None]
        length = np.sqrt((gaps**2).sum(-1))
        units = gaps / np.where(length > 0, length, 1.0)[..., None]
        return 2 * dy * units.sum(1) * factor

    return unary(rule)


TIES = [
    Pair("a median", np.median, (normal(5),), _first_of(_middle),
         _first_of(lambda x: [(1.01 * w, p) for w, p in _middle(x)])),
    Pair("a median of three equal", np.median, (np.array([1.0, 2.0, 2.0, 2.0, 3.0]),), _first_of(_middle),
         _first_of(lambda x: [(1.01 * w, p) for w, p in _middle(x)])),
    Pair("a median of four", np.median, (normal(4),), _first_of(_middle),
         _first_of(lambda x: [(1.5 * w, p) for w, p in _middle(x)])),
    Pair("medians of rows", _medians, (normal(3, 5),), _medians_vjp(1.0), _medians_vjp(1.01)),
    Pair("the middle of a range", lambda x: x.max() + x.min(), (normal(5),), _first_of(_extremes(1.0, 1.0)),
         _first_of(_extremes(1.0, 1.02))),
    Pair("the middle of equal numbers", lambda x: x.max() + x.min(), (np.full(4, 1.5),),
         _first_of(_extremes(1.0, 1.0)), _first_of(_extremes(1.0, 2.0))),
    Pair("a range", np.ptp, (normal(5),), _first_of(_extremes(-1.0, 1.0)), _first_of(_extremes(-1.0, 1.5))),
    Pair("a product of extremes", lambda x: x.max() * x.min(), (normal(4),),
         _of_extremes(1.0), _of_extremes(-1.0)),
    Pair("a trimmed sum", _trimmed, (normal(6),),
         _first_of(lambda x: [(1.0, p) for p in np.argsort(x, kind="stable")[1:-1]]),
         _first_of(lambda x: [(1.1, p) for p in np.argsort(x, kind="stable")[1:-1]])),
    Pair("the two largest", _largest_two, (normal(5),),
         _first_of(lambda x: [(1.0, p) for p in np.argsort(x, kind="stable")[-2:]]),
         _first_of(lambda x: [(1.0, p) for p in np.argsort(x, kind="stable")[-1:]])),
    Pair("hinges of pairs", _pair_hinge, (normal(4),),
         unary(lambda x, y, dy: dy * ((x[:, None] > x[None]).sum(1) - (x[:, None] < x[None]).sum(1)) * 1.0),
         unary(lambda x, y, dy: dy * ((x[:, None] > x[None]).sum(1) - 1.5 * (x[:, None] < x[None]).sum(1)))),
    Pair("distances of points", _kernel_distance, (normal(4, 2),), _kernel_distance_vjp(1.0),
         _kernel_distance_vjp(0.5)),
]  # fmt: skip


# Right gradients of what else was refused.


def _lower_only(x: Any) -> Any:
    return np.linalg.eigvalsh(x)


def _eigvalsh_vjp(factor: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        vectors = np.linalg.eigh(x)[1]
        return factor * (vectors * dy) @ vectors.T

    return unary(rule)


def _cholesky_vjp(factor: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        inner = np.tril(y.T @ dy)
        inner[np.diag_indices(len(inner))] *= factor
        back = np.linalg.inv(y)
        whole = back.T @ inner @ back
        return (whole + whole.T) / 2

    return unary(rule)


def _log_det(x: Any) -> Any:
    return 2 * np.log(np.diag(np.linalg.cholesky(x))).sum()


def _definite(n: int) -> Any:
    a = normal(n, n)
    return a @ a.T + n * np.eye(n)


_SYMMETRIC = normal(4, 4) + np.diag([3.0, -3.0, 9.0, 0.0])
_SYMMETRIC = _SYMMETRIC + _SYMMETRIC.T

DECLARED = [
    Pair("the identity in place of a rounding", np.round, (3 * normal(5),), unary(lambda x, y, dy: dy.copy()),
         unary(lambda x, y, dy: 2 * dy), {"surrogate": lambda x: x}),
    Pair("the identity of one of two", lambda x, s: np.round(x) * s, (3 * normal(5), normal(5)),
         lambda i, o, c: (c[0] * i[1], c[0] * np.round(i[0])), lambda i, o, c: (c[0], c[0] * np.round(i[0])),
         {"surrogate": lambda x, s: (x + stop_gradient(np.round(x) - x)) * s}),
    Pair("the identity beside the number itself", lambda x: (np.sign(x), x + 0.0), (normal(5),),
         lambda i, o, c: (c[0] + c[1],), lambda i, o, c: (c[1].copy(),), {"surrogate": lambda x: (x, x)}),
    Pair("eigenvalues of a symmetric matrix", _lower_only, (_SYMMETRIC,), _eigvalsh_vjp(1.0), _eigvalsh_vjp(1.001),
         {"domain": domain.symmetric}),
    Pair("a factor of a positive definite matrix", np.linalg.cholesky, (_definite(3),), _cholesky_vjp(0.5),
         _cholesky_vjp(1.0), {"domain": domain.positive_definite}),
    Pair("a determinant by a factor", _log_det, (_definite(3),), unary(lambda x, y, dy: dy * np.linalg.inv(x)),
         unary(lambda x, y, dy: dy * np.tril(np.linalg.inv(x))), {"domain": domain.positive_definite}),
    Pair("a system with a symmetric matrix", np.linalg.solve, (_definite(3), normal(3, 2)),
         lambda i, o, c: (-np.linalg.solve(i[0], c[0]) @ o[0].T, np.linalg.solve(i[0], c[0])),
         lambda i, o, c: (np.linalg.solve(i[0], c[0]) @ o[0].T, np.linalg.solve(i[0], c[0])),
         {"domain": [domain.positive_definite, None]}),
]  # fmt: skip


# Elements far below the largest one, which its rounding may lose, but need not.


def _small_times(factor: float, slope: Any) -> Any:
    """Gives the vjp of an elementwise function, with a factor where the slope is less than a 1e13th of the largest."""

    def rule(x: Any, y: Any, dy: Any) -> Any:
        g = dy * slope(x)
        return np.where(np.abs(g) < 1e-13 * np.max(np.abs(g), initial=0.0), factor * g, g)

    return unary(rule)


def _by_sums(slope: Any) -> Any:
    """Adds all elements up and takes their differences, which loses what is small beside those before."""
    return unary(lambda x, y, dy: np.diff(np.cumsum(dy * slope(x)), prepend=0.0))


def _beside(constant: float) -> Any:
    return unary(lambda x, y, dy: (dy * np.exp(x) + constant) - constant)


_WEIGHTS = np.array([1e20, 1.0, 1e-3])
_GROWING = np.array([40.0, -1.0, 0.5, 38.0])


def _weighted(x: Any) -> Any:
    return _WEIGHTS[: x.size] * np.sin(x)


def _weighted_slope(x: Any) -> Any:
    return _WEIGHTS[: x.size] * np.cos(x)


def _third(x: Any) -> Any:
    return 3.0 * x * x


_AT_GIVEN = {"vary": ["values"]}
FAR_BELOW = [
    Pair("weights of 1e20 and less", _weighted, (normal(3),), _small_times(1.0, _weighted_slope),
         _small_times(1.5, _weighted_slope), _AT_GIVEN),
    Pair("exponentials of 40 and of -1", np.exp, (_GROWING,), _small_times(1.0, np.exp), _small_times(-1.0, np.exp)),
    Pair("cubes of 1e7 and of 1", _cube, (np.array([1e7, 1.0, -2.0]),), _small_times(1.0, _third),
         _small_times(1.05, _third)),
    Pair("exponentials by sums", np.exp, (_GROWING,), _by_sums(np.exp), None),
    Pair("weights of 1e20 by sums", _weighted, (normal(3),), _by_sums(_weighted_slope), None, _AT_GIVEN),
    Pair("exponentials beside a constant", np.exp, (_GROWING,), _beside(1e15), None, {"vary": False}),
    Pair("exponentials beside a larger constant", np.exp, (_GROWING,), _beside(1e17), None, {"vary": False}),
]  # fmt: skip


# Arithmetic of eleven bits, of which a difference of two values leaves three.


def _in_float16(function: Any) -> Any:
    return lambda x: function(x.astype(np.float16)).astype(x.dtype)


def _softmax(x: Any) -> Any:
    made = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return made / made.sum(axis=-1, keepdims=True)


def _softmax_vjp(share: float) -> Any:
    return unary(lambda x, y, dy: y * (dy - share * (y * dy).sum(axis=-1, keepdims=True)))


def _sine_vjp(factor: float) -> Any:
    return unary(lambda x, y, dy: (factor * dy * np.cos(x)).astype(x.dtype))


COARSE = [
    Pair("a sine", _in_float16(np.sin), (normal(5),), _sine_vjp(1.0), _sine_vjp(1.25)),
    Pair("a sine, of the wrong sign", _in_float16(np.sin), (normal(3, 4),), None, _sine_vjp(-1.0)),
    Pair("a sine of float16", _in_float16(np.sin), (normal(5).astype(np.float16),), _sine_vjp(1.0), _sine_vjp(1.25)),
    Pair("a gradient in float16 as well", _in_float16(np.sin), (normal(3, 4),),
         unary(lambda x, y, dy: (dy.astype(np.float16) * np.cos(x.astype(np.float16))).astype(x.dtype)),
         unary(lambda x, y, dy: (dy.astype(np.float16) * np.sin(x.astype(np.float16))).astype(x.dtype))),
    Pair("a softmax", _in_float16(_softmax), (normal(2, 3),), None, _softmax_vjp(0.0)),
]  # fmt: skip
