"""Right pairs as people write them, which a careless judge blames: (name, forward, vjp, inputs, options)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_rng = np.random.default_rng(41)
_LABELS = np.array([2, 0, 1])
_MASK = _rng.random((3, 4)) > 0.5
_COUPLING = 0.15 * _rng.normal(size=(5, 5))
_DEFINITE = 5.0 * np.eye(5) + _COUPLING @ _COUPLING.T + np.diag(np.arange(5.0))
_DOMINANT = 4.0 * np.eye(4) + 0.5


def normal(*shape: int) -> Any:
    return _rng.normal(size=shape)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def entropy(p: Any) -> Any:
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def entropy_vjp(i: Any, o: Any, c: Any) -> Any:
    (p,) = i
    return (np.where(p > 0, c[0] * (np.log(np.where(p > 0, p, 1.0)) + 1), 0.0),)


def grid(x: Any, table: Any) -> Any:
    k = np.clip(np.floor(x).astype(int), 0, len(table) - 2)
    return table[k] * (1 - (x - k)) + table[k + 1] * (x - k)


def grid_vjp(i: Any, o: Any, c: Any) -> Any:
    x, table = i
    k = np.clip(np.floor(x).astype(int), 0, len(table) - 2)
    g = np.zeros_like(table)
    np.add.at(g, k, c[0] * (1 - (x - k)))
    np.add.at(g, k + 1, c[0] * (x - k))
    return c[0] * (table[k + 1] - table[k]), g


def layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def layer_norm_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (y,), (dy,) = i, o, c
    inner = dy - dy.mean(-1, keepdims=True) - y * (dy * y).mean(-1, keepdims=True)
    return (inner / np.sqrt(x.var(-1, keepdims=True) + 1e-5),)


def equilibrium(b: Any) -> Any:
    """Iterates z = tanh(A z + b) to 1e-10."""
    z = np.zeros_like(b)
    for _ in range(1000):
        old, z = z, np.tanh(_COUPLING @ z + b)
        if np.abs(z - old).max() < 1e-10:
            break
    return z


def equilibrium_vjp(relative: bool) -> Any:
    """Iterates the adjoint equation to 1e-10, of the cotangent or absolute."""

    def vjp(i: Any, o: Any, c: Any) -> Any:
        slope, u = 1 - o[0] ** 2, np.zeros_like(c[0])
        for _ in range(1000):
            old, u = u, _COUPLING.T @ (slope * u) + c[0]
            if np.abs(u - old).max() <= 1e-10 * (np.abs(c[0]).max() if relative else 1.0):
                break
        return (u * slope,)

    return vjp


def neumann_vjp(i: Any, o: Any, c: Any) -> Any:
    slope, u = 1 - o[0] ** 2, np.zeros_like(c[0])
    for _ in range(60):
        u = _COUPLING.T @ (slope * u) + c[0]
    return (u * slope,)


def jacobi(b: Any) -> Any:
    x, diagonal = np.zeros_like(b), np.diag(_DOMINANT)
    for _ in range(500):
        old, x = x, (b - (_DOMINANT @ x - diagonal * x)) / diagonal
        if np.linalg.norm(x - old) < 1e-10:
            break
    return x


def conjugate_gradients(b: Any) -> Any:
    """Solves to a residual of 1e-10."""
    x, r, p = np.zeros_like(b), b.copy(), b.copy()
    for _ in range(100):
        size = r @ r
        if np.sqrt(size) < 1e-10:
            break
        step = _DEFINITE @ p
        x = x + size / (p @ step) * p
        r = r - size / (p @ step) * step
        p = r + (r @ r) / size * p
    return x


def bisection(a: Any) -> Any:
    """Solves x**3 + x = a to 1e-10."""
    low, high = np.full_like(a, -50.0), np.full_like(a, 50.0)
    while np.max(high - low, initial=0.0) > 1e-10:
        middle = (low + high) / 2
        below = middle**3 + middle < a
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def moments(x: Any) -> Any:
    return x.mean(), x.std()


def moments_vjp(i: Any, o: Any, c: Any) -> Any:
    return (c[0] / i[0].size + c[1] * (i[0] - o[0]) / (i[0].size * o[1]),)


def distances(x: Any) -> Any:
    return np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + np.eye(len(x)))


def distances_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,) = i
    terms = (c[0] / o[0])[:, :, None] * (x[:, None] - x[None])
    return (terms.sum(1) - terms.sum(0),)


def cross_entropy(z: Any) -> Any:
    shifted = z - z.max(1, keepdims=True)
    return np.mean(np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(z)), _LABELS])


def cross_entropy_vjp(i: Any, o: Any, c: Any) -> Any:
    p = softmax(i[0])
    p[np.arange(3), _LABELS] -= 1
    return (c[0] * p / 3,)


def log_sum_exp(x: Any) -> Any:
    top = np.where(np.isfinite(x.max(-1)), x.max(-1), 0.0)
    return top + np.log(np.exp(x - top[..., None]).sum(-1))


def log_sum_exp_vjp(i: Any, o: Any, c: Any) -> Any:
    known = np.isfinite(o[0])[..., None]
    return (np.where(known, c[0][..., None] * np.exp(i[0] - np.where(known, o[0][..., None], 0.0)), 0.0),)


def running_max_vjp(i: Any, o: Any, c: Any) -> Any:
    g, best = np.zeros_like(i[0]), 0
    for k in range(len(i[0])):
        best = k if i[0][k] > i[0][best] else best
        g[best] += c[0][k]
    return [g]


def top_two(x: Any) -> Any:
    places = np.argsort(-x, axis=-1, kind="stable")[..., :2]
    return np.take_along_axis(x, places, -1), places


def top_two_vjp(i: Any, o: Any, c: Any) -> Any:
    g = np.zeros_like(i[0])
    np.put_along_axis(g, o[1], c[0], -1)
    return (g,)


def pool(x: Any) -> Any:
    return np.array([x[k : k + 3].max() for k in range(len(x) - 2)])


def pool_vjp(i: Any, o: Any, c: Any) -> Any:
    g = np.zeros_like(i[0])
    for k in range(len(c[0])):
        g[k + np.argmax(i[0][k : k + 3])] += c[0][k]
    return (g,)


def pick(forward: Any, slope: Any) -> Any:
    """Gives an elementwise pair from slope(x, y)."""
    return forward, lambda i, o, c: (c[0] * slope(i[0], o[0]),)


ZERO_TO_ONE = {"domain": (0, 1)}
POSITIVE = {"domain": (0, None)}
PAIRS: dict[str, tuple[Any, Any, tuple[Any, ...], dict[str, Any]]] = {
    # Rejected, or not judged, before.
    "x log x at 0": (entropy, entropy_vjp, (np.array([0.0, 1e-10, 0.3, 4.0]),), POSITIVE),
    "clip at 1 - 1e-7": (
        *pick(lambda p: -np.log(np.clip(p, 1e-7, 1 - 1e-7)), lambda p, y: -1 / p * ((p > 1e-7) & (p < 1 - 1e-7))),
        (np.array([1e-7, 0.3, 1 - 1e-7]),),
        {"domain": (1e-7, 1)},
    ),
    "clip at the bounds of its domain": (
        *pick(lambda p: np.clip(p, 0, 1) ** 2, lambda p, y: np.where((p > 0) & (p < 1), 2 * p, 0)),
        (np.array([0.0, 1.0, 0.5]),),
        ZERO_TO_ONE,
    ),
    "grid value at a knot on the edge": (
        grid,
        grid_vjp,
        (np.array([0.0, 1.0, 2.3, 3.0]), normal(6)),
        {"domain": [(0, 3), None]},
    ),
    "quantiser of 127 levels": (*pick(lambda x: np.round(127 * x) / 127, lambda x, y: 0.0 * x), (normal(2),), {}),
    "layer norm far from 0": (layer_norm, layer_norm_vjp, (normal(3, 4) + 1e5,), {}),
    "sine of time stamps": (
        *pick(lambda t: np.sin(2 * np.pi * (t - 1.7e9)), lambda t, y: 2 * np.pi * np.cos(2 * np.pi * (t - 1.7e9))),
        (1.7e9 + np.array([0.25, 10.5, 100.125]),),
        {},
    ),
    "sine of 1e10": (*pick(np.sin, lambda x, y: np.cos(x)), (np.array([1e10, 2e10]),), {}),
    "equilibrium, absolute adjoint": (equilibrium, equilibrium_vjp(False), (normal(5),), {}),
    "equilibrium, relative adjoint": (equilibrium, equilibrium_vjp(True), (normal(5),), {}),
    "equilibrium, Neumann series": (equilibrium, neumann_vjp, (normal(5),), {}),
    "Jacobi iteration": (jacobi, lambda i, o, c: (jacobi(c[0]),), (normal(4),), {}),
    "conjugate gradients": (conjugate_gradients, lambda i, o, c: (conjugate_gradients(c[0]),), (normal(5),), {}),
    "mean and deviation": (moments, moments_vjp, (normal(5),), {}),
    "distances of points": (distances, distances_vjp, (normal(4, 2),), {}),
    "softmax that overflows": (
        lambda x: np.exp(x) / np.exp(x).sum(),
        lambda i, o, c: (o[0] * (c[0] - (c[0] * o[0]).sum()),),
        (100 * normal(4),),
        {},
    ),
    # Others of the kind.
    "p log(p + 1e-20)": (
        lambda p: np.sum(p * np.log(p + 1e-20)),
        lambda i, o, c: (c[0] * (np.log(i[0] + 1e-20) + i[0] / (i[0] + 1e-20)),),
        (np.array([0.0, 0.5, 0.3]),),
        POSITIVE,
    ),
    "bisection to 1e-10": (*pick(bisection, lambda a, x: 1 / (3 * x**2 + 1)), (normal(4),), {}),
    "loss with labels in a closure": (cross_entropy, cross_entropy_vjp, (normal(3, 4),), {}),
    "logsumexp with -inf": (log_sum_exp, log_sum_exp_vjp, (np.array([[1, -np.inf, 2], [-np.inf] * 3]),), {}),
    "saturated sigmoid": (
        *pick(lambda x: 1 / (1 + np.exp(-x)), lambda x, y: y * (1 - y)),
        (np.array([-700.0, -50, 0, 36, 37, 700]),),
        {},
    ),
    "hard swish at its joints": (
        *pick(
            lambda x: x * np.clip(x + 3, 0, 6) / 6,
            lambda x, y: np.where(x < -3, 0, np.where(x > 3, 1, (2 * x + 3) / 6)),
        ),
        (np.array([-3.0, 3.0, 0.0, -5.0, 1.3]),),
        {},
    ),
    "straight-through clip": (
        *pick(lambda x: np.round(np.clip(x, -2, 2)), lambda x, y: np.abs(x) <= 2),
        (np.array([-2.0, 2.0, 0.3, 5.0]),),
        {"surrogate": lambda x: np.clip(x, -2, 2)},
    ),
    "running maximum with ties": (
        np.maximum.accumulate,
        running_max_vjp,
        (np.array([1.0, 3.0, 3.0, 2.0, 5.0, 5.0]),),
        {},
    ),
    "two greatest, with places": (top_two, top_two_vjp, (np.array([[1.0, 1, 1, 0], [2, 2, 1, 0]]),), {}),
    "overlapping pool with ties": (pool, pool_vjp, (np.array([0.0, 2, 2, 0, 2, 1, 1]),), {}),
    "narrow Gaussian": (
        *pick(lambda x: np.exp(-((x - 1) ** 2) / 2e-6), lambda x, y: -y * (x - 1) / 1e-6),
        (np.array([1.0, 1.001, 0.999, 1.5]),),
        {},
    ),
    "high frequency": (*pick(lambda x: np.sin(1e7 * x), lambda x, y: 1e7 * np.cos(1e7 * x)), (normal(3),), {}),
    "mask over nan": (
        lambda x: np.where(_MASK, x, 0.0),
        lambda i, o, c: (np.where(_MASK, c[0], 0.0),),
        (np.where(_MASK, normal(3, 4), np.nan),),
        {},
    ),
    "polynomial that cancels": (
        *pick(
            lambda x: x**7 - 7 * x**6 + 21 * x**5 - 35 * x**4 + 35 * x**3 - 21 * x**2 + 7 * x - 1,
            lambda x, y: 7 * (x - 1) ** 6,
        ),
        (np.array([1.0, 1.001, 0.99, 2.0]),),
        {},
    ),
    "variance that cancels": (
        lambda x: (x * x).mean() - x.mean() ** 2,
        lambda i, o, c: (2 * c[0] * (i[0] - i[0].mean()) / i[0].size,),
        (normal(6) + 1e4,),
        {},
    ),
    "scalars through math": (
        lambda x, y: x * math.sin(y),
        lambda i, o, c: (float(c[0]) * math.sin(i[1]), float(c[0]) * float(i[0]) * math.cos(i[1])),
        (2.0, 0.5),
        {},
    ),
    "broadcast with a 0-d scale": (
        lambda x, s: x * s,
        lambda i, o, c: (c[0] * i[1], float((c[0] * i[0]).sum())),
        (normal(3), np.array(2.0)),
        {},
    ),
    "softmax in float16": (
        softmax,
        lambda i, o, c: (o[0] * (c[0] - (c[0] * o[0]).sum(-1, keepdims=True)),),
        (normal(3, 4).astype(np.float16),),
        {},
    ),
    "square of a complex number in complex64": (
        lambda z: z * z,
        lambda i, o, c: (2 * c[0] * i[0].conj(),),
        ((normal(3) + 1j * normal(3)).astype(np.complex64),),
        {},
    ),
    "angle": (np.angle, lambda i, o, c: (c[0] * 1j * i[0] / np.abs(i[0]) ** 2,), (normal(4) + 1j * normal(4),), {}),
    "strided slice": (lambda x: (x * x).sum(0), lambda i, o, c: (2 * i[0] * c[0],), (normal(6, 6)[::2, ::3],), {}),
    "modulus": (
        np.mod,
        lambda i, o, c: (c[0], -c[0] * np.floor(i[0] / i[1])),
        (np.array([5.5, -3.2, 7.1]), np.array([2.0, 1.5, 3.0])),
        {"alias_ok": ["cotangent"]},
    ),
}

PRACTICE = [(name, *pair) for name, pair in PAIRS.items()]
