"""Floor 3, dynamic: tensors, the tape and the backward engine."""

from opsdk.autograd import functional
from opsdk.autograd.derivatives import backward, grad
from opsdk.autograd.functional import hessian, jacobian
from opsdk.autograd.modes.anomaly import detect_anomaly, set_detect_anomaly
from opsdk.autograd.modes.saved_hooks import recompute, saved_tensors_hooks
from opsdk.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable
from opsdk.core.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from opsdk.core.spellings import point

Function = PyLayer  # in PyTorch's words
point(globals(), "opsdk.autograd")

__all__ = [
    "Function",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "hessian",
    "is_grad_enabled",
    "jacobian",
    "no_grad",
    "once_differentiable",
    "recompute",
    "saved_tensors_hooks",
    "set_detect_anomaly",
    "set_grad_enabled",
]
