"""Floor 4: optimizers, which change parameters by their gradients, in both runtimes."""

from opsdk.optimizer import lr
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import L2Decay
from opsdk.optimizer.updates import SGD, Adagrad, Adam, AdamW, Momentum, RMSProp

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "L2Decay", "Momentum", "Optimizer", "RMSProp", "lr"]
