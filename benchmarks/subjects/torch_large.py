"""Large ops in PyTorch: eager, compiled, and a copy of as many bytes as each has to move."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from benchmarks.subjects.references import EPSILON
from benchmarks.subjects.tasks import BOTH, FORWARD, STEP, TASKS, Copy, Large, copied


def _layer_norm(x, weight, bias):
    return F.layer_norm(x, weight.shape, weight, bias, EPSILON)


def _rms_norm(x, weight):
    return F.rms_norm(x, weight.shape, weight, EPSILON)


FUNCTIONS = {
    "relu": torch.relu,
    "swish": F.silu,
    "softplus": F.softplus,
    "mish": F.mish,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "softmax": lambda x: F.softmax(x, -1),
    "cross_entropy": lambda x, label: F.cross_entropy(x, label, reduction="none"),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
}


def builder(is_compiled, device="cpu"):
    """Returns what makes the names of a statement: the function, eager or compiled, and tensors on a device."""

    def build(task, arrays):
        function = FUNCTIONS[task.op]
        if is_compiled:
            torch._dynamo.reset()  # else a second shape of one function makes it compile for all shapes
            function = torch.compile(lambda *values: FUNCTIONS[task.op](*values), dynamic=False)
        plain = [torch.from_numpy(arrays[name]).to(device) for name in task.inputs]
        followed = [t.detach().requires_grad_(t.is_floating_point()) for t in plain]
        names = {"f": function, "plain": plain, "followed": followed, "grad": torch.autograd.grad}
        names["wrt"] = [t for t in followed if t.requires_grad]
        if task.has_backward:
            names["dy"] = torch.from_numpy(arrays["dy"]).to(device)
        return names

    return build


def result(names):
    """Returns the value and, where there is a cotangent, the gradients, as arrays."""
    value = names["f"](*names["plain"]).cpu().numpy()
    if "dy" not in names:
        return value, ()
    gradients = names["grad"](names["f"](*names["followed"]), names["wrt"], names["dy"])
    return value, tuple(gradient.cpu().numpy() for gradient in gradients)


def _into(task, arrays):
    x = torch.from_numpy(arrays["x"])
    return {"f": torch.clamp_min, "x": x, "out": torch.empty_like(x)}


def _clamped(names):
    return names["f"](names["x"], 0, out=names["out"]).numpy(), ()


def copier(direction, device="cpu"):
    """Returns what makes the names of a copy that moves as many bytes as a direction of a task."""

    def build(task, arrays):
        source = torch.from_numpy(copied(task, direction, arrays)).to(device)
        return {"source": source, "out": source.clone()}

    return build


TEXTS = {
    FORWARD: "f(*plain)",
    BOTH: "grad(f(*followed), wrt, dy)",
    STEP: "f(*followed).backward(dy)\nfor t in wrt: t.grad = None",  # as zero_grad does
}
SUBJECTS = [
    *(Large("torch eager", task, builder(False), TEXTS, result) for task in TASKS),
    *(Large("torch.compile", task, builder(True), TEXTS, result) for task in TASKS),
    *(
        Large("torch clamp_min(out=)", task, _into, {FORWARD: "f(x, 0, out=out)"}, _clamped)
        for task in TASKS
        if task.op == "relu"
    ),
    *(
        Copy("copy, torch", task, copier(direction), {direction: "out.copy_(source)"})
        for task in TASKS
        for direction in task.directions
    ),
]
VERSION = torch.__version__
