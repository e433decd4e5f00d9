"""Right pairs of networks and numerics, which no checker may blame: (name, forward, vjp, inputs)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.gradcheck import ops_networks as nets
from tests.gradcheck import ops_numerics as numerics

_rng = np.random.default_rng(20)


def normal(*shape: int) -> Any:
    return _rng.normal(size=shape)


def definite(n: int) -> Any:
    a = normal(n, n)
    return a @ a.T + n * np.eye(n)


IDS = np.array([1, 4, 1, 0])
SEGMENTS = np.array([0, 0, 2, 3, 3, 3])
BOXES = np.array([[0.0, 0.0, 2.0, 3.0], [1.0, 1.0, 4.0, 2.5], [0.0, 0.0, 1.0, 1.0]])
OTHERS = np.array([[1.0, 0.5, 3.0, 2.0], [0.5, 0.0, 3.0, 3.0], [2.0, 2.0, 3.0, 3.0]])

PAIRS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "convolution": (nets.conv1d, nets.conv1d_vjp, (normal(2, 3, 7), normal(4, 3, 3))),
    "strided convolution with padding": (nets.strided_conv, nets.strided_conv_vjp, (normal(3, 8), normal(3))),
    "max pooling": (nets.max_pool, nets.max_pool_vjp, (normal(3, 9),)),
    "mean pooling": (nets.mean_pool, nets.mean_pool_vjp, (normal(3, 7),)),
    "batch norm": (nets.batch_norm, nets.batch_norm_vjp, (normal(7, 3), normal(3), normal(3))),
    "layer norm with a scale": (nets.layer_norm, nets.layer_norm_vjp, (normal(2, 3, 5), normal(5))),
    "attention": (nets.attention, nets.attention_vjp, (normal(5, 3), normal(4, 3), normal(4, 2))),
    "gated cell": (nets.gru_cell, nets.gru_cell_vjp, (normal(2, 3), normal(2, 3), normal(3, 3))),
    "linear recurrence": (nets.scan, nets.scan_vjp, (normal(6, 3), normal(6, 3))),
    "cross-entropy": (nets.cross_entropy, nets.cross_entropy_vjp, (normal(4, 5), IDS)),
    "binary cross-entropy": (nets.binary_loss, nets.binary_loss_vjp, (normal(3, 5), _rng.random((3, 5)))),
    "Huber loss": (nets.huber, nets.huber_vjp, (2 * normal(3, 5), normal(3, 5))),
    "cosine similarity": (nets.cosine, nets.cosine_vjp, (normal(3, 5), normal(3, 5))),
    "PReLU per channel": (nets.prelu, nets.prelu_vjp, (normal(5, 3), _rng.random(3))),
    "rotary embedding": (nets.rotary, nets.rotary_vjp, (normal(3, 6), normal(3, 3))),
    "embedding with repeated ids": (numerics.embedding, numerics.embedding_vjp, (normal(6, 3), IDS)),
    "segment mean with an empty one": (numerics.segment_mean, numerics.segment_mean_vjp, (normal(6, 2), SEGMENTS)),
    "interpolation": (numerics.interpolate, numerics.interpolate_vjp, (normal(6), np.array([0.3, 2.0, 2.7, 4.9]))),
    "reflect padding": (numerics.reflect, numerics.reflect_vjp, (normal(3, 6),)),
    "split": (numerics.split, numerics.split_vjp, (normal(3, 5),)),
    "top two": (numerics.top_two, numerics.top_two_vjp, (normal(3, 5),)),
    "Cholesky factor": (numerics.cholesky, numerics.cholesky_vjp, (definite(4),)),
    "linear solve": (numerics.solve, numerics.solve_vjp, (definite(4), normal(4, 3))),
    "inverse": (numerics.inverse, numerics.inverse_vjp, (definite(4),)),
    "log-determinant": (numerics.log_det, numerics.log_det_vjp, (definite(4),)),
    "eigenvalues": (numerics.eigenvalues, numerics.eigenvalues_vjp, (normal(4, 4),)),
    "real and imaginary spectrum": (numerics.spectrum, numerics.spectrum_vjp, (normal(3, 7),)),
    "cumulative product": (numerics.cumulative_product, numerics.cumulative_product_vjp, (normal(3, 5),)),
    "distances": (numerics.distances, numerics.distances_vjp, (normal(4, 3), normal(5, 3))),
    "unbiased variance": (numerics.variance, numerics.variance_vjp, (normal(3, 5),)),
    "logsumexp": (numerics.logsumexp, numerics.logsumexp_vjp, (normal(3, 5),)),
    "trapezoid rule": (numerics.trapezoid, numerics.trapezoid_vjp, (normal(7), np.sort(normal(7)))),
    "polynomial": (numerics.horner, numerics.horner_vjp, (normal(4), normal(3, 2))),
    "overlap of boxes": (numerics.overlap, numerics.overlap_vjp, (BOXES, OTHERS)),
}

OPS = [(name, *pair, {}) for name, pair in PAIRS.items()]
