"""Attention without mask, numbers that are added, or dropout, of which a kernel in C is quick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.define.decorators import op
from opsdk.define.sample import Sample
from opsdk.ops.nets import attention
from opsdk.ops.nets.attention import attention_specs, attention_twice


@op(
    "opsdk::unmasked_attention(Tensor<float> q, Tensor<float> k, Tensor<float> v, *, bool causal=False, "
    "float? scale=None) -> Tensor out, residuals (Tensor lse)"
)
def unmasked_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, *, causal: bool, scale: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """softmax(scale · q kᵀ) v of each head: `scaled_dot_product_attention` with nothing else.

    Args:
        q: floats of shape (B, n, H, d): B sequences of n queries of H heads.
        k: (B, m, H, d).
        v: (B, m, H, e).
        causal: query i looks at keys up to i.
        scale: of the scores; 1/√d unless given.

    Returns:
        Of shape (B, n, H, e); 0 where there are no keys.

    Gradient: to order 2, which holds all pairs.
    """
    made: tuple[np.ndarray, np.ndarray] = attention.forward(q, k, v, None, None, causal, scale, 0.0, None)
    return made


@unmasked_attention.infer
def _unmasked(q: Any, k: Any, v: Any) -> Any:
    return attention_specs("unmasked_attention", q, k, v, None, None)


@unmasked_attention.backward
def unmasked_attention_grad(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
    lse: np.ndarray,
    dout: np.ndarray,
    causal: bool,
    scale: float | None,
) -> Any:
    """The same tiles, with their probabilities computed again."""
    return attention.backward(q, k, v, None, None, out, lse, dout, causal=causal, scale=scale, p=0.0, rng=None)[:3]


@unmasked_attention_grad.backward(composite=True, disconnected=("out",))
def unmasked_attention_grad_grad(
    q: Any, k: Any, v: Any, dout: Any, causal: bool, scale: float | None, ddq: Any, ddk: Any, ddv: Any
) -> Any:
    """The second derivative of attention made of ops."""
    made = attention_twice(q, k, v, None, None, dout, causal, scale, None, (ddq, ddk, ddv, None))
    return {name: made[name] for name in ("q", "k", "v", "out", "dout")}


@unmasked_attention.samples
def _attentions(rng: np.random.Generator) -> Iterator[Sample]:
    def of(*shapes: tuple[int, ...]) -> list[np.ndarray]:
        return [rng.normal(size=shape) for shape in shapes]

    yield Sample(*of((1, 3, 2, 2), (1, 4, 2, 2), (1, 4, 2, 3)), reason="two heads, more keys than queries")
    yield Sample(*of((2, 4, 1, 2), (2, 4, 1, 2), (2, 4, 1, 1)), causal=True, reason="causal")
    yield Sample(*of((1, 3, 2, 2), (1, 2, 2, 2), (1, 2, 2, 2)), causal=True, scale=0.7, reason="causal, fewer keys")
    yield Sample(*of((1, 2, 1, 2), (1, 0, 1, 2), (1, 0, 1, 2)), reason="no keys")
    yield Sample(*of((1, 0, 1, 2), (1, 2, 1, 2), (1, 2, 1, 2)), reason="no queries")


for _op in (unmasked_attention, unmasked_attention_grad):
    _op.kernel(
        "cpu",
        language="c",
        dtype="float32",
        source=Path(__file__).with_suffix(".c"),
        openmp=True,
        optional=True,
        contiguous=True,
        flags=["-ffp-contract=fast"],
    )
