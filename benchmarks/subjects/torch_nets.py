"""Training steps of nets in PyTorch, eager and compiled."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.subjects.nets import CLASSES, NETS, RATE, STAGES, Trained, data, weights


class Block(nn.Module):
    def __init__(self, inside, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, channels, 3, stride, 1, bias=False)
        self.conv1_norm = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.conv2_norm = nn.BatchNorm2d(channels)
        self.short = nn.Identity()
        if inside != channels:
            self.short = nn.Conv2d(inside, channels, 1, stride, bias=False)
            self.short_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        made = self.conv2_norm(self.conv2(F.relu(self.conv1_norm(self.conv1(x)))))
        short = self.short(x)
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
            linear(inside).view(batch, length, self.heads, size // self.heads).transpose(1, 2)
            for linear in (self.queries, self.keys, self.values)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
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
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


def state(net):
    return {name: value for name, value in net.state_dict().items() if not name.endswith("num_batches_tracked")}


def made(net):
    module = MADE[net.name]()
    values = weights({name: tuple(value.shape) for name, value in state(module).items()})
    module.load_state_dict({name: torch.from_numpy(value) for name, value in values.items()}, strict=False)
    return module


def loss_of(predicted, targets):
    return F.mse_loss(predicted, targets) if targets.is_floating_point() else F.cross_entropy(predicted, targets)


def stepper(module, optimizer, batch, targets):
    def step():
        loss = loss_of(module(batch), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def builder(is_compiled, is_last):
    def build(net, batch, targets):
        module, batch, targets = made(net), torch.from_numpy(batch), torch.from_numpy(targets)
        if is_last:
            module, batch = module.to(memory_format=torch.channels_last), batch.to(memory_format=torch.channels_last)
        optimizer = OPTIMIZERS[net.optimizer](module.parameters(), lr=RATE)
        called = torch.compile(module, dynamic=False) if is_compiled else module
        return {"step": stepper(called, optimizer, batch, targets)}

    return build


def first(net):
    """Makes a step in float64; returns the loss and the weights before and after."""
    batch, targets = (torch.from_numpy(each) for each in data(net))
    module = made(net).double()
    targets = targets.double() if targets.is_floating_point() else targets
    optimizer = OPTIMIZERS[net.optimizer](module.parameters(), lr=RATE)
    before = {name: value.numpy().copy() for name, value in module.named_parameters() for value in [value.detach()]}
    loss = stepper(module, optimizer, batch.double(), targets)().item()
    return loss, before, {name: value.detach().numpy() for name, value in module.named_parameters()}


SUBJECTS = [
    *(Trained("torch eager", net, builder(False, False), "step()", first) for net in NETS),
    *(
        Trained("torch eager, channels last", net, builder(False, True), "step()", first)
        for net in NETS
        if len(net.shape) == 4
    ),
    *(Trained("torch.compile", net, builder(True, False), "step()", first) for net in NETS),
]
VERSION = torch.__version__
