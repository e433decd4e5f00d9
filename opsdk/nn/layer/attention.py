"""Layers of attention, and the encoder that is made of them."""

from __future__ import annotations

import copy
from typing import Any

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn.attention import scaled_dot_product_attention
from opsdk.nn.dropout import check_probability, dropout
from opsdk.nn.layer.cells import check_sizes
from opsdk.nn.layer.containers import LayerList
from opsdk.nn.layer.dropout import Dropout
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.layers import Linear
from opsdk.nn.layer.normalization import LayerNorm
from opsdk.ops import functions as ops
from opsdk.ops.activation import gelu
from opsdk.ops.initializer import XavierUniform


# Any, in this file: tensors, variables or arrays, and the same out; every form that `as_param_attr` takes.
class MultiHeadAttention(Layer):
    """Attention of several heads, each of projections of its own (Vaswani et al. 2017, Attention is all you need).

    Args:
        embed_dim: size of the query, and of what comes out.
        num_heads: how many heads, of which `embed_dim` is a multiple.
        dropout: the probability with which a pair is dropped while it trains.
        kdim: size of the key; `embed_dim` unless given.
        vdim: size of the value; `embed_dim` unless given.
        need_weights: also returns the weights of all pairs, which are held then.
        weight_attr: of the weights of the projections, as of `Linear`.
        bias_attr: of their biases; False for none.

    Attributes:
        q_proj, k_proj, v_proj, out_proj: the projections, `Linear`.

    Raises:
        AttributeValueError: a size below 1, or one that is no multiple of the heads; the probability lies outside.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        _check_heads("MultiHeadAttention", embed_dim, num_heads, dropout)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.need_weights = need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(embed_dim if kdim is None else kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(embed_dim if vdim is None else vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def forward(self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None) -> Any:
        """Returns what the heads found, side by side and projected.

        Args:
            query: floats of shape (batch, queries, embed_dim).
            key: (batch, keys, kdim); the query unless given.
            value: (batch, keys, vdim); the key unless given.
            attn_mask: as of `functional.scaled_dot_product_attention`.

        Returns:
            Of the shape of the query, and with `need_weights` the weights (batch, heads, queries, keys).
            Differentiable.
        """
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (
            ops.reshape(project(x), [0, 0, self.num_heads, self.embed_dim // self.num_heads])
            for project, x in ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        )
        if not self.need_weights:
            made = scaled_dot_product_attention(q, k, v, attn_mask, self.dropout, training=self.training)
            return self.out_proj(ops.flatten(made, 2, 3))
        q, k, v = (ops.transpose(each, [0, 2, 1, 3]) for each in (q, k, v))
        scores = ops.matmul(q, k, transpose_y=True) * (self.embed_dim // self.num_heads) ** -0.5
        if attn_mask is not None:
            is_mask = attn_mask.dtype.kind == "b"
            scores = ops.where(attn_mask, scores, float("-inf")) if is_mask else scores + attn_mask
        weights = dropout(ops.softmax(scores), self.dropout, training=self.training)
        made = ops.transpose(ops.matmul(weights, v), [0, 2, 1, 3])
        return self.out_proj(ops.flatten(made, 2, 3)), weights

    def extra_repr(self) -> str:
        """Returns the sizes, and the dropout unless it is 0."""
        dropped = f", dropout={self.dropout}" if self.dropout else ""
        return f"{self.embed_dim}, num_heads={self.num_heads}{dropped}"


class MultiheadAttention(Layer):
    """PyTorch's attention of several heads: True in a mask of bools keeps a query from a key.

    Args:
        embed_dim: size of the query, and of what comes out.
        num_heads: how many heads, of which `embed_dim` is a multiple.
        dropout: the probability with which a pair is dropped while it trains.
        bias: False for projections without.
        kdim: size of the key; `embed_dim` unless given.
        vdim: size of the value; `embed_dim` unless given.
        batch_first: whether the batch is the first axis, else the second.

    Attributes:
        in_proj_weight: of the query's, the key's and the value's projection, of shape (3 · embed_dim, embed_dim), as it
            lies in PyTorch; of three sizes `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead.
        in_proj_bias: of shape (3 · embed_dim,), zeros at first, or None.
        out_proj: `Linear`.

    Raises:
        AttributeValueError: a size below 1, or one that is no multiple of the heads; the probability lies outside.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        _check_heads("MultiheadAttention", embed_dim, num_heads, dropout)
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = (embed_dim if size is None else size for size in (kdim, vdim))
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = self._weight(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = self._weight(embed_dim, embed_dim)
            self.k_proj_weight = self._weight(embed_dim, self.kdim)
            self.v_proj_weight = self._weight(embed_dim, self.vdim)
        self.in_proj_bias = self.create_parameter((3 * embed_dim,), None if bias else False, is_bias=True)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias)

    def _weight(self, out: int, into: int) -> Any:
        return self.create_parameter((out, into), default_initializer=XavierUniform(into, out))  # which lies turned

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Returns what the heads found, side by side and projected, and the weights of all pairs.

        Args:
            query: floats of shape (queries, batch, embed_dim), or with `batch_first` (batch, queries, embed_dim);
                without a batch (queries, embed_dim).
            key: the same of keys and kdim.
            value: the same of keys and vdim.
            key_padding_mask: of shape (batch, keys), or (keys,): True for keys that no query looks at, or floats that
                are added to the scores.
            need_weights: False: None in the place of the weights, which are not held then.
            attn_mask: of shape (queries, keys) or (batch · heads, queries, keys): True where a query may not look at a
                key, or floats that are added to the scores.
            average_attn_weights: whether the weights are the mean over the heads, else (batch, heads, queries, keys).
            is_causal: says that `attn_mask` is causal, which is looked at all the same.

        Raises:
            AttributeValueError: `is_causal` without `attn_mask`.
            ShapeError: a query without or with a batch, beside a key that is the other.
        """
        if is_causal and attn_mask is None:
            raise AttributeValueError(
                "MultiheadAttention: is_causal expected an attn_mask, of which it says that it is causal, got None"
            )
        is_batch = len(query.shape) == 3
        if {len(each.shape) for each in (query, key, value)} != {3 if is_batch else 2}:
            shapes = ", ".join(str(tuple(each.shape)) for each in (query, key, value))
            raise ShapeError(f"MultiheadAttention: expected query, key and value of 3 axes, or of 2, got {shapes}")
        parts = [query, key, value]
        if not is_batch:
            parts = [ops.unsqueeze(each, 0) for each in parts]
        elif not self.batch_first:
            parts = [ops.transpose(each, [1, 0, 2]) for each in parts]
        q, k, v = self._heads(parts)
        mask = self._mask(attn_mask, key_padding_mask, q.shape[0])
        if need_weights:
            q, k, v = (ops.transpose(each, [0, 2, 1, 3]) for each in (q, k, v))
            scores = ops.matmul(q, k, transpose_y=True) * (self.embed_dim // self.num_heads) ** -0.5
            weights = dropout(
                ops.softmax(scores if mask is None else scores + mask), self.dropout, training=self.training
            )
            made = ops.transpose(ops.matmul(weights, v), [0, 2, 1, 3])
            weights = ops.mean(weights, 1) if average_attn_weights else weights
        else:
            made, weights = scaled_dot_product_attention(q, k, v, mask, self.dropout, training=self.training), None
        made = self.out_proj(ops.flatten(made, 2, 3))
        if not is_batch:
            return ops.squeeze(made, 0), None if weights is None else ops.squeeze(weights, 0)
        return made if self.batch_first else ops.transpose(made, [1, 0, 2]), weights

    def _heads(self, parts: list[Any]) -> list[Any]:
        """Returns query, key and value (batch, length, size) projected, as (batch, length, heads, size of one)."""
        is_one = "in_proj_weight" in self._parameters
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        weights = ops.split(self.in_proj_weight, 3) if is_one else [getattr(self, name) for name in names]
        biases = [None] * 3 if self.in_proj_bias is None else ops.split(self.in_proj_bias, 3)
        found = []
        for x, weight, bias in zip(parts, weights, biases, strict=True):
            made = ops.matmul(x, weight, transpose_y=True)
            made = made if bias is None else made + bias
            found.append(ops.reshape(made, [0, 0, self.num_heads, self.embed_dim // self.num_heads]))
        return found

    def _mask(self, of_pairs: Any, of_keys: Any, batch: int) -> Any:
        """Returns what is added to the scores (batch, heads, queries, keys); None without a mask."""
        if of_pairs is not None and len(of_pairs.shape) == 3:
            of_pairs = ops.reshape(of_pairs, [batch, self.num_heads, *of_pairs.shape[1:]])
        if of_keys is not None:
            of_keys = ops.reshape(of_keys, [batch, 1, 1, of_keys.shape[-1]])
        masks = [_added(mask, self.out_proj.weight.dtype) for mask in (of_pairs, of_keys) if mask is not None]
        return None if not masks else masks[0] if len(masks) == 1 else masks[0] + masks[1]

    def extra_repr(self) -> str:
        """Returns the sizes, and the dropout unless it is 0."""
        dropped = f", dropout={self.dropout}" if self.dropout else ""
        return f"{self.embed_dim}, num_heads={self.num_heads}{dropped}, batch_first={self.batch_first}"


def _added(mask: Any, dtype: Any) -> Any:
    if mask.dtype.kind != "b":
        return mask
    zeros = ops.cast(mask, dtype) * 0.0
    return ops.where(mask, zeros - float("inf"), zeros)


def _check_heads(subject: str, embed_dim: int, num_heads: int, dropout: float) -> None:
    check_sizes(subject, embed_dim=embed_dim, num_heads=num_heads)
    check_probability(dropout, subject)
    if embed_dim % num_heads:
        raise AttributeValueError(
            f"{subject}: embed_dim expected a multiple of num_heads, {num_heads}, got {embed_dim}"
        )


class TransformerEncoderLayer(Layer):
    """Self-attention and two linear maps, each with a residual and a layer norm (Vaswani et al. 2017).

    Args:
        d_model: size of what goes in and comes out.
        nhead: how many heads, of which `d_model` is a multiple.
        dim_feedforward: size between the two linear maps.
        dropout: the probability with which what either part gives is dropped.
        activation: `relu` or `gelu`.
        attn_dropout: that of pairs in the attention; `dropout` unless given.
        act_dropout: that behind the activation; `dropout` unless given.
        normalize_before: norms stand before the parts, else behind their residuals.
        weight_attr: of all weights of linear maps.
        bias_attr: of all their biases.
        layer_norm_eps: added to variances.

    Raises:
        AttributeValueError: another activation, or as of `MultiHeadAttention`.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise AttributeValueError(f"TransformerEncoderLayer: activation expected relu or gelu, got {activation!r}")
        attrs = weight_attr, bias_attr
        self.normalize_before = normalize_before
        self.activation = activation
        pairs = dropout if attn_dropout is None else attn_dropout
        self.self_attn = MultiHeadAttention(d_model, nhead, pairs, weight_attr=weight_attr, bias_attr=bias_attr)
        self.linear1 = Linear(d_model, dim_feedforward, *attrs)
        self.dropout = Dropout(dropout if act_dropout is None else act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, *attrs)
        self.norm1 = LayerNorm(d_model, layer_norm_eps)
        self.norm2 = LayerNorm(d_model, layer_norm_eps)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)

    def forward(self, src: Any, src_mask: Any = None) -> Any:
        """Returns what comes of floats (batch, length, d_model), of that shape; the mask is that of the attention."""
        if self.normalize_before:
            src = src + self.dropout1(self.self_attn(self.norm1(src), attn_mask=src_mask))
            return src + self.dropout2(self._feed(self.norm2(src)))
        src = self.norm1(src + self.dropout1(self.self_attn(src, attn_mask=src_mask)))
        return self.norm2(src + self.dropout2(self._feed(src)))

    def _feed(self, x: Any) -> Any:
        between = self.linear1(x)
        bent = ops.relu(between) if self.activation == "relu" else gelu(between)
        return self.linear2(self.dropout(bent))


class TransformerEncoder(Layer):
    """Encoder layers, one on the other: the one that is given, and copies of it, which begin with its values.

    Args:
        encoder_layer: the layer.
        num_layers: how many, ≥ 1.
        norm: a layer norm behind the last, or None.
    """

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        check_sizes("TransformerEncoder", num_layers=num_layers)
        self.layers = LayerList([encoder_layer, *[copy.deepcopy(encoder_layer) for _ in range(num_layers - 1)]])
        self.norm = norm

    def forward(self, src: Any, src_mask: Any = None) -> Any:
        """Returns what comes of floats (batch, length, d_model), of that shape."""
        for layer in self.layers:
            src = layer(src, src_mask)
        return src if self.norm is None else self.norm(src)


LAYERS = MultiHeadAttention, MultiheadAttention, TransformerEncoderLayer, TransformerEncoder
