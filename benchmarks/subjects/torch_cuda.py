"""Elementwise ops in PyTorch on a GPU: eager, compiled to Triton kernels, and a copy of as many bytes."""

from __future__ import annotations

import torch

from benchmarks.subjects.tasks import BOTH, CUDA_TASKS, FORWARD, Copy, Large, queued
from benchmarks.subjects.torch_large import TEXTS, builder, copier, result

if not torch.cuda.is_available():
    raise RuntimeError("PyTorch sees no CUDA device")

_TEXTS, _CALLS = queued({direction: TEXTS[direction] for direction in (FORWARD, BOTH)})
_COPY, _ = queued(dict.fromkeys((FORWARD, BOTH), "out.copy_(source)"))


def _waiting(build):
    return lambda task, arrays: {**build(task, arrays), "wait": torch.cuda.synchronize}


SUBJECTS = [
    *(Large("torch eager", t, _waiting(builder(False, "cuda")), _TEXTS, result, _CALLS) for t in CUDA_TASKS),
    *(Large("torch.compile", t, _waiting(builder(True, "cuda")), _TEXTS, result, _CALLS) for t in CUDA_TASKS),
    *(
        Copy("copy, torch", task, _waiting(copier(direction, "cuda")), {direction: _COPY[direction]}, _CALLS)
        for task in CUDA_TASKS
        for direction in task.directions
    ),
]
VERSION = torch.__version__
