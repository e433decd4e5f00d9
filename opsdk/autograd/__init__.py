"""Floor 3, dynamic: tensors, the tape and the backward engine."""

from opsdk.autograd.functional import backward, grad
from opsdk.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable
from opsdk.core.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

Function = PyLayer  # in PyTorch's words

__all__ = [
    "Function",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_grad_enabled",
]
