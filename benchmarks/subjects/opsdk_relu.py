"""ReLU in opsdk, a NumPy pair and built in, alone and in a layer; and bare NumPy, what the pair costs without opsdk."""

from __future__ import annotations

import numpy as np

import opsdk
from benchmarks.subjects.subject import Subject


@opsdk.op(namespace="bench")
def relu(x):
    return np.maximum(x, 0)


@relu.backward
def relu_grad(y, dy):
    return dy * (y > 0)


class Layer(opsdk.nn.Layer):
    def forward(self, x):
        return relu(x)


def _tensors(x, dy):
    return {
        "layer": Layer(),
        "native_layer": opsdk.nn.ReLU(),
        "x": opsdk.to_tensor(x, stop_gradient=False),
        "dy": opsdk.to_tensor(dy),
        "custom": relu,
        "native": opsdk.relu,
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
        "both": f"x.grad = None; {name}(x).backward(dy)",
        "both_sum": f"x.grad = None; {name}(x).sum().backward()",
    }


SUBJECTS = [
    Subject("opsdk NumPy pair", _tensors, _statements("custom"), _result("custom")),
    Subject("opsdk built-in", _tensors, _statements("native"), _result("native")),
    Subject("opsdk Layer of the pair", _tensors, _statements("layer"), _result("layer")),
    Subject("opsdk nn.ReLU", _tensors, _statements("native_layer"), _result("native_layer")),
    Subject(
        "bare NumPy",
        lambda x, dy: {"np": np, "x": x, "dy": dy},
        {"forward": "np.maximum(x, 0)", "both": "y = np.maximum(x, 0); dy * (y > 0)"},
        lambda names: (np.maximum(names["x"], 0), names["dy"] * (np.maximum(names["x"], 0) > 0)),
    ),
]
VERSION = opsdk.__version__
