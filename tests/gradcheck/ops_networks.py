"""Right pairs of neural-network ops, written out by hand; a vjp takes (inputs, outputs, cotangents)."""

from __future__ import annotations

from typing import Any

import numpy as np

# --- convolution, pooling and normalisation --------------------------------------------------------------------------


def conv1d(x: Any, w: Any) -> Any:
    n, length = x.shape[0], x.shape[2] - w.shape[2] + 1
    y = np.zeros((n, w.shape[0], length))
    for t in range(w.shape[2]):
        y += np.einsum("ncl,oc->nol", x[:, :, t : t + length], w[:, :, t])
    return y


def conv1d_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, w), (dy,) = i, c
    dx, dw, length = np.zeros_like(x), np.zeros_like(w), dy.shape[2]
    for t in range(w.shape[2]):
        dx[:, :, t : t + length] += np.einsum("nol,oc->ncl", dy, w[:, :, t])
        dw[:, :, t] = np.einsum("nol,ncl->oc", dy, x[:, :, t : t + length])
    return dx, dw


def strided_conv(x: Any, w: Any) -> Any:
    padded = np.pad(x, ((0, 0), (1, 1)))
    out = (padded.shape[1] - w.size) // 2 + 1
    return np.stack([padded[:, 2 * j : 2 * j + w.size] @ w for j in range(out)], axis=1)


def strided_conv_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, w), (dy,) = i, c
    padded = np.pad(x, ((0, 0), (1, 1)))
    dp, dw = np.zeros_like(padded), np.zeros_like(w)
    for j in range(dy.shape[1]):
        dp[:, 2 * j : 2 * j + w.size] += dy[:, j : j + 1] * w
        dw += dy[:, j] @ padded[:, 2 * j : 2 * j + w.size]
    return dp[:, 1:-1], dw


def max_pool(x: Any) -> Any:
    return np.stack([x[:, j : j + 3].max(axis=1) for j in range(0, x.shape[1] - 2, 2)], axis=1)


def max_pool_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (dy,) = i, c
    dx = np.zeros_like(x)
    for k, j in enumerate(range(0, x.shape[1] - 2, 2)):
        place = j + x[:, j : j + 3].argmax(axis=1)
        np.add.at(dx, (np.arange(len(x)), place), dy[:, k])
    return (dx,)


def mean_pool(x: Any) -> Any:
    padded = np.pad(x, ((0, 0), (1, 1)))
    count = np.convolve(np.ones(x.shape[1]), np.ones(3), "same")
    return (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / count


def mean_pool_vjp(i: Any, o: Any, c: Any) -> Any:
    (x,), (dy,) = i, c
    each = np.pad(dy / np.convolve(np.ones(x.shape[1]), np.ones(3), "same"), ((0, 0), (1, 1)))
    return (each[:, :-2] + each[:, 1:-1] + each[:, 2:],)


def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
    return gamma * (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5) + beta


def batch_norm_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, gamma, _), (dy,) = i, c
    inverse = 1 / np.sqrt(x.var(axis=0) + 1e-5)
    z, dz = (x - x.mean(axis=0)) * inverse, dy * gamma
    dx = inverse * (dz - dz.mean(axis=0) - z * (dz * z).mean(axis=0))
    return dx, (dy * z).sum(axis=0), dy.sum(axis=0)


def layer_norm(x: Any, gamma: Any) -> Any:
    z = x - x.mean(axis=-1, keepdims=True)
    return gamma * z / np.sqrt((z * z).mean(axis=-1, keepdims=True) + 1e-5)


def layer_norm_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, gamma), (dy,) = i, c
    z = x - x.mean(axis=-1, keepdims=True)
    inverse = 1 / np.sqrt((z * z).mean(axis=-1, keepdims=True) + 1e-5)
    u, du = z * inverse, dy * gamma
    dx = inverse * (du - du.mean(axis=-1, keepdims=True) - u * (du * u).mean(axis=-1, keepdims=True))
    return dx, (dy * u).reshape(-1, x.shape[-1]).sum(axis=0)


