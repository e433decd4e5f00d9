"""Steps of optimizers in opsdk; the ops that they call, on bare arrays, are what a step costs at least."""

from __future__ import annotations

import numpy as np

import opsdk
from benchmarks.subjects.training import RATE, TOGETHER, WORKS, Loop
from opsdk.ops.updates import plain
from opsdk.optimizer import SGD, Adam, Momentum

MADE = {"SGD": SGD, "Momentum": Momentum, "Adam": Adam}


def _loop(trained, params, grads):
    tensors = [opsdk.to_tensor(param, stop_gradient=False) for param in params]
    arrived = [opsdk.to_tensor(grad) for grad in grads]
    optimizer = MADE[trained.optimizer](learning_rate=RATE, parameters=tensors)

    def give():
        for tensor, grad in zip(tensors, arrived, strict=True):
            tensor.grad = grad

    return {"give": give, "optimizer": optimizer, "clear": optimizer.clear_grad, "params": tensors}


def _kernel(trained, params, grads):
    op, rate = getattr(plain, trained.optimizer.lower()), np.array([RATE], np.float32)
    slots = [np.zeros_like(params[0]) for _ in range({"SGD": 0, "Momentum": 1, "Adam": 2}[trained.optimizer])]
    powers = [np.ones(1), np.ones(1)] if trained.optimizer == "Adam" else []
    return {"op": op, "values": (params[0], grads[0], rate, *slots, *powers), "param": params[0]}


SUBJECTS = [
    *(Loop("opsdk", work, _loop, TOGETHER, lambda names: names["params"][0].numpy()) for work in WORKS),
    *(Loop("opsdk, gradients alone", work, _loop, "give()") for work in WORKS if work.count > 1),
    *(
        Loop("opsdk, kernel alone", work, _kernel, "op(*values)", lambda names: names["param"])
        for work in WORKS
        if work.count == 1
    ),
]
VERSION = opsdk.__version__
