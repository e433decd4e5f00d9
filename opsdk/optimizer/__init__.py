"""Floor 4: optimizers, which change parameters by their gradients, in both runtimes."""

from opsdk.optimizer.adam import Adam, AdamW
from opsdk.optimizer.momentum import Momentum
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.sgd import SGD
from opsdk.optimizer.weight_decay import L2Decay

__all__ = ["SGD", "Adam", "AdamW", "L2Decay", "Momentum", "Optimizer"]
