"""ReLU in PyTorch: native, autograd.Function and torch.library.custom_op, the last two with NumPy inside."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.subjects.subject import Subject


class NumpyRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(np.maximum(x.detach().numpy(), 0))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return torch.from_numpy(dy.numpy() * (y.numpy() > 0))


@torch.library.custom_op("opsdk_bench::relu", mutates_args=())
def library_relu(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.maximum(x.numpy(), 0))


@torch.library.custom_op("opsdk_bench::relu_grad", mutates_args=())
def library_relu_grad(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(dy.numpy() * (y.numpy() > 0))


def _save(ctx, inputs, output):
    ctx.save_for_backward(output)


def _backward(ctx, dy):
    return library_relu_grad(*ctx.saved_tensors, dy)


library_relu.register_autograd(_backward, setup_context=_save)


class Module(torch.nn.Module):
    def forward(self, x):
        return NumpyRelu.apply(x)


def _tensors(x, dy):
    return {
        "module": Module(),
        "native_module": torch.nn.ReLU(),
        "x": torch.from_numpy(x).requires_grad_(),
        "dy": torch.from_numpy(dy),
        "native": torch.relu,
        "function": NumpyRelu.apply,
        "library": library_relu,
    }


def _result(name):
    def result(names):
        x = names["x"]
        y = names[name](x)
        y.backward(names["dy"])
        return y.detach().numpy(), x.grad.numpy()

    return result


def _statements(name):
    return {
        "forward": f"{name}(x)",
        "both": f"x.grad = None; {name}(x).backward(dy)",
        "both_sum": f"x.grad = None; {name}(x).sum().backward()",
    }


SUBJECTS = [
    Subject("torch native", _tensors, _statements("native"), _result("native")),
    Subject("torch autograd.Function", _tensors, _statements("function"), _result("function")),
    Subject("torch nn.ReLU", _tensors, _statements("native_module"), _result("native_module")),
    Subject("torch Module of autograd.Function", _tensors, _statements("module"), _result("module")),
    Subject("torch custom_op", _tensors, _statements("library"), _result("library")),
]
VERSION = torch.__version__
