"""Floor 3, dynamic: tensors, the tape and the backward engine."""

from opsdk.autograd.anomaly import detect_anomaly, set_detect_anomaly
from opsdk.autograd.functional import backward, grad
from opsdk.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable
from opsdk.autograd.saved_hooks import recompute, saved_tensors_hooks
from opsdk.core.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

Function = PyLayer  # in PyTorch's words

__all__ = [
    "Function",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "recompute",
    "saved_tensors_hooks",
    "set_detect_anomaly",
    "set_grad_enabled",
]
