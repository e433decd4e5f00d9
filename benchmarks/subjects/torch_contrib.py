"""The ops of contrib_ops in PyTorch: its own where it has one, else the formula in its ops."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from benchmarks.subjects.contrib_tasks import BOTH, FORWARD, TASKS, Subject, arrays_of, cotangent, unlike


def _roi_align(input, boxes, output_size, spatial_scale, sampling_ratio, aligned):
    # As samples of grid_sample, whose border holds places outside as long as they are less than a pixel away.
    (high, wide), (h, w) = output_size, input.shape[2:]
    made = []
    for n in range(len(input)):
        corners = boxes[boxes[:, 0] == n, 1:] * spatial_scale - (0.5 if aligned else 0.0)
        left, top, right, bottom = corners[:, :, None].unbind(1)
        across = (torch.arange(wide * sampling_ratio) + 0.5) / (wide * sampling_ratio)
        down = (torch.arange(high * sampling_ratio) + 0.5) / (high * sampling_ratio)
        x = (left + (right - left) * across + 0.5) * 2 / w - 1
        y = (top + (bottom - top) * down + 0.5) * 2 / h - 1
        shape = (len(corners), len(down), len(across))
        grid = torch.stack([x[:, None, :].expand(shape), y[:, :, None].expand(shape)], -1)
        taken = F.grid_sample(
            input[n : n + 1], grid.reshape(1, -1, len(across), 2), padding_mode="border", align_corners=False
        )
        taken = taken.reshape(input.shape[1], *shape).transpose(0, 1)
        made.append(F.avg_pool2d(taken, sampling_ratio))
    return torch.cat(made)


def _ctc_loss(logits, targets, input_lengths, target_lengths):
    return F.ctc_loss(F.log_softmax(logits, -1), targets, input_lengths, target_lengths)


def _focal_loss(inputs, targets):
    p = torch.sigmoid(inputs)
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    return (0.25 * targets + 0.75 * (1 - targets)) * (1 - right) ** 2 * entropy


def _rotary(x, cos, sin):
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def _segment_sum(data, segment_ids, num_segments):
    return data.new_zeros(num_segments, *data.shape[1:]).index_add(0, segment_ids, data)


def _segment_softmax(data, segment_ids, num_segments):
    index = segment_ids[:, None].expand_as(data)
    top = data.new_full((num_segments, data.shape[1]), -torch.inf)
    top = top.scatter_reduce(0, index, data.detach(), "amax")
    mass = torch.exp(data - top[segment_ids])
    return mass / _segment_sum(mass, segment_ids, num_segments)[segment_ids]


def _selective_scan(u, delta, A, B, C, D):
    decay = torch.exp(delta[..., None] * A[:, None, :])
    entering = (delta * u)[..., None] * B.transpose(1, 2)[:, None]
    h, made = torch.zeros_like(decay[:, :, 0]), []
    for t in range(u.shape[2]):
        h = decay[:, :, t] * h + entering[:, :, t]
        made.append((h * C[:, None, :, t]).sum(-1))
    return torch.stack(made, -1) + D[:, None] * u


def _sinkhorn(cost, a, b, eps, iterations, gradient):
    kernel, g = -cost / eps, torch.zeros_like(b)
    log_a, log_b = torch.log(a / a.sum()), torch.log(b / b.sum())
    for _ in range(iterations):
        f = log_a - torch.logsumexp(kernel + g, 1)
        g = log_b - torch.logsumexp(kernel + f[:, None], 0)
    return torch.exp(kernel + f[:, None] + g)


def _topk(x, k):
    values, places = x.topk(k, -1)
    kept = torch.zeros_like(x).scatter(-1, places, values)
    return x + (kept - x).detach()


def _fake_quantize(x, scale):
    return torch._fake_quantize_learnable_per_tensor_affine(x, scale, torch.zeros(1), -128, 127, 1.0)


OWN = {
    "ctc_loss": _ctc_loss,
    "embedding_bag": lambda weight, input, offsets, mode: F.embedding_bag(input, weight, offsets, mode=mode),
    "cholesky": torch.linalg.cholesky,
    "rms_norm": lambda x, weight: F.rms_norm(x, weight.shape, weight, 1e-6),
    "fake_quantize": _fake_quantize,
}
FORMULAS = {
    "roi_align": _roi_align,
    "squareplus": lambda x: (x + torch.sqrt(x * x + 4)) / 2,
    "snake": lambda x, alpha: x + torch.sin(alpha * x) ** 2 / alpha,
    "focal_loss": _focal_loss,
    "rotary_embedding": _rotary,
    "segment_sum": _segment_sum,
    "segment_softmax": _segment_softmax,
    "selective_scan": _selective_scan,
    "sinkhorn": _sinkhorn,
    "topk_straight_through": _topk,
}


def _builder(function):
    def build(task, arrays):
        plain = [torch.from_numpy(array) for array in arrays.values()]
        followed = [t.detach().requires_grad_(name in task.wrt) for name, t in zip(arrays, plain, strict=True)]
        names = {"f": function, "a": dict(task.attrs), "plain": plain, "followed": followed}
        names |= {"grad": torch.autograd.grad, "wrt": [t for t in followed if t.requires_grad]}
        if task.wrt:
            names["dy"] = torch.from_numpy(cotangent(tuple(function(*plain, **task.attrs).shape)))
        return names

    return build


def _checker(function):
    def check(task):
        from benchmarks.subjects.opsdk_contrib import results  # not in the way of what is timed

        names = _builder(function)(task, arrays_of(task))
        made = [names["f"](*names["plain"], **names["a"])]
        if task.wrt:
            made += names["grad"](names["f"](*names["followed"], **names["a"]), names["wrt"], names["dy"])
        return unlike(task, [tensor.numpy() for tensor in made], results(task))

    return check


_TEXTS = {FORWARD: "f(*plain, **a)", BOTH: "grad(f(*followed, **a), wrt, dy)"}
SUBJECTS = [
    Subject(name, task, _builder(table[task.op]), _TEXTS, _checker(table[task.op]))
    for task in TASKS
    for name, table in (("torch", OWN), ("torch, formula", FORMULAS))
    if task.op in table
]
VERSION = torch.__version__
