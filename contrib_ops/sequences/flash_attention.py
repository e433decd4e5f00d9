"""Attention in blocks of keys, which never holds the scores of all pairs, and gives their log-sum-exp."""

import math

import numpy as np

import opsdk
from opsdk import errors

BLOCK = 128  # keys at a time


@opsdk.op(
    "contrib::flash_attention(Tensor q, Tensor k, Tensor v, Tensor<bool>? mask=None, *, bool causal=False, "
    "float? scale=None) -> (Tensor out, Tensor lse)"
)
def flash_attention(q, k, v, mask, causal, scale):
    """out = softmax(scale · q kᵀ) v and lse, the log-sum-exp of each row of scores.

    Blocks of keys are taken one after the other, with a running maximum and sum (Dao 2023, FlashAttention-2,
    algorithm 1), so that memory grows with n + m, not with n · m; `torch.nn.functional.scaled_dot_product_attention`.

    Args:
        q: float array (…, n, d).
        k: (…, m, d), of the dtype and the leading axes of q.
        v: (…, m, e), likewise.
        mask: bool array that broadcasts to (…, n, m): True where a query may look at a key.
        causal: query i looks at keys up to i + m - n, so that the last query sees all.
        scale: of the scores; 1/√d unless given.

    Returns out of shape (…, n, e), and lse of shape (…, n); with it the results for two sets of keys can be joined. Of
    a query that may look at no key they are 0 and -inf. A key that a query may not look at is absent, also where it or
    its value is nan or inf.

    Raises ValueError: shapes do not fit.

    Gradient: with respect to q, k and v, through out and lse, to order 2. The first is computed in blocks too, from
    out and lse in place of the probabilities (algorithm 2); the second holds all pairs.
    """
    dtype, (q, k, v) = q.dtype, widened(q, k, v)
    top = np.full(q.shape[:-1], -np.inf, q.dtype)
    total, out = np.zeros_like(top), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for keys, scores in blocks(q, k, mask, causal, scale):
        higher = np.maximum(top, scores.max(axis=-1))
        e = np.exp(scores - finite(higher)[..., None])
        kept = np.exp(top - finite(higher))
        total = total * kept + e.sum(axis=-1)
        out = out * kept[..., None] + attended(e, scores, v[..., keys, :])
        top = higher
    seen = np.where(total != 0, total, 1)
    return (out / seen[..., None]).astype(dtype), np.where(total != 0, top + np.log(seen), -np.inf).astype(dtype)


def attended(weights, scores, values):
    """Returns weights @ values without the pairs whose score is -inf, where 0 · nan would be nan."""
    is_finite = np.isfinite(values)
    if is_finite.all():
        return weights @ values
    made = weights @ np.where(is_finite, values, 0)
    for j in np.flatnonzero(~is_finite.all(axis=(*range(values.ndim - 2), -1))):
        wild = np.where(is_finite[..., j, :], 0, values[..., j, :])[..., None, :]
        with np.errstate(invalid="ignore"):
            made += np.where(np.isneginf(scores[..., j, None]), 0, weights[..., j, None] * wild)
    return made


def widened(*arrays):
    """Returns arrays as their products are added: float16 and bfloat16 as float32."""
    return tuple(array.astype(np.result_type(array.dtype, np.float32), copy=False) for array in arrays)


def blocks(q, k, mask, causal, scale):
    """Yields slices of keys with their scores, -inf where a query may not look."""
    n, m = q.shape[-2], k.shape[-2]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scaled = q * q.dtype.type(scale)
    for start in range(0, m, BLOCK):
        keys = slice(start, min(start + BLOCK, m))
        scores = scaled @ np.swapaxes(k[..., keys, :], -1, -2)
        if causal:
            scores = np.where(np.arange(m)[keys] <= np.arange(n)[:, None] + m - n, scores, -np.inf)
        if mask is not None:
            scores = np.where(np.broadcast_to(mask, (*mask.shape[:-1], m))[..., keys], scores, -np.inf)
        yield keys, scores


def finite(lse):
    """Returns what may be taken from a score of -inf: that of a query that looks at nothing is 0."""
    return np.where(np.isneginf(lse), 0, lse)


@flash_attention.infer
def flash_attention_infer(q, k, v, mask):
    shapes = q.shape, k.shape, v.shape
    lead = [shape[:-2] for shape in shapes]
    sizes = (k.shape[-1], q.shape[-1]), (k.shape[-2:-1], v.shape[-2:-1])
    open_ = any(None in shape for shape in shapes)
    if min(map(len, shapes)) < 2 or (not open_ and (len(set(lead)) > 1 or any(a != b for a, b in sizes))):
        raise errors.ShapeError(
            f"op 'contrib::flash_attention': expected q (…, n, d), k (…, m, d) and v (…, m, e), got {q.shape}, "
            f"{k.shape} and {v.shape}"
        )
    if mask is not None and not open_ and None not in mask.shape:
        pairs = (*q.shape[:-1], k.shape[-2])
        if mask.ndim > len(pairs) or any(a not in (1, b) for a, b in zip(mask.shape[::-1], pairs[::-1], strict=False)):
            raise errors.ShapeError(
                f"op 'contrib::flash_attention': mask expected to broadcast to {pairs}, got {mask.shape}"
            )
    return opsdk.TensorSpec((*q.shape[:-1], v.shape[-1]), q.dtype), opsdk.TensorSpec(q.shape[:-1], q.dtype)


@flash_attention.check
def flash_attention_check(q, k, v, mask, causal, scale):
    flash_attention_infer(q, k, v, mask)
    if not q.dtype == k.dtype == v.dtype or q.dtype.kind not in "fV":
        return f"q, k and v expected one floating dtype, got {q.dtype}, {k.dtype} and {v.dtype}; cast them"
    if not q.shape[-1]:
        return f"q and k expected vectors of one element or more, got shape {q.shape}"
    return None


