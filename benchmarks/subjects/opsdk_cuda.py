"""Elementwise ops in opsdk on a GPU: the expressions of `opsdk_large`, on tensors at a CUDA place."""

from __future__ import annotations

import cupy

import opsdk
from benchmarks.subjects.opsdk_large import FUNCTIONS, TEXTS, builder, result
from benchmarks.subjects.tasks import BOTH, CUDA_TASKS, FORWARD, Large, queued

_TEXTS, _CALLS = queued({direction: TEXTS[direction] for direction in (FORWARD, BOTH)})


def _builder(op):
    def build(task, arrays):
        names = builder(FUNCTIONS[op], opsdk.CUDAPlace(0))(task, arrays)
        return {**names, "wait": cupy.cuda.Device().synchronize}

    return build


SUBJECTS = [Large("opsdk", task, _builder(task.op), _TEXTS, result, _CALLS) for task in CUDA_TASKS]
VERSION = opsdk.__version__
