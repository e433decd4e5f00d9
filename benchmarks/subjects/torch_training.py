"""Steps of optimizers in PyTorch: as they come, and fused."""

from __future__ import annotations

from functools import partial

import torch

from benchmarks.subjects.training import RATE, TOGETHER, WORKS, Loop

MADE = {
    "SGD": torch.optim.SGD,
    "Momentum": partial(torch.optim.SGD, momentum=0.9),
    "Adam": torch.optim.Adam,
}


def _loop(trained, params, grads, *, fused):
    tensors = [torch.from_numpy(param).requires_grad_() for param in params]
    arrived = [torch.from_numpy(grad) for grad in grads]
    optimizer = MADE[trained.optimizer](tensors, lr=RATE, fused=fused)

    def give():
        for tensor, grad in zip(tensors, arrived, strict=True):
            tensor.grad = grad

    return {"give": give, "optimizer": optimizer, "clear": optimizer.zero_grad, "params": tensors}


SUBJECTS = [
    *(
        Loop(name, work, partial(_loop, fused=fused), TOGETHER, lambda names: names["params"][0].detach().numpy())
        for work in WORKS
        for name, fused in (("torch", False), ("torch, fused", True))
    ),
    *(Loop("torch, gradients alone", work, partial(_loop, fused=False), "give()") for work in WORKS if work.count > 1),
]
VERSION = torch.__version__
