"""Attention in tiles of queries and keys, which never holds the scores of all pairs.

A tile has at most 128 queries and 128 keys of some heads. The forward keeps a running maximum and a running sum (Dao
2023, FlashAttention-2, algorithm 1), and leaves the log-sum-exp of each query; the backward computes the probabilities
of a tile again from it (algorithm 2). Tiles above the diagonal of a causal call are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import Shape, TensorSpec, shape_text
from opsdk.core.sums import total
from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.define.vjp import vjp
from opsdk.ops.elementwise import elementwise_add, elementwise_mul
from opsdk.ops.joining import where
from opsdk.ops.matmul import matmul
from opsdk.ops.nets.dropout import kept
from opsdk.ops.normalization import softmax
from opsdk.ops.shape import transpose

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
_SIDE = 128  # queries, and keys, of a tile
_SCORES = 2**18  # numbers of a tile, 1 MB of float32: what the second cache holds
_Tile = tuple[slice, slice]  # queries and keys


def _heads(batch: int, heads: int, queries: int, keys: int) -> Iterator[tuple[int, slice]]:
    """Yields the batch and the heads that tiles are taken of together."""
    most = max(1, _SCORES // max(1, min(queries, _SIDE) * min(keys, _SIDE)))
    for b in range(batch):
        for start in range(0, heads, most):
            yield b, slice(start, min(start + most, heads))


def _tiles(queries: int, keys: int, causal: bool) -> Iterator[tuple[slice, list[slice]]]:
    """Yields queries with the keys that they may look at, in tiles."""
    for start in range(0, queries, _SIDE):
        stop = min(start + _SIDE, queries)
        last = min(keys, stop) if causal else keys
        yield slice(start, stop), [slice(j, min(j + _SIDE, last)) for j in range(0, last, _SIDE)]


def _masked(mask: np.ndarray, part: tuple[slice | int, ...]) -> np.ndarray:
    """Returns what of a mask, of four axes, a tile has."""
    whole: tuple[slice | int, ...] = (0, slice(None), slice(None), slice(None))
    return mask[tuple(at if size > 1 else every for at, size, every in zip(part, mask.shape, whole, strict=True))]


def _scores(q: np.ndarray, k: np.ndarray, masks: Any, causal: bool, part: tuple[Any, ...], scale: float) -> np.ndarray:
    """Returns the scores of a tile, -inf where a query may not look."""
    b, heads, rows, columns = part
    made = np.matmul(q[b, heads, rows], k[b, heads, columns].swapaxes(-1, -2))
    made *= made.dtype.type(scale)
    if causal and columns.stop > rows.start + 1:
        keys, queries = (np.arange(each.start, each.stop, like=made) for each in (columns, rows))
        np.copyto(made, -np.inf, where=keys > queries[:, None])
    mask, bias = masks
    if bias is not None:
        made += _masked(bias, part)
    return made if mask is None else np.where(_masked(mask, part), made, -np.inf)


def _finite(values: np.ndarray) -> np.ndarray:
    """Returns what may be taken from a score of -inf: that of a query that looks at nothing is 0."""
    return np.where(np.isneginf(values), 0, values)


def _by_head(*arrays: np.ndarray) -> Any:
    """Returns arrays (B, n, H, d) as (B, H, n, d), in the dtype that they are computed with."""
    return [array.astype(computed_in(array.dtype), copy=False).swapaxes(1, 2) for array in arrays]


def _scale_of(scale: float | None, size: int) -> float:
    return 1 / math.sqrt(size) if scale is None else scale


def _four_axes(mask: np.ndarray | None) -> np.ndarray | None:
    return None if mask is None else mask.reshape((1,) * (4 - mask.ndim) + mask.shape)


@op(
    "opsdk::scaled_dot_product_attention(Tensor<float> q, Tensor<float> k, Tensor<float> v, "
    "Tensor<bool>? mask=None, Tensor<float>? bias=None, *, bool causal=False, float? scale=None, "
    "0 <= float <= 1 p=0.0, bool training=True, Generator rng) -> Tensor out, residuals (Tensor lse)"
)
def scaled_dot_product_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    *,
    causal: bool,
    scale: float | None,
    p: float,
    training: bool,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """softmax(scale · q kᵀ + bias) v of each head (Vaswani et al. 2017); memory grows with n + m, not with n · m.

    Args:
        q: floats of shape (B, n, H, d): B sequences of n queries of H heads.
        k: (B, m, H, d).
        v: (B, m, H, e).
        mask: bools that broadcast to (B, H, n, m): True where a query may look at a key.
        bias: floats that broadcast likewise, and are added to the scores.
        causal: query i looks at keys up to i.
        scale: of the scores; 1/√d unless given.
        p: the probability with which a pair is dropped while it trains; the rest is divided by 1 - p.
        training: False: nothing is dropped.
        rng: generator of which the call takes the next draw; the backward draws tile by tile what the forward did.

    Returns:
        Of shape (B, n, H, e); 0 for a query that may look at no key.

    Gradient: with respect to q, k, v and bias, to order 2, which holds all pairs.
    """
    dtype, p = q.dtype, p if training else 0.0
    q, k, v = _by_head(q, k, v)
    (batch, heads, queries, size), keys = q.shape, k.shape[2]
    masks, scale = (_four_axes(mask), _four_axes(bias)), _scale_of(scale, size)
    out = np.zeros((batch, queries, heads, v.shape[-1]), q.dtype, like=q)
    lse = np.full_like(q, -np.inf, order="C", shape=(batch, heads, queries))
    made = out.swapaxes(1, 2)
    for b, at in _heads(batch, heads, queries, keys):
        for rows, tiles in _tiles(queries, keys, causal):
            top, added, sums = (np.array(first, q.dtype, like=q) for first in (-np.inf, 0, 0))
            for columns in tiles:
                e = _scores(q, k, masks, causal, (b, at, rows, columns), scale)
                higher = np.maximum(top, e.max(axis=-1, keepdims=True))
                held = _finite(higher)
                e -= held
                np.exp(e, out=e)
                before = np.exp(top - held)
                sums = sums * before + total(e, (-1,), keepdims=True)
                if p:
                    e = np.where(kept(rng, e.shape, p, e), e, 0)
                added = added * before + np.matmul(e, v[b, at, columns])
                top = higher
            if tiles:
                seen = np.where(sums > 0, sums, 1)
                made[b, at, rows] = added / (seen * (1 - p)) if p < 1 else 0
                lse[b, at, rows] = np.where(sums > 0, top + np.log(seen), -np.inf)[..., 0]
    return out.astype(dtype, copy=False), lse


def _check(name: str, spec: TensorSpec, shape: Shape, q: TensorSpec) -> None:
    pairs = zip(spec.shape, shape, strict=False)
    if spec.ndim != 4 or any(None not in (a, b) and a != b for a, b in pairs):
        raise ShapeError(
            f"op 'opsdk::scaled_dot_product_attention': {name} expected shape {shape_text(shape)} to fit q "
            f"{shape_text(q.shape)}, got {shape_text(spec.shape)}"
        )


@scaled_dot_product_attention.infer
def _attention(
    q: TensorSpec, k: TensorSpec, v: TensorSpec, mask: TensorSpec | None, bias: TensorSpec | None
) -> tuple[TensorSpec, TensorSpec]:
    if q.ndim != 4 or q.shape[-1] == 0:
        raise ShapeError(
            "op 'opsdk::scaled_dot_product_attention': q expected shape (B, n, H, d) with d ≥ 1, got "
            f"{shape_text(q.shape)}"
        )
    batch, queries, heads, size = q.shape
    _check("k", k, (batch, None, heads, size), q)
    _check("v", v, (batch, k.shape[1], heads, None), q)
    for name, spec in (("k", k), ("v", v), ("bias", bias)):
        if spec is not None and spec.dtype != q.dtype:
            raise DTypeError(
                f"op 'opsdk::scaled_dot_product_attention': {name} expected {q.dtype} like q, got {spec.dtype}; cast it"
            )
    pairs = (batch, heads, queries, k.shape[1])
    for name, spec in (("mask", mask), ("bias", bias)):
        if spec is None:
            continue
        fits = zip(spec.shape[::-1], pairs[::-1], strict=False)
        if spec.ndim > 4 or any(a != 1 and None not in (a, b) and a != b for a, b in fits):
            raise ShapeError(
                f"op 'opsdk::scaled_dot_product_attention': {name} expected to broadcast to (B, H, n, m) "
                f"{shape_text(pairs)}, got {shape_text(spec.shape)}"
            )
    return (
        TensorSpec((batch, queries, heads, v.shape[-1]), q.dtype),
        TensorSpec((batch, heads, queries), computed_in(q.dtype)),
    )


@scaled_dot_product_attention.backward
def scaled_dot_product_attention_grad(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None,
    bias: np.ndarray | None,
    out: np.ndarray,
    lse: np.ndarray,
    dout: np.ndarray,
    causal: bool,
    scale: float | None,
    p: float,
    training: bool,
    rng: np.random.Generator,
    needs_input_grad: Any,
) -> Any:
    """The same tiles, with their probabilities computed again."""
    given, p = (q, k, v), p if training else 0.0
    grads = [np.zeros(each.shape, computed_in(each.dtype), like=each) for each in given]
    q, k, v, out, dout = _by_head(q, k, v, out, dout)
    dq, dk, dv = (each.swapaxes(1, 2) for each in grads)
    masks, scale = (_four_axes(mask), _four_axes(bias)), _scale_of(scale, q.shape[-1])
    wants = masks[1] is not None and needs_input_grad[4]
    dbias = np.zeros(masks[1].shape, q.dtype, like=q) if wants and masks[1] is not None else None
    factor, kind = q.dtype.type(scale), q.dtype.type
    for b, at in _heads(q.shape[0], q.shape[1], q.shape[2], k.shape[2]):
        for rows, tiles in _tiles(q.shape[2], k.shape[2], causal):
            entered, query = dout[b, at, rows], q[b, at, rows]
            rest = total(entered * out[b, at, rows], (-1,), keepdims=True)
            level = _finite(lse[b, at, rows, None])
            gathered = np.array(0, q.dtype, like=q)
            for columns in tiles:
                key, value = k[b, at, columns], v[b, at, columns]
                share = _scores(q, k, masks, causal, (b, at, rows, columns), scale)
                share -= level
                np.exp(share, out=share)
                ds = np.matmul(entered, value.swapaxes(-1, -2))
                used = share
                if p:
                    mark = kept(rng, share.shape, p, share)
                    back = kind(1 / (1 - p)) if p < 1 else kind(0)
                    ds, used = np.where(mark, ds * back, 0), np.where(mark, share * back, 0)
                dv[b, at, columns] += np.matmul(used.swapaxes(-1, -2), entered)
                ds -= rest
                ds *= share
                if dbias is not None:
                    part = _masked(dbias, (b, at, rows, columns))
                    axes = tuple(i for i, n in enumerate(part.shape) if n == 1 and ds.shape[i] > 1)
                    part += total(ds, axes, keepdims=True) if axes else ds
                ds *= factor
                gathered = gathered + np.matmul(ds, key)
                dk[b, at, columns] += np.matmul(ds.swapaxes(-1, -2), query)
            dq[b, at, rows] = gathered
    made = [grad.astype(each.dtype, copy=False) for grad, each in zip(grads, given, strict=True)]
    if bias is None or dbias is None:
        return (*made, None)
    return (*made, dbias.reshape(bias.shape).astype(bias.dtype, copy=False))


@op(
    "opsdk::attention_dropout(Tensor<float> q, Tensor<float> k, *, bool causal=False, 0 <= float <= 1 p=0.5, "
    "Generator rng) -> Tensor out",
    nondifferentiable=("q", "k", "out"),
)
def attention_dropout(q: np.ndarray, k: np.ndarray, *, causal: bool, p: float, rng: np.random.Generator) -> np.ndarray:
    """What attention with dropout multiplies the share of each pair by: 0 or 1 / (1 - p), of shape (B, H, n, m)."""
    batch, queries, heads, keys = *q.shape[:3], k.shape[1]
    out = np.zeros((batch, heads, queries, keys), q.dtype, like=q)
    for b, at in _heads(batch, heads, queries, keys):
        for rows, tiles in _tiles(queries, keys, causal):
            for columns in tiles:
                part = out[b, at, rows, columns]
                part[...] = kept(rng, part.shape, p, part) / (1 - p) if p < 1 else 0
    return out


@attention_dropout.infer
def _attention_dropout(q: TensorSpec, k: TensorSpec) -> TensorSpec:
    return TensorSpec((q.shape[0], q.shape[2], q.shape[1], k.shape[1]), q.dtype)


@attention_dropout.samples
def _pairs(rng: np.random.Generator) -> Iterator[Sample]:
    q, k = rng.normal(size=(1, 3, 2, 1)), rng.normal(size=(1, 4, 2, 1))
    yield Sample(q, k, reason="all pairs")
    yield Sample(q, k, causal=True, p=1.0, reason="causal, all are dropped")


def _plain(q: Any, k: Any, v: Any, bias: Any, mask: Any, causal: bool, scale: float, factor: Any) -> Any:
    """Attention made of ops, with all pairs."""
    q, k, v = (transpose(each, perm=[0, 2, 1, 3]) for each in (q, k, v))
    scores = elementwise_mul(matmul(q, k, transpose_y=True), scale)
    scores = scores if bias is None else elementwise_add(scores, bias)
    low = np.tri(int(q.shape[2]), int(k.shape[2]), dtype=np.bool_) if causal else None
    for seen in filter(lambda each: each is not None, (low, mask)):
        scores = where(seen, scores, np.array(-3e4 if scores.dtype.itemsize == 2 else -1e30, scores.dtype))
    shares = softmax(scores)
    for seen in filter(lambda each: each is not None, (low, mask)):  # of a query that sees nothing all
        shares = where(seen, shares, np.array(0, scores.dtype))
    return transpose(matmul(shares if factor is None else shares * factor, v), perm=[0, 2, 1, 3])


@scaled_dot_product_attention_grad.backward(composite=True, disconnected=("out",))
def scaled_dot_product_attention_grad_grad(
    q: Any,
    k: Any,
    v: Any,
    mask: Any,
    bias: Any,
    dout: Any,
    causal: bool,
    scale: float | None,
    p: float,
    training: bool,
    rng: Any,
    ddq: Any,
    ddk: Any,
    ddv: Any,
    ddbias: Any,
) -> Any:
    """The second derivative of attention made of ops."""
    dropped = attention_dropout(q, k, causal=causal, p=p, rng=rng) if p and training else None
    biases = [] if bias is None else [bias]
    factor = _scale_of(scale, int(q.shape[-1]))

    def first(*values: Any) -> Any:
        def attend(q: Any, k: Any, v: Any, *added: Any) -> Any:
            return _plain(q, k, v, added[0] if added else None, mask, causal, factor, dropped)

        return vjp(attend, list(values[:-1]), values[-1])[1]

    _, made = vjp(first, [q, k, v, *biases, dout], [ddq, ddk, ddv, *([ddbias] if biases else [])])
    made = {"q": made[0], "k": made[1], "v": made[2], "bias": made[3] if biases else None, "dout": made[-1]}
    return {**made, "out": None}


@scaled_dot_product_attention.samples
def _attentions(rng: np.random.Generator) -> Iterator[Sample]:
    def of(*shapes: tuple[int, ...]) -> list[np.ndarray]:
        return [rng.normal(size=shape) for shape in shapes]

    yield Sample(*of((1, 3, 2, 2), (1, 4, 2, 2), (1, 4, 2, 3)), reason="two heads, more keys than queries")
    yield Sample(*of((2, 4, 1, 2), (2, 4, 1, 2), (2, 4, 1, 1)), causal=True, reason="causal")
    yield Sample(*of((1, 3, 2, 2), (1, 2, 2, 2), (1, 2, 2, 2)), causal=True, scale=0.7, reason="causal, fewer keys")
    seen = np.array([[True, False, True], [False, False, False]])
    yield Sample(*of((1, 2, 2, 2), (1, 3, 2, 2), (1, 3, 2, 2)), seen, reason="a mask, of one row nothing is seen")
    added = rng.normal(size=(2, 1, 3))
    yield Sample(*of((2, 2, 2, 2), (2, 3, 2, 2), (2, 3, 2, 2)), None, added, reason="numbers for each head are added")
    yield Sample(*of((1, 2, 1, 2), (1, 3, 1, 2), (1, 3, 1, 2)), p=0.4, training=False, reason="nothing is dropped")
    yield Sample(*of((1, 3, 2, 2), (1, 3, 2, 2), (1, 3, 2, 2)), p=0.4, causal=True, reason="pairs are dropped")
    yield Sample(*of((1, 2, 1, 2), (1, 0, 1, 2), (1, 0, 1, 2)), reason="no keys")
    yield Sample(*of((1, 0, 1, 2), (1, 2, 1, 2), (1, 2, 1, 2)), reason="no queries")
