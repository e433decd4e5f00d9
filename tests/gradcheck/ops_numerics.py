"""Right pairs of indexing and numerical ops, written out by hand; a vjp takes (inputs, outputs, cotangents)."""

from __future__ import annotations

from typing import Any

import numpy as np

# --- indexing and shape ----------------------------------------------------------------------------------------------


def embedding(table: Any, ids: Any) -> Any:
    return table[ids]


def embedding_vjp(i: Any, o: Any, c: Any) -> Any:
    (table, ids), (dy,) = i, c
    g = np.zeros_like(table)
    np.add.at(g, ids, dy)
    return g, None


def segment_mean(x: Any, segments: Any) -> Any:
    out = np.zeros((segments.max(initial=-1) + 1, *x.shape[1:]))
    np.add.at(out, segments, x)
    return out / np.maximum(np.bincount(segments, minlength=len(out)), 1)[:, None]


def segment_mean_vjp(i: Any, o: Any, c: Any) -> Any:
    (_, segments), (dy,) = i, c
    return (dy / np.maximum(np.bincount(segments, minlength=len(dy)), 1)[:, None])[segments], None


def interpolate(values: Any, at: Any) -> Any:
    left = np.clip(np.floor(at).astype(int), 0, len(values) - 2)
    return values[left] + (at - left) * (values[left + 1] - values[left])


def interpolate_vjp(i: Any, o: Any, c: Any) -> Any:
    (values, at), (dy,) = i, c
    left = np.clip(np.floor(at).astype(int), 0, len(values) - 2)
    g = np.zeros_like(values)
    np.add.at(g, left, dy * (1 - (at - left)))
    np.add.at(g, left + 1, dy * (at - left))
    return g, dy * (values[left + 1] - values[left])


def reflect(x: Any) -> Any:
    return np.pad(x, ((0, 0), (2, 2)), mode="reflect")


def reflect_vjp(i: Any, o: Any, c: Any) -> Any:
    (dy,) = c
    g = dy[:, 2:-2].copy()
    g[:, 1:3] += dy[:, 1::-1]
    g[:, -3:-1] += dy[:, :-3:-1]
    return (g,)


def split(x: Any) -> Any:
    return x[:, :2] * 1.0, x[:, 2:] * 3.0


def split_vjp(i: Any, o: Any, c: Any) -> Any:
    return (np.concatenate([c[0], 3.0 * c[1]], axis=1),)


def top_two(x: Any) -> Any:
    return -np.sort(-x, axis=1)[:, :2]


def top_two_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (dy,) = i, c
    g = np.zeros_like(x)
    np.put_along_axis(g, np.argsort(-x, axis=1)[:, :2], dy, axis=1)
    return (g,)


# --- linear algebra and other numerics -------------------------------------------------------------------------------


def cholesky(a: Any) -> Any:
    return np.linalg.cholesky((a + a.T) / 2)


def cholesky_vjp(i: Any, o: Any, c: Any) -> Any:
    (lower,), (dl,) = o, c
    phi = np.tril(lower.T @ np.tril(dl))
    phi[np.diag_indices(len(phi))] /= 2
    inverse = np.linalg.inv(lower)
    s = inverse.T @ phi @ inverse
    return ((s + s.T) / 2,)


def solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def solve_vjp(i: Any, o: Any, c: Any) -> Any:
    (a, _), (x,), (dx,) = i, o, c
    db = np.linalg.solve(a.T, dx)
    return -db @ x.T, db


def inverse(a: Any) -> Any:
    return np.linalg.inv(a)


def inverse_vjp(i: Any, o: Any, c: Any) -> Any:
    (y,), (dy,) = o, c
    return (-y.T @ dy @ y.T,)


def log_det(a: Any) -> Any:
    return np.linalg.slogdet(a)[1]


def log_det_vjp(i: Any, o: Any, c: Any) -> Any:
    return (c[0] * np.linalg.inv(i[0]).T,)


def eigenvalues(a: Any) -> Any:
    return np.linalg.eigvalsh((a + a.T) / 2)


def eigenvalues_vjp(i: Any, o: Any, c: Any) -> Any:
    _, v = np.linalg.eigh((i[0] + i[0].T) / 2)
    return ((v * c[0]) @ v.T,)