# --- attention, recurrence and losses --------------------------------------------------------------------------------


def _softmax(z: Any) -> Any:
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return _softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def attention_vjp(i: Any, o: Any, c: Any) -> Any:
    (q, k, v), (dy,) = i, c
    p = _softmax(q @ k.T / np.sqrt(q.shape[1]))
    dp = dy @ v.T
    ds = p * (dp - (dp * p).sum(axis=1, keepdims=True)) / np.sqrt(q.shape[1])
    return ds @ k, ds.T @ q, p.T @ dy


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(x / 2))


def gru_cell(x: Any, h: Any, w: Any) -> Any:
    z = _sigmoid((x + h) @ w)
    return (1 - z) * h + z * np.tanh(x)


def gru_cell_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, h, w), (dy,) = i, c
    z, t = _sigmoid((x + h) @ w), np.tanh(x)
    da = dy * (t - h) * z * (1 - z)
    back = da @ w.T
    return back + dy * z * (1 - t**2), back + dy * (1 - z), (x + h).T @ da


def scan(a: Any, b: Any) -> Any:
    h, out = np.zeros(b.shape[1:]), []
    for t in range(len(b)):
        h = a[t] * h + b[t]
        out.append(h)
    return np.stack(out) if out else np.zeros_like(b)


def scan_vjp(i: Any, o: Any, c: Any) -> Any:
    (a, b), (y,), (dy,) = i, o, c
    da, db, carried = np.zeros_like(a), np.zeros_like(b), np.zeros(b.shape[1:])
    for t in reversed(range(len(b))):
        carried = carried + dy[t]
        db[t] = carried
        da[t] = carried * y[t - 1] if t else 0
        carried = carried * a[t]
    return da, db


def cross_entropy(logits: Any, labels: Any) -> Any:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return (np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]).mean()


def cross_entropy_vjp(i: Any, o: Any, c: Any) -> Any:
    (logits, labels), (dy,) = i, c
    p = _softmax(logits)
    p[np.arange(len(labels)), labels] -= 1
    return dy * p / len(labels), None


def binary_loss(x: Any, t: Any) -> Any:
    return np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x)))


def binary_loss_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, t), (dy,) = i, c
    return dy * (_sigmoid(x) - t), -dy * x


def huber(x: Any, t: Any) -> Any:
    d = np.abs(x - t)
    return np.where(d <= 1, 0.5 * d * d, d - 0.5).sum()


def huber_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, t), (dy,) = i, c
    g = dy * np.clip(x - t, -1, 1)
    return g, -g


def cosine(x: Any, y: Any) -> Any:
    return (x * y).sum(axis=-1) / np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))


def cosine_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, y), (s,), (ds,) = i, o, c
    nx, ny = (np.sqrt((v * v).sum(axis=-1, keepdims=True)) for v in (x, y))
    g, s = ds[..., None], s[..., None]
    return g * (y / (nx * ny) - s * x / nx**2), g * (x / (nx * ny) - s * y / ny**2)


def prelu(x: Any, slope: Any) -> Any:
    return np.where(x > 0, x, slope * x)


def prelu_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, slope), (dy,) = i, c
    return dy * np.where(x > 0, 1.0, slope), (dy * np.where(x > 0, 0.0, x)).sum(axis=0)


def rotary(x: Any, angle: Any) -> Any:
    a, b = x[..., 0::2], x[..., 1::2]
    y = np.empty_like(x)
    y[..., 0::2] = a * np.cos(angle) - b * np.sin(angle)
    y[..., 1::2] = a * np.sin(angle) + b * np.cos(angle)
    return y


def rotary_vjp(i: Any, o: Any, c: Any) -> Any:
    (x, angle), (y,), (dy,) = i, o, c
    da, db = dy[..., 0::2], dy[..., 1::2]
    dx = np.empty_like(x)
    dx[..., 0::2] = da * np.cos(angle) + db * np.sin(angle)
    dx[..., 1::2] = -da * np.sin(angle) + db * np.cos(angle)
    return dx, db * y[..., 0::2] - da * y[..., 1::2]
