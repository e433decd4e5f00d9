"""PyTorch's name for `opsdk.optimizer.lr`."""

from opsdk.optimizer.lr import *  # noqa: F403 - all schedules
from opsdk.optimizer.lr import __all__ as _schedules

__all__ = list(_schedules)
