"""Floor 4: optimizers, which change parameters by their gradients, in both runtimes."""

from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import L2Decay
from opsdk.optimizer.updates import SGD, Adam, AdamW, Momentum

__all__ = ["SGD", "Adam", "AdamW", "L2Decay", "Momentum", "Optimizer"]
