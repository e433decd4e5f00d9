"""What PyTorch offers for the ops of contrib_ops, for `python -m opsdk bench contrib_ops --peers` with this file.

Its own function where it has one, else the formula in its ops; with `--backward` its gradient of the same, the graph
being there already.
"""

from __future__ import annotations

from functools import partial

OWN = ("cholesky", "ctc_terms", "embedding_bag", "fake_quantize", "rms_norm")


def _function(name):
    from benchmarks.subjects import torch_contrib

    return torch_contrib.OWN.get(name) or torch_contrib.FORMULAS[name]


def _tensors(threads, *arrays):
    import torch

    torch.set_num_threads(threads)
    return [torch.from_numpy(array) for array in arrays]


def _timed(name, threads, *arrays, **attrs):
    return partial(_function(name), *_tensors(threads, *arrays), **attrs)


def _gradient(name, threads, wrt, dy, *arrays, **attrs):
    """Times the gradient of the inputs at the positions `wrt`; the others get None, as in the op."""
    import torch

    (cotangent, *tensors) = _tensors(threads, dy, *arrays)
    for i in wrt:
        tensors[i].requires_grad_()
    y = _function(name)(*tensors, **attrs)
    followed = [tensors[i] for i in wrt]
    return lambda: torch.autograd.grad(y, followed, cotangent, retain_graph=True)


def _ctc(log_probs, targets, input_lengths, target_lengths, blank, threads):
    from torch.nn import functional as F

    tensors = _tensors(threads, log_probs, targets, input_lengths, target_lengths)
    return lambda: F.ctc_loss(*tensors, blank=blank, reduction="none")


def _pooling(output_size, spatial_scale, sampling_ratio, aligned):
    return {
        "output_size": output_size,
        "spatial_scale": spatial_scale,
        "sampling_ratio": sampling_ratio,
        "aligned": aligned,
    }


FORWARD = {
    "roi_align": lambda input, boxes, output_size, spatial_scale, sampling_ratio, aligned, threads: _timed(
        "roi_align", threads, input, boxes, **_pooling(output_size, spatial_scale, sampling_ratio, aligned)
    ),
    "embedding_bag": lambda weight, input, offsets, mode, threads: _timed(
        "embedding_bag", threads, weight, input, offsets, mode=mode
    ),
    "cholesky": lambda A, threads: _timed("cholesky", threads, A),
    "rms_norm": lambda x, weight, threads: _timed("rms_norm", threads, x, weight),
    "squareplus": lambda x, threads: _timed("squareplus", threads, x),
    "snake": lambda x, alpha, threads: _timed("snake", threads, x, alpha),
    "focal_terms": lambda inputs, targets, threads: _timed("focal_loss", threads, inputs, targets),
    "rotary_embedding": lambda x, cos, sin, threads: _timed("rotary_embedding", threads, x, cos, sin),
    "segment_sum": lambda data, segment_ids, num_segments, threads: _timed(
        "segment_sum", threads, data, segment_ids, num_segments=num_segments
    ),
    "segment_softmax": lambda data, segment_ids, num_segments, threads: _timed(
        "segment_softmax", threads, data, segment_ids, num_segments=num_segments
    ),
    "sinkhorn": lambda cost, a, b, eps, iterations, gradient, threads: _timed(
        "sinkhorn", threads, cost, a, b, eps=eps, iterations=iterations, gradient=gradient
    ),
    "topk_straight_through": lambda x, k, threads: _timed("topk_straight_through", threads, x, k=k),
    "fake_quantize": lambda x, scale, threads: _timed("fake_quantize", threads, x, scale.reshape(1)),
}
BACKWARD = {
    "roi_align_grad": lambda input, boxes, dy, output_size, spatial_scale, sampling_ratio, aligned, threads: _gradient(
        "roi_align", threads, [0], dy, input, boxes, **_pooling(output_size, spatial_scale, sampling_ratio, aligned)
    ),
    "cholesky_grad": lambda A, dL, threads: _gradient("cholesky", threads, [0], dL, A),
    "rms_norm_grad": lambda x, weight, dy, threads: _gradient("rms_norm", threads, [0, 1], dy, x, weight),
    "squareplus_grad": lambda x, dy, threads: _gradient("squareplus", threads, [0], dy, x),
    "segment_sum_grad": lambda data, segment_ids, dy, num_segments, threads: _gradient(
        "segment_sum", threads, [0], dy, data, segment_ids, num_segments=num_segments
    ),
    "segment_softmax_grad": lambda data, segment_ids, dy, num_segments, threads: _gradient(
        "segment_softmax", threads, [0], dy, data, segment_ids, num_segments=num_segments
    ),
    "sinkhorn_grad": lambda cost, a, b, dplan, eps, iterations, gradient, threads: _gradient(
        "sinkhorn", threads, [0, 1, 2], dplan, cost, a, b, eps=eps, iterations=iterations, gradient=gradient
    ),
}
MAKERS = {**FORWARD, **BACKWARD, "ctc_terms": _ctc}
PEERS = {
    f"contrib::{name}": {"torch" if name.removesuffix("_grad") in OWN else "torch formula": make}
    for name, make in MAKERS.items()
}
