"""Floor 4: PyTorch's name for `opsdk.optimizer`."""

from opsdk.optim import lr_scheduler
from opsdk.optimizer import *  # noqa: F403 - all optimizers
from opsdk.optimizer import __all__ as _optimizers

__all__ = [*_optimizers, "lr_scheduler"]
