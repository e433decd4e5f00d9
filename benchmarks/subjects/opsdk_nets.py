"""Training steps of nets in opsdk, of layers as a user builds them."""

from __future__ import annotations

import numpy as np

import opsdk
from benchmarks.subjects.nets import CLASSES, NETS, RATE, STAGES, Trained, data, weights
from opsdk import nn
from opsdk.nn import functional as F


class Block(nn.Module):
    def __init__(self, inside, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, channels, 3, stride, 1, bias=False)
        self.conv1_norm = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.conv2_norm = nn.BatchNorm2d(channels)
        self.short = None
        if inside != channels:
            self.short = nn.Conv2d(inside, channels, 1, stride, bias=False)
            self.short_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        made = self.conv2_norm(self.conv2(F.relu(self.conv1_norm(self.conv1(x)))))
        short = x if self.short is None else self.short(x)
        return F.relu(made + (self.short_norm(short) if hasattr(self, "short_norm") else short))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.stem_norm = nn.BatchNorm2d(64)
        blocks, inside = [], 64
        for channels, stride in STAGES:
            blocks += [Block(inside, channels, stride), Block(channels, channels, 1)]
            inside = channels
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.Linear(inside, CLASSES)

    def forward(self, x):
        return self.last(self.blocks(F.relu(self.stem_norm(self.stem(x)))).mean((2, 3)))


class GPTBlock(nn.Module):
    def __init__(self, size=256, heads=4):
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.queries, self.keys, self.values = (nn.Linear(size, size) for _ in range(3))
        self.out = nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        batch, length, size = x.shape
        inside = self.first_norm(x)
        q, k, v = (
            linear(inside).reshape([batch, length, self.heads, size // self.heads])
            for linear in (self.queries, self.keys, self.values)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).reshape([batch, length, size])
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.second_norm(x))))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(256, 256, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


MADE = {
    "mlp": lambda: nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, CLASSES)),
    "resnet18": ResNet18,
    "gpt": GPTBlock,
    "lstm": LSTM,
}
OPTIMIZERS = {"sgd": opsdk.optimizer.SGD, "adam": opsdk.optimizer.Adam}


def made(net):
    """Returns a net with the weights that all get."""
    module = MADE[net.name]()
    held = module.to_torch_state_dict(numpy=True)
    shapes = {name: value.shape for name, value in held.items() if not name.endswith("num_batches_tracked")}
    module.from_torch_state_dict({**held, **weights(shapes)})
    return module


def loss_of(predicted, targets):
    """Returns the loss of what is predicted: of values, or of scores."""
    is_value = targets.dtype.kind == "f"
    return F.mse_loss(predicted, targets) if is_value else F.cross_entropy(predicted, targets)


def stepper(module, optimizer, batch, targets):
    """Returns a training step."""

    def step():
        loss = loss_of(module(batch), targets)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def build(net, batch, targets):
    """Makes the names of a statement."""
    module = made(net)
    optimizer = OPTIMIZERS[net.optimizer](learning_rate=RATE, parameters=module.parameters())
    return {"step": stepper(module, optimizer, opsdk.to_tensor(batch), opsdk.to_tensor(targets))}


def first(net):
    """Makes a step in float64; returns the loss and the weights before and after."""
    batch, targets = data(net)
    module = made(net).to(dtype="float64")
    optimizer = OPTIMIZERS[net.optimizer](learning_rate=RATE, parameters=module.parameters())
    if targets.dtype.kind == "f":
        targets = targets.astype(np.float64)
    names = [name for name, _ in module.named_parameters()]
    before = {name: np.array(value) for name, value in module.to_torch_state_dict(numpy=True).items() if name in names}
    step = stepper(module, optimizer, opsdk.to_tensor(batch.astype(np.float64)), opsdk.to_tensor(targets))
    loss = step().item()
    return (
        loss,
        before,
        {name: np.array(value) for name, value in module.to_torch_state_dict(numpy=True).items() if name in names},
    )


SUBJECTS = [Trained("opsdk", net, build, "step()", first) for net in NETS]
VERSION = opsdk.__version__
