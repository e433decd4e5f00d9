"""Small nets of the kinds that are saved: what they are, what they take, and how a run of one is compared."""

import numpy as np

import opsdk
from opsdk import nn
from opsdk.static import InputSpec


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2D(2, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(16, 3)
    )


class Recurrent(nn.Layer):
    """Words, two layers of LSTM with dropout between them, and a structure of results."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 4)
        self.cells = nn.LSTM(4, 3, num_layers=2, dropout=0.3)
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        made, (hidden, cell) = self.cells(self.words(x))
        return self.out(made), {"hidden": hidden, "of": "lstm", "cell": [cell, None]}


class Attention(nn.Layer):
    """A block of a transformer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(8), nn.LayerNorm(8)
        self.attention = nn.MultiHeadAttention(8, 2, dropout=0.2)
        self.after = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        seen = self.first(x)
        x = x + self.attention(seen, seen, seen)
        return x + self.after(self.second(x))


# by name: the net, its spec, and what makes an input with so many rows
NETS = {
    "mlp": (mlp, InputSpec([None, 6]), lambda rows: opsdk.randn([rows, 6])),
    "cnn": (cnn, InputSpec([None, 2, 6, 6]), lambda rows: opsdk.randn([rows, 2, 6, 6])),
    "lstm": (Recurrent, InputSpec([None, 5], "int64"), lambda rows: opsdk.randint(0, 9, [rows, 5])),
    "attention": (Attention, InputSpec([None, 4, 8]), lambda rows: opsdk.randn([rows, 4, 8])),
}


def tensors(value):
    """Gives the tensors of a structure, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for entry in value for tensor in tensors(entry)]
    return [value] if isinstance(value, opsdk.Tensor) else []


def bits(values):
    """Gives what tells arrays apart to the last bit."""
    return [(value.dtype.name, value.shape, np.asarray(value).tobytes()) for value in values]


def step(called, layer, x, seed=7):
    """Runs a layer, and back; gives the bits of results, gradients and state, and clears the gradients."""
    opsdk.seed(seed)
    found = tensors(called(x))
    sum((one**2).sum() for one in found).backward()
    grads = [parameter.grad.numpy() for parameter in layer.parameters() if not parameter.stop_gradient]
    layer.clear_gradients()
    return bits([*(one.numpy() for one in found), *grads, *(one.numpy() for one in layer.state_dict().values())])
