"""Floor 5: what happens beside the training of an `opsdk.Model`."""

from opsdk.callbacks.callback import Callback
from opsdk.callbacks.progress import ProgBarLogger
from opsdk.callbacks.training import EarlyStopping, LRScheduler, ModelCheckpoint

__all__ = ["Callback", "EarlyStopping", "LRScheduler", "ModelCheckpoint", "ProgBarLogger"]
