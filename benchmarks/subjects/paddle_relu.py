"""ReLU in PaddlePaddle: native, and a PyLayer with NumPy inside."""

from __future__ import annotations

import numpy as np
import paddle

from benchmarks.subjects.subject import Subject


class NumpyRelu(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = paddle.to_tensor(np.maximum(x.numpy(), 0))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return paddle.to_tensor(dy.numpy() * (y.numpy() > 0))


def _tensors(x, dy):
    return {
        "x": paddle.to_tensor(x, stop_gradient=False),
        "dy": paddle.to_tensor(dy),
        "native": paddle.nn.functional.relu,
        "layer": NumpyRelu.apply,
    }


def _result(name):
    def result(names):
        x = names["x"]
        y = names[name](x)
        y.backward(names["dy"])
        return y.numpy(), x.grad.numpy()

    return result


def _statements(name):
    return {
        "forward": f"{name}(x)",
        "both": f"x.clear_gradient(False); {name}(x).backward(dy)",
        "both_sum": f"x.clear_gradient(False); {name}(x).sum().backward()",
    }


SUBJECTS = [
    Subject("paddle native", _tensors, _statements("native"), _result("native")),
    Subject("paddle PyLayer", _tensors, _statements("layer"), _result("layer")),
]
VERSION = paddle.__version__
