"""Floor 4: optimizers, which change parameters by their gradients, in both runtimes."""

from opsdk.optimizer import lr
from opsdk.optimizer.adaptive import Adadelta, Adamax, Lamb, NAdam, RAdam, Rprop
from opsdk.optimizer.optimizer import Optimizer
from opsdk.optimizer.parameters import L2Decay
from opsdk.optimizer.updates import SGD, Adagrad, Adam, AdamW, Momentum, RMSProp, RMSprop

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "L2Decay",
    "Lamb",
    "Momentum",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSProp",
    "RMSprop",
    "Rprop",
    "lr",
]
