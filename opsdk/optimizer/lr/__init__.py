"""Schedules of learning rates, in Paddle's words and in PyTorch's."""

from opsdk.optimizer.lr import decay as _decay
from opsdk.optimizer.lr import of_optimizer as _of_optimizer
from opsdk.optimizer.lr.decay import *  # noqa: F403 - all schedules that are made of a rate
from opsdk.optimizer.lr.of_optimizer import *  # noqa: F403 - those that are made of an optimizer

__all__ = sorted({*_decay.__all__, *_of_optimizer.__all__})  # some names are made of either