@flash_attention.backward
def flash_attention_grad(q, k, v, mask, out, lse, dout, dlse, causal, scale):
    factor, dtype = 1 / math.sqrt(q.shape[-1]) if scale is None else scale, q.dtype
    q, k, v, out, lse, dout, dlse = widened(q, k, v, out, lse, dout, dlse)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    rest = dlse - (dout * out).sum(axis=-1)
    for keys, scores in blocks(q, k, mask, causal, scale):
        p = np.exp(scores - finite(lse)[..., None])
        with np.errstate(invalid="ignore"):  # 0 · nan of keys that are masked
            ds = factor * p * (dout @ np.swapaxes(v[..., keys, :], -1, -2) + rest[..., None])
        ds = np.where(np.isneginf(scores), 0, ds)
        dq += attended(ds, scores, k[..., keys, :])
        by_key = np.swapaxes(scores, -1, -2)
        dk[..., keys, :] = attended(np.swapaxes(ds, -1, -2), by_key, q)
        dv[..., keys, :] = attended(np.swapaxes(p, -1, -2), by_key, dout)
    return dq.astype(dtype), dk.astype(dtype), dv.astype(dtype)


@flash_attention_grad.backward
def flash_attention_grad_grad(q, k, v, mask, out, lse, dout, dlse, causal, scale, ddq, ddk, ddv):
    def t(x):
        return np.swapaxes(x, -1, -2)

    factor, dtype = 1 / math.sqrt(q.shape[-1]) if scale is None else scale, q.dtype
    q, k, v, out, lse, dout, dlse, ddq, ddk, ddv = widened(q, k, v, out, lse, dout, dlse, ddq, ddk, ddv)
    shape = (*q.shape[:-1], k.shape[-2])
    found = [block for _, block in blocks(q, k, mask, causal, scale)]
    scores = np.concatenate(found, axis=-1) if found else np.zeros(shape, q.dtype)
    unseen, by_key = np.isneginf(scores), t(scores)
    p = np.exp(scores - finite(lse)[..., None])
    with np.errstate(invalid="ignore"):  # 0 · nan of keys that are masked
        arrived = np.where(unseen, 0, dout @ t(v) + (dlse - (dout * out).sum(axis=-1))[..., None])
        g = np.where(unseen, 0, factor * (ddq @ t(k) + q @ t(ddk)))  # what enters at p · arrived
        gp = np.where(unseen, 0, g * arrived + dout @ t(ddv))
    ds, ga = factor * p * arrived, g * p  # ds is of the scores, before the scale
    gs = factor * gp * p
    grown = ga.sum(axis=-1)
    made = (
        attended(gs, scores, k) + attended(ds, scores, ddk),
        attended(t(gs), by_key, q) + attended(t(ds), by_key, ddq),
        attended(t(ga), by_key, dout),
        -grown[..., None] * dout,
        -(gp * p).sum(axis=-1),
        attended(p, scores, ddv) + attended(ga, scores, v) - grown[..., None] * out,
        grown,
    )
    return tuple(x.astype(dtype) for x in made)


@flash_attention.samples
def flash_attention_samples(rng):
    def of(*shapes):
        return [rng.normal(size=shape) for shape in shapes]

    yield opsdk.Sample(*of((4, 3), (5, 3), (5, 2)), reason="one head, more keys than queries")
    yield opsdk.Sample(*of((2, 2, 4, 2), (2, 2, 4, 2), (2, 2, 4, 3)), causal=True, reason="heads, causal")
    yield opsdk.Sample(*of((3, 2), (5, 2), (5, 1)), causal=True, scale=0.7, reason="causal, as with earlier keys")
    seen = rng.random((4, 6)) < 0.6
    seen[1], seen[2] = False, [*(False,) * 5, True]
    yield opsdk.Sample(
        *of((2, 4, 3), (2, 6, 3), (2, 6, 2)), seen, reason="a mask, of one row all and of one all but one"
    )
    yield opsdk.Sample(*of((2, 3, 2), (2, 4, 2), (2, 4, 2)), rng.random((2, 1, 4)) < 0.7, reason="a mask of padding")
    yield opsdk.Sample(*of((3, 2), (4, 2), (4, 2)), np.array([[True], [False], [True]]), reason="a mask of queries")
    heads = rng.random((2, 1, 1, 4)) < 0.6
    yield opsdk.Sample(*of(*[(2, 3, n, 2) for n in (3, 4, 4)]), heads, reason="a mask for all heads of a batch")
    each = rng.random((2, 3, 1, 4)) < 0.6
    yield opsdk.Sample(*of(*[(2, 3, n, 2) for n in (2, 4, 4)]), each, reason="a mask for each head")
    q, k, v = of((2, 3), (BLOCK + 3, 3), (BLOCK + 3, 1))
    k[BLOCK] = 2 * q[0]
    yield opsdk.Sample(q, k, v, reason="two blocks of keys, with the greatest score in the second")
    yield opsdk.Sample(*of((3, 2), (0, 2), (0, 2)), reason="no keys")
    yield opsdk.Sample(*of((0, 2), (3, 2), (3, 2)), reason="no queries")


@flash_attention.bench
def flash_attention_bench(rng, n):
    """Eight heads of 64, as many queries as keys."""
    length = max(1, n // (8 * 64))
    return opsdk.Sample(*[rng.normal(size=(8, length, 64)) for _ in range(3)], causal=True)


FLOATS = ("float32", "float64")
flash_attention.kernel("cpu", language="c", dtype=FLOATS, source="flash_attention.c", dtypes={"mask": "bool"})
