"""`fluid.optimizer`: the optimizers, each under its name with and without `Optimizer` behind it."""

from opsdk.optimizer import SGD, Adadelta, Adagrad, Adam, Adamax, Lamb, Momentum, RMSProp

SGDOptimizer, MomentumOptimizer, AdamOptimizer, AdamaxOptimizer = SGD, Momentum, Adam, Adamax
AdagradOptimizer, AdadeltaOptimizer, RMSPropOptimizer, LambOptimizer = Adagrad, Adadelta, RMSProp, Lamb

__all__ = [
    "SGD",
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "Adamax",
    "AdamaxOptimizer",
    "LambOptimizer",
    "Momentum",
    "MomentumOptimizer",
    "RMSPropOptimizer",
    "SGDOptimizer",
]
