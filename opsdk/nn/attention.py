"""Attention, as a function of tensors, Program variables and arrays alike."""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import ShapeError
from opsdk.nn.dropout import check_probability
from opsdk.ops import functions as ops
from opsdk.ops.nets.attention import scaled_dot_product_attention as _attention
from opsdk.ops.nets.unmasked_attention import unmasked_attention


# Any: tensors, variables or arrays, and the same out.
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    name: str | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = True,
) -> Any:
    """Returns softmax(scale · q kᵀ + mask) v of each head (Vaswani et al. 2017), without ever holding all its scores.

    Args:
        query: floats of shape (batch, queries, heads, d), as in Paddle; PyTorch has the heads before the queries.
        key: (batch, keys, heads, d); fewer heads, of which the number of the query's is a multiple, are shared.
        value: (batch, keys, heads, e), of the heads of the key.
        attn_mask: broadcasts to (batch, heads, queries, keys): bools, True where a query may look at a key, or floats
            that are added to the scores, and have a gradient.
        dropout_p: the probability with which a pair is dropped while it trains.
        is_causal: query i looks at keys up to i, also where there are more keys than queries.
        training: False: nothing is dropped.
        name: without meaning.
        scale: of the scores; 1/√d unless given.
        enable_gqa: False: the key has as many heads as the query.

    Returns:
        Of shape (batch, queries, heads, e); 0 for a query that may look at no key. Differentiable
        twice; the second order holds all pairs.

    Raises:
        ShapeError: shapes do not fit.
        DTypeError: a dtype is not that of the query.
        AttributeValueError: the probability lies outside of [0, 1].
    """
    check_probability(dropout_p, "scaled_dot_product_attention")
    if len(query.shape) != 4 or len(key.shape) != 4 or len(value.shape) != 4:
        raise ShapeError(
            "scaled_dot_product_attention: expected 4 axes, (batch, sequence, heads, size), got "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    if enable_gqa and query.shape[2] != key.shape[2]:
        key, value = (_shared(each, query.shape[2]) for each in (key, value))
    if attn_mask is None and not dropout_p:
        return unmasked_attention(query, key, value, causal=bool(is_causal), scale=scale)
    is_mask = attn_mask is not None and attn_mask.dtype.kind == "b"
    masks = (attn_mask, None) if is_mask else (None, attn_mask)
    options = {"causal": bool(is_causal), "scale": scale, "p": float(dropout_p), "training": bool(training)}
    return _attention(query, key, value, *masks, **options)


def _shared(x: Any, heads: int) -> Any:
    """Returns x (B, m, few, d) with each head as often as there are more of them."""
    few = x.shape[2]
    if not few or heads % few:
        raise ShapeError(
            f"scaled_dot_product_attention: heads of the query expected a multiple of those of the key, {few}, got "
            f"{heads}"
        )
    spread = ops.expand(ops.unsqueeze(x, 3), [-1, -1, -1, heads // few, -1])
    return ops.flatten(spread, 2, 3)
