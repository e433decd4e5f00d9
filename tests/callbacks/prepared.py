"""A Model that is ready, and a callback that notes what it is told."""

import numpy as np

import opsdk
from opsdk import io, nn
from opsdk import optimizer as opt
from opsdk.callbacks import Callback

DATA = io.TensorDataset([np.arange(10, dtype="float32").reshape(5, 2), np.arange(5) % 2])


def made(rate=0.0, metrics=None):
    net = nn.Linear(2, 2)
    model = opsdk.Model(net)
    model.prepare(opt.SGD(rate, parameters=net.parameters()), nn.CrossEntropyLoss(), metrics)
    return model


class Told(Callback):
    """Notes what it is told, but for batches that begin."""

    def __init__(self):
        self.calls = []

    def __getattribute__(self, name):
        if name.startswith("on_") and not name.endswith("batch_begin"):
            return lambda *args: self.calls.append((name[3:], *[each for each in args if isinstance(each, int)]))
        return super().__getattribute__(name)
