"""Floor 3, dynamic: tensors, the tape and the backward engine."""

from opsdk.autograd.functional import backward, grad
from opsdk.core.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["backward", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
