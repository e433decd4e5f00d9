"""Wrong pairs of networks and numerics, which must all be found: (name, forward, vjp, inputs).

Each is a pair of `right_ops` with one fault of a kind that people make: in the arithmetic, in sums and axes, in what
is saved, in how memory is used, in what is done with the cotangent, or for some sizes only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.gradcheck import ops_networks as nets
from tests.gradcheck import ops_numerics as numerics
from tests.gradcheck.right_ops import PAIRS, normal

Change = Callable[[Any, Any, Any, Any], Any]


def changed(name: str, change: Change) -> tuple[Any, Any, tuple[Any, ...]]:
    """Gives a right pair whose gradients go through `change(gradients, inputs, outputs, cotangents)`."""
    forward, vjp, inputs = PAIRS[name]

    def wrong(i: Any, o: Any, c: Any) -> Any:
        return tuple(change(list(vjp(i, o, c)), i, o, c))

    return forward, wrong, inputs


def with_gradient(position: int, change: Callable[[Any], Any]) -> Change:
    def run(g: Any, i: Any, o: Any, c: Any) -> Any:
        g[position] = change(g[position])
        return g

    return run


def _without_mean_term(i: Any, o: Any, c: Any) -> Any:
    (x, gamma, _), (dy,) = i, c
    inverse = 1 / np.sqrt(x.var(axis=0) + 1e-5)
    z, dz = (x - x.mean(axis=0)) * inverse, dy * gamma
    return inverse * (dz - z * (dz * z).mean(axis=0)), (dy * z).sum(axis=0), dy.sum(axis=0)


def _running_statistics(i: Any, o: Any, c: Any) -> Any:
    (x, gamma, _), (dy,) = i, c
    inverse = 1 / np.sqrt(x.var(axis=0) + 1e-5)
    return dy * gamma * inverse, (dy * (x - x.mean(axis=0)) * inverse).sum(axis=0), dy.sum(axis=0)


def _softmax_diagonal(i: Any, o: Any, c: Any) -> Any:
    (q, k, v), (dy,) = i, c
    p = nets._softmax(q @ k.T / np.sqrt(q.shape[1]))
    ds = p * (dy @ v.T) / np.sqrt(q.shape[1])
    return ds @ k, ds.T @ q, p.T @ dy


def _scale_forgotten(i: Any, o: Any, c: Any) -> Any:
    (q, k, _) = i
    dq, dk, dv = nets.attention_vjp(i, o, c)
    return dq * np.sqrt(q.shape[1]), dk * np.sqrt(k.shape[1]), dv


def _truncated(i: Any, o: Any, c: Any) -> Any:
    (a, _), (y,), (dy,) = i, o, c
    db = dy.copy()
    db[:-1] += dy[1:] * a[1:]
    da = np.zeros_like(a)
    da[1:] = db[1:] * y[:-1]
    return da, db


def _assigned_embedding(i: Any, o: Any, c: Any) -> Any:
    g = np.zeros_like(i[0])
    g[i[1]] = c[0]
    return g, None


def _plus_assigned_embedding(i: Any, o: Any, c: Any) -> Any:
    g = np.zeros_like(i[0])
    g[i[1]] += c[0]
    return g, None


def _reflect_without_edges(i: Any, o: Any, c: Any) -> Any:
    return (c[0][:, 2:-2].copy(),)


def _lower_only(i: Any, o: Any, c: Any) -> Any:
    return (np.tril(2 * numerics.cholesky_vjp(i, o, c)[0]),)


def _first_maximum_of_each_row(i: Any, o: Any, c: Any) -> Any:
    (x,), (dy,) = i, c
    g = np.zeros_like(x)
    for row, out in zip(g, dy, strict=True):
        row[0] = out.sum()
    return (g,)


# --- state and memory ------------------------------------------------------------------------------------------------


class Kept:
    """exp, whose backward takes what the last forward kept."""

    def __init__(self) -> None:
        self.kept: Any = None

    def forward(self, x: Any) -> Any:
        self.kept = np.exp(x)
        return self.kept.copy()

    def vjp(self, i: Any, o: Any, c: Any) -> Any:
        return (c[0] * self.kept,)


class OnThread(Kept):
    """exp, whose backward does nothing on a thread where no forward ran."""

    def __init__(self) -> None:
        self.local = threading.local()

    def forward(self, x: Any) -> Any:
        self.local.ran = True
        return np.exp(x)

    def vjp(self, i: Any, o: Any, c: Any) -> Any:
        return (c[0] * o[0] * getattr(self.local, "ran", False),)

    def __deepcopy__(self, memo):
        return OnThread()  # what a thread keeps cannot be copied, and a copy starts with nothing kept


class Once:
    """exp, whose second backward after one forward is wrong, as it consumed what it had saved."""

    def __init__(self) -> None:
        self.factor = 1.0

    def forward(self, x: Any) -> Any:
        self.factor = 1.0
        return np.exp(x)

    def vjp(self, i: Any, o: Any, c: Any) -> Any:
        g = c[0] * o[0] * self.factor
        self.factor = 0.0
        return (g,)


class OneBuffer:
    """exp into one buffer that every call gives out again."""

    def __init__(self) -> None:
        self.buffer: Any = None

    def forward(self, x: Any) -> Any:
        if self.buffer is None or self.buffer.shape != x.shape:
            self.buffer = np.empty_like(x)
        return np.exp(x, out=self.buffer)

    def vjp(self, i: Any, o: Any, c: Any) -> Any:
        return (c[0] * np.exp(i[0]),)


class Counter:
    """A vjp that scales by a little more at each call."""

    def __init__(self) -> None:
        self.calls = 0

    def vjp(self, i: Any, o: Any, c: Any) -> Any:
        self.calls += 1
        return (c[0] * np.cos(i[0]) * (1 + 1e-7 * self.calls),)


def _scales_input(i: Any, o: Any, c: Any) -> Any:
    g = c[0] * np.cos(i[0])
    i[0][...] *= 1 + 1e-6
    return (g,)


def _writes_output(i: Any, o: Any, c: Any) -> Any:
    np.multiply(o[0], c[0], out=o[0])
    return (o[0].copy(),)


def _writes_cotangent(i: Any, o: Any, c: Any) -> Any:
    c[0][...] *= np.cos(i[0])
    return (c[0].copy(),)


def _sorts_its_input(x: Any) -> Any:
    x.sort(axis=-1)
    return np.cumsum(x, axis=-1)


def _sorted_vjp(i: Any, o: Any, c: Any) -> Any:
    g = np.flip(np.cumsum(np.flip(c[0], -1), -1), -1)
    out = np.empty_like(g)
    np.put_along_axis(out, np.argsort(i[0], -1), g, -1)
    return (out,)


def _shared(i: Any, o: Any, c: Any) -> Any:
    g = c[0] * 2.0
    return g, g


def _by_memory(i: Any, o: Any, c: Any) -> Any:
    """The gradient of sin, computed over the raw memory of the input."""
    x = i[0]
    flat = x.ravel(order="K") if x.flags.forc else x.ravel()
    return (c[0] * np.cos(flat).reshape(x.shape),)


def _assumes_rows(x: Any) -> Any:
    return np.sin(x)


# --- cotangents ------------------------------------------------------------------------------------------------------


def _sin_with(weigh: Callable[[Any], Any]) -> Any:
    return lambda i, o, c: (weigh(c[0]) * np.cos(i[0]),)


def _saturates(c: Any) -> Any:
    return np.clip(c, -1e6, 1e6)


# --- sizes -----------------------------------------------------------------------------------------------------------


def _by_fours(i: Any, o: Any, c: Any) -> Any:
    """The gradient of sin in blocks of four; what is left over is forgotten."""
    g = np.zeros(i[0].size)
    whole = i[0].size // 4 * 4
    g[:whole] = (c[0] * np.cos(i[0])).ravel()[:whole]
    return (g.reshape(i[0].shape),)


def _square_only(i: Any, o: Any, c: Any) -> Any:
    """The gradient of a transpose, right only where it is its own shape."""
    return (c[0].T.reshape(i[0].shape) if i[0].shape[0] == i[0].shape[1] else c[0].reshape(i[0].shape),)


def _twelve(i: Any, o: Any, c: Any) -> Any:
    return (np.full(i[0].shape, c[0] / 12),)


def _squeezed(i: Any, o: Any, c: Any) -> Any:
    """The gradient of a sum over the last axis, forgetting that a length of one needs it as well."""
    g = np.repeat(c[0][..., None], i[0].shape[-1], axis=-1)
    return (g if i[0].shape[-1] > 1 else 0 * g,)


def _last_axis_of_three(i: Any, o: Any, c: Any) -> Any:
    g = 2 * c[0][..., None] * i[0]
    g[..., 3:] = 0
    return (g,)


TWELVE = normal(3, 4)
EIGHT = normal(8)
SQUARE = normal(4, 4)
THREES = normal(4, 3)

ARITHMETIC = [
    ("convolution shifted by one", *changed("convolution", with_gradient(0, lambda g: np.roll(g, 1, axis=2)))),
    ("convolution with a flipped kernel", *changed("convolution", with_gradient(1, lambda g: g[:, :, ::-1].copy()))),
    ("convolution, channels swapped", *changed("convolution", with_gradient(0, lambda g: g[:, ::-1].copy()))),
    ("stride forgotten at the end", *changed("strided convolution with padding", with_gradient(1, lambda g: g * 0.5))),
    ("padding counted", *changed("mean pooling", with_gradient(0, lambda g: g + 1e-3 * np.eye(1, 7)[0]))),
    ("maximum in the wrong window", nets.max_pool, _first_maximum_of_each_row, PAIRS["max pooling"][2]),
    ("batch norm without the mean's term", nets.batch_norm, _without_mean_term, PAIRS["batch norm"][2]),
    ("batch norm with constant statistics", nets.batch_norm, _running_statistics, PAIRS["batch norm"][2]),
    ("shift without its sum", *changed("batch norm", lambda g, i, o, c: [g[0], g[1], c[0]])),
    ("scale's gradient averaged", *changed("layer norm with a scale", with_gradient(1, lambda g: g / 6))),
    ("attention without the sum of rows", nets.attention, _softmax_diagonal, PAIRS["attention"][2]),
    ("attention without the scale", nets.attention, _scale_forgotten, PAIRS["attention"][2]),
    ("keys and queries exchanged", *changed("gated cell", lambda g, i, o, c: [g[1], g[0], g[2]])),
    ("gate's weight transposed", *changed("gated cell", with_gradient(2, lambda g: g.T.copy()))),
    ("recurrence cut after a step", nets.scan, _truncated, PAIRS["linear recurrence"][2]),
    ("recurrence, first step", *changed("linear recurrence", with_gradient(0, lambda g: g + np.eye(6, 1) * 1e-4))),
    ("cross-entropy summed", *changed("cross-entropy", with_gradient(0, lambda g: g * 4))),
    ("cross-entropy of the next label", nets.cross_entropy, lambda i, o, c: nets.cross_entropy_vjp(
        (i[0], (i[1] + 1) % 5), o, c), PAIRS["cross-entropy"][2]),
    ("target without a gradient", *changed("binary cross-entropy", lambda g, i, o, c: [g[0], None])),
    ("target's sign", *changed("binary cross-entropy", with_gradient(1, lambda g: -g))),
    ("Huber never clipped", nets.huber, lambda i, o, c: (c[0] * (i[0] - i[1]), c[0] * (i[1] - i[0])),
     PAIRS["Huber loss"][2]),
    ("cosine without its own term", *changed("cosine similarity", lambda g, i, o, c: [
        g[0] + c[0][:, None] * o[0][:, None] * i[0] / (i[0] ** 2).sum(axis=1, keepdims=True), g[1]])),
    ("slope not summed over rows", *changed("PReLU per channel", lambda g, i, o, c: [
        g[0], c[0] * np.where(i[0] > 0, 0, i[0])])),
    ("slope from one row", *changed("PReLU per channel", lambda g, i, o, c: [
        g[0], (c[0] * np.where(i[0] > 0, 0, i[0]))[0]])),
    ("rotation not turned back", nets.rotary, lambda i, o, c: (
        nets.rotary(c[0], i[1]), nets.rotary_vjp(i, o, c)[1]), PAIRS["rotary embedding"][2]),
    ("repeated ids overwrite", numerics.embedding, _assigned_embedding, PAIRS["embedding with repeated ids"][2]),
    ("repeated ids in +=", numerics.embedding, _plus_assigned_embedding, PAIRS["embedding with repeated ids"][2]),
    ("segments not divided", *changed("segment mean with an empty one", lambda g, i, o, c: [c[0][i[1]], None])),
    ("interpolation's right neighbour", *changed("interpolation", with_gradient(0, lambda g: np.roll(g, 1)))),
    ("interpolation from the left only", *changed("interpolation", with_gradient(1, lambda g: g * (1 + 1e-5)))),
    ("reflection forgotten", numerics.reflect, _reflect_without_edges, PAIRS["reflect padding"][2]),
    ("halves exchanged", *changed("split", lambda g, i, o, c: [np.concatenate([c[0] * 3, c[1] * 1], axis=1)])),
    ("second output ignored", *changed("split", lambda g, i, o, c: [np.concatenate([c[0], 0 * c[1]], axis=1)])),
    ("places exchanged", *changed("top two", lambda g, i, o, c: numerics.top_two_vjp(i, o, (c[0][:, ::-1],)))),
    ("lower half of a symmetric one", numerics.cholesky, _lower_only, PAIRS["Cholesky factor"][2]),
    ("diagonal not halved", *changed("Cholesky factor", with_gradient(0, lambda g: g + 1e-2 * np.diag(np.diag(g))))),
    ("solve without the transpose", *changed("linear solve", lambda g, i, o, c: [g[0].T.copy(), g[1]])),
    ("inverse's sign", *changed("inverse", with_gradient(0, np.negative))),
    ("log-determinant of the transpose", *changed("log-determinant", with_gradient(0, lambda g: g * 1.01))),
    ("eigenvalues reversed", numerics.eigenvalues, lambda i, o, c: numerics.eigenvalues_vjp(i, o, (c[0][::-1],)),
     PAIRS["eigenvalues"][2]),
    ("imaginary part's sign", numerics.spectrum, lambda i, o, c: numerics.spectrum_vjp(i, o, (c[0], -c[1])),
     PAIRS["real and imaginary spectrum"][2]),
    ("product without the later ones", *changed("cumulative product", lambda g, i, o, c: [c[0] * o[0] / i[0]])),
    ("distances of one side", *changed("distances", with_gradient(1, np.negative))),
    ("variance by n", *changed("unbiased variance", with_gradient(0, lambda g: g * 4 / 5))),
    ("logsumexp in float32", *changed("logsumexp", with_gradient(0, lambda g: g.astype(np.float32).astype(float)))),
    ("trapezoid's ends", *changed("trapezoid rule", with_gradient(0, lambda g: np.r_[2 * g[0], g[1:]]))),
    ("polynomial's constant", *changed("polynomial", with_gradient(0, lambda g: np.r_[g[:-1], 0.0]))),
    ("boxes' far corner", *changed("overlap of boxes", with_gradient(1, lambda g: np.where([1, 1, 1, 0], g, 0.0)))),
]  # fmt: skip

BEHAVIOUR = [
    ("kept from the last forward", *(lambda k: (k.forward, k.vjp))(Kept()), (THREES,)),
    ("kept for the thread", *(lambda k: (k.forward, k.vjp))(OnThread()), (THREES,)),
    ("right once", *(lambda k: (k.forward, k.vjp))(Once()), (THREES,)),
    ("one buffer for all outputs", *(lambda k: (k.forward, k.vjp))(OneBuffer()), (THREES,)),
    ("counts its calls", np.sin, Counter().vjp, (THREES,)),
    ("backward scales its input", np.sin, _scales_input, (THREES,)),
    ("backward writes the output", np.exp, _writes_output, (THREES,)),
    ("backward writes the cotangent", np.sin, _writes_cotangent, (THREES,)),
    ("forward sorts its input", _sorts_its_input, _sorted_vjp, (THREES,)),
    ("two gradients in one array", lambda a, b: 2 * a + 2 * b, _shared, (THREES, normal(4, 3))),
    ("gradient over raw memory", _assumes_rows, _by_memory, (THREES,)),
    ("forward returns a view", lambda x: x[::-1], lambda i, o, c: (c[0][::-1].copy(),), (THREES,)),
    ("random part", np.sin, lambda i, o, c: (c[0] * np.cos(i[0]) * (1 + 1e-9 * np.random.random()),), (THREES,)),
    ("random forward", lambda x: np.sin(x) + 1e-12 * np.random.random(), lambda i, o, c: (c[0] * np.cos(i[0]),),
     (THREES,)),
    ("cotangent clipped", np.sin, _sin_with(_saturates), (THREES,)),
    ("cotangent's sign", np.sin, _sin_with(np.abs), (THREES,)),
    ("cotangent squared", np.sin, _sin_with(np.square), (THREES,)),
    ("cotangent's mean", np.sin, _sin_with(lambda c: np.full_like(c, c.mean())), (THREES,)),
    ("cotangent normalised", np.sin, _sin_with(lambda c: c / max(np.linalg.norm(c), 1e-300)), (THREES,)),
    ("cotangent in float32", np.sin, _sin_with(lambda c: c.astype(np.float32).astype(float)), (THREES,)),
    ("ones for a cotangent", np.sin, _sin_with(np.ones_like), (THREES,)),
    ("zeros never sent on", np.sin, _sin_with(lambda c: np.where(c == 0, 1e-3, c)), (THREES,)),
    ("constant added", np.sin, lambda i, o, c: (c[0] * np.cos(i[0]) + 1e-4,), (THREES,)),
    ("list of lists", np.sin, lambda i, o, c: ((c[0] * np.cos(i[0])).astype(object),), (THREES,)),
    ("gradient in a mapping", np.sin, lambda i, o, c: {"x": c[0] * np.cos(i[0])}, (THREES,)),
    ("gradient of one row", np.sin, lambda i, o, c: ((c[0] * np.cos(i[0]))[0],), (THREES,)),
    ("gradient flattened", np.sin, lambda i, o, c: ((c[0] * np.cos(i[0])).ravel(),), (THREES,)),
    ("dtype depends on the values", lambda x: np.sin(x) if x[0, 0] == THREES[0, 0] else np.sin(x).astype(np.float32),
     lambda i, o, c: (c[0] * np.cos(i[0]),), (THREES,)),
    ("shape depends on the values", lambda x: np.sin(x[x >= THREES.min()]),
     lambda i, o, c: (np.where(i[0] >= THREES.min(), np.cos(i[0]), 0.0) * c[0].reshape(-1)[0],), (THREES,)),
]  # fmt: skip

SIZES = [
    ("only whole blocks of four", np.sin, _by_fours, (EIGHT,)),
    ("only square", lambda x: x.T.copy(), _square_only, (SQUARE,)),
    ("a mean over twelve", np.mean, _twelve, (TWELVE,)),
    ("not for a length of one", lambda x: x.sum(axis=-1), _squeezed, (THREES,)),
    ("not beyond three", lambda x: (x * x).sum(axis=-1), _last_axis_of_three, (THREES,)),
]

WRONG_OPS = [*ARITHMETIC, *BEHAVIOUR, *SIZES]