def spectrum(x: Any) -> Any:
    z = np.fft.rfft(x)
    return z.real.copy(), z.imag.copy()


def spectrum_vjp(i: Any, o: Any, c: Any) -> Any:
    n = i[0].shape[-1]
    k, t = np.arange(n // 2 + 1)[:, None], np.arange(n)
    return (c[0] @ np.cos(2 * np.pi * k * t / n) - c[1] @ np.sin(2 * np.pi * k * t / n),)


def cumulative_product(x: Any) -> Any:
    return np.cumprod(x, axis=-1)


def cumulative_product_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (dy,) = i, c
    gradient = np.zeros_like(x)
    for k in range(x.shape[-1]):  # without a division, which gives nothing at a zero
        others = x.copy()
        others[..., k] = 1.0
        gradient[..., k] = (dy * np.cumprod(others, axis=-1))[..., k:].sum(axis=-1)
    return (gradient,)


def distances(x: Any, y: Any) -> Any:
    return np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=-1))


def distances_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, y), (d,), (dd,) = i, o, c
    g = (dd / d)[..., None] * (x[:, None] - y[None])
    return g.sum(axis=1), -g.sum(axis=0)


def variance(x: Any) -> Any:
    return x.var(axis=-1, ddof=1)


def variance_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (dy,) = i, c
    return (dy[..., None] * 2 * (x - x.mean(axis=-1, keepdims=True)) / (x.shape[-1] - 1),)


def logsumexp(x: Any) -> Any:
    top = x.max(axis=-1)
    return top + np.log(np.exp(x - top[..., None]).sum(axis=-1))


def logsumexp_vjp(i: Any, o: Any, c: Any) -> Any:
    return (c[0][..., None] * np.exp(i[0] - o[0][..., None]),)


def trapezoid(y: Any, x: Any) -> Any:
    return ((y[1:] + y[:-1]) * (x[1:] - x[:-1])).sum() / 2


def trapezoid_vjp(i: Any, o: Any, c: Any) -> Any:
    (y, x), (d,) = i, c
    dy, dx, width, height = np.zeros_like(y), np.zeros_like(x), np.diff(x), y[1:] + y[:-1]
    dy[1:] += d * width / 2
    dy[:-1] += d * width / 2
    dx[1:] += d * height / 2
    dx[:-1] -= d * height / 2
    return dy, dx


def horner(p: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    for a in p:
        y = y * x + a
    return y


def horner_vjp(i: Any, o: Any, c: Any) -> Any:
    (p, x), (dy,) = i, c
    powers = np.stack([x ** (len(p) - 1 - k) for k in range(len(p))])
    slope = np.zeros_like(x)
    for k, a in enumerate(p[:-1]):
        slope += (len(p) - 1 - k) * a * x ** (len(p) - 2 - k)
    return (powers * dy).reshape(len(p), -1).sum(axis=1), dy * slope


def overlap(a: Any, b: Any) -> Any:
    sides = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
    common = np.prod(np.maximum(sides, 0), axis=1)
    area = [np.prod(box[:, 2:] - box[:, :2], axis=1) for box in (a, b)]
    return common / (area[0] + area[1] - common)


def overlap_vjp(i: Any, o: Any, c: Any) -> Any:
    grads = []
    (a, b), (dy,) = i, c
    sides = np.maximum(np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2]), 0)
    common = sides.prod(axis=1)
    extents = [box[:, 2:] - box[:, :2] for box in (a, b)]
    union = extents[0].prod(axis=1) + extents[1].prod(axis=1) - common
    d_common, d_area = dy * (union + common) / union**2, -dy * common / union**2
    d_sides = d_common[:, None] * sides[:, ::-1] * (sides > 0)
    for box, other, extent in ((a, b, extents[0]), (b, a, extents[1])):
        d_extent = d_area[:, None] * extent[:, ::-1]
        low = -d_extent - d_sides * (box[:, :2] > other[:, :2])
        high = d_extent + d_sides * (box[:, 2:] < other[:, 2:])
        grads.append(np.concatenate([low, high], axis=1))
    return tuple(grads)
