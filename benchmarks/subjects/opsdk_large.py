"""Large ops in opsdk: elementwise ones defined as a user defines them, row ops built in."""

from __future__ import annotations

import opsdk
from benchmarks.subjects.references import EPSILON, GELU_CUBE, GELU_SCALE
from benchmarks.subjects.tasks import BOTH, FORWARD, STEP, TASKS, Large
from opsdk import vmath
from opsdk.ops import loss, normalization


@opsdk.elementwise(namespace="bench_large")
def relu(x):
    return vmath.maximum(x, 0)


@opsdk.elementwise(namespace="bench_large")
def swish(x):
    return x * vmath.sigmoid(x)


@opsdk.elementwise(namespace="bench_large")
def softplus(x):
    return vmath.softplus(x)


@opsdk.elementwise(namespace="bench_large")
def mish(x):
    return x * vmath.tanh(vmath.softplus(x))


@opsdk.elementwise(namespace="bench_large")
def gelu(x):
    return x * vmath.sigmoid(2 * GELU_SCALE * x * (1 + GELU_CUBE * x * x))  # (1 + tanh u)/2 is σ(2u)


FUNCTIONS = {
    "relu": relu,
    "swish": swish,
    "softplus": softplus,
    "mish": mish,
    "gelu": gelu,
    "softmax": opsdk.softmax,
    "cross_entropy": loss.cross_entropy_with_logits,
    "layer_norm": lambda x, w, b: normalization.layer_norm(x, w, b, epsilon=EPSILON),
    "rms_norm": lambda x, w: normalization.rms_norm(x, w, epsilon=EPSILON),
}
BUILT_IN = {"relu": opsdk.relu}


def builder(function, place=None):
    """Returns what makes the names of a statement: the function, and tensors at a place."""

    def build(task, arrays):
        plain = [opsdk.to_tensor(arrays[name], place=place) for name in task.inputs]
        followed = [
            opsdk.to_tensor(arrays[n], place=place, stop_gradient=n not in task.differentiable) for n in task.inputs
        ]
        names = {"f": function, "plain": plain, "followed": followed, "grad": opsdk.grad}
        names["wrt"] = [t for t in followed if not t.stop_gradient]
        if task.has_backward:
            dy = arrays["dy"]  # a loss per row has shape (rows, 1)
            names["dy"] = [opsdk.to_tensor(dy.reshape(-1, 1) if task.op == "cross_entropy" else dy, place=place)]
        return names

    return build


def result(names):
    """Returns the value and, where there is a cotangent, the gradients, as arrays."""
    value = names["f"](*names["plain"]).numpy()
    if "dy" not in names:
        return value, ()
    gradients = opsdk.grad([names["f"](*names["followed"])], names["wrt"], grad_outputs=names["dy"])
    return value, tuple(gradient.numpy() for gradient in gradients)


TEXTS = {
    FORWARD: "f(*plain)",
    BOTH: "grad([f(*followed)], wrt, grad_outputs=dy)",
    STEP: "f(*followed).backward(*dy)\nfor t in wrt: t.clear_grad()",
}
SUBJECTS = [
    *(Large("opsdk", task, builder(FUNCTIONS[task.op]), TEXTS, result) for task in TASKS),
    *(Large("opsdk built-in", t, builder(BUILT_IN[t.op]), TEXTS, result) for t in TASKS if t.op in BUILT_IN),
]
VERSION = opsdk.__version__
