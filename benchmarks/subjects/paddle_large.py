"""Large ops in PaddlePaddle, eager; it has no rms norm for the CPU."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from benchmarks.subjects.references import EPSILON
from benchmarks.subjects.tasks import BOTH, FORWARD, STEP, TASKS, Large

FUNCTIONS = {
    "relu": F.relu,
    "swish": F.silu,
    "softplus": F.softplus,
    "mish": F.mish,
    "gelu": lambda x: F.gelu(x, approximate=True),
    "softmax": F.softmax,
    "cross_entropy": lambda x, label: F.cross_entropy(x, label, reduction="none"),
    "layer_norm": lambda x, weight, bias: F.layer_norm(x, weight.shape, weight, bias, EPSILON),
}


def _build(task, arrays):
    plain = [paddle.to_tensor(arrays[name]) for name in task.inputs]
    followed = [paddle.to_tensor(arrays[n], stop_gradient=n not in task.differentiable) for n in task.inputs]
    names = {"f": FUNCTIONS[task.op], "plain": plain, "followed": followed, "grad": paddle.grad}
    names["wrt"] = [t for t in followed if not t.stop_gradient]
    if task.has_backward:
        names["dy"] = paddle.to_tensor(arrays["dy"])
    return names


def _result(names):
    value = names["f"](*names["plain"]).numpy()
    if "dy" not in names:
        return value, ()
    gradients = names["grad"](names["f"](*names["followed"]), names["wrt"], names["dy"])
    return value, tuple(gradient.numpy() for gradient in gradients)


_TEXTS = {
    FORWARD: "f(*plain)",
    BOTH: "grad(f(*followed), wrt, dy)",
    STEP: "f(*followed).backward(dy)\nfor t in wrt: t.clear_grad()",
}
SUBJECTS = [Large("paddle eager", task, _build, _TEXTS, _result) for task in TASKS if task.op in FUNCTIONS]
VERSION = paddle.__version__
