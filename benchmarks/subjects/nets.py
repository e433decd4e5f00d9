"""Training steps of whole nets: what each is given, and what every framework has to get from its first step."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

STEP = "a training step"
SEED = 5
RATE = 1e-3
CLASSES = 10


@dataclass(frozen=True)
class Net:
    """A net, its data and its optimizer.

    Args:
        name: what the tables call it.
        title: the sizes.
        shape: of a batch; integers below `words` where there are any, else normal floats.
        words: how many words there are.
        targets: shape of what is to be predicted; of the predictions, where `words` is 0 and they are no classes.
        optimizer: `sgd` or `adam`.
    """

    name: str
    title: str
    shape: tuple[int, ...]
    words: int = 0
    targets: tuple[int, ...] = ()
    optimizer: str = "sgd"

    @property
    def work(self) -> str:
        """What is measured."""
        return f"{self.title}, {STEP}"


NETS = (
    Net("mlp", "784-100-10 on 64 rows, Adam", (64, 784), targets=(64,), optimizer="adam"),
    Net("resnet18", "ResNet-18 on 64 × 3 × 32 × 32", (64, 3, 32, 32), targets=(64,)),
    Net("gpt", "GPT block of 256, 4 heads, on 16 × 128", (16, 128, 256), targets=(16, 128, 256)),
    Net("lstm", "LSTM of 256 on 32 × 64", (32, 64, 256), targets=(32, 64, 256)),
)
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))  # of ResNet-18: channels and stride, two blocks each


@lru_cache(maxsize=1)
def data(net: Net) -> tuple[np.ndarray, np.ndarray]:
    """Returns a batch, float32, and its targets: int64 classes, or values."""
    generator = np.random.default_rng(SEED)
    batch = generator.standard_normal(net.shape, dtype=np.float32)
    if len(net.targets) == 1:
        return batch, generator.integers(0, CLASSES, net.targets)
    return batch, generator.standard_normal(net.targets, dtype=np.float32)


def weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Returns float32 weights by PyTorch's names and shapes, the same wherever they are asked for."""
    made = {}
    for name, shape in shapes.items():
        generator = np.random.default_rng(zlib.crc32(name.encode()))
        if len(shape) > 1:
            made[name] = (generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        else:  # scales of a normalization are about 1, biases about 0, running variances 1
            about = name.endswith(("norm.weight", "running_var"))
            made[name] = (0.02 * generator.random(shape) + about).astype(np.float32)
    return made


@dataclass(frozen=True)
class Trained:
    """A net in one framework.

    Args:
        name: what the tables call it.
        net: which one.
        build: makes the names of the statement from net, batch and targets (any: each framework's own objects).
        statement: a training step.
        first: makes one step in float64; returns the loss, and the weights before and after, by PyTorch's names.
    """

    name: str
    net: Net
    build: Callable[[Net, np.ndarray, np.ndarray], dict[str, Any]]
    statement: str
    first: Callable[[Net], tuple[float, dict[str, np.ndarray], dict[str, np.ndarray]]]
    topic: str = "nets"

    @property
    def statements(self) -> dict[str, str]:
        """The statement by work."""
        return {self.net.work: self.statement}

    def names(self) -> dict[str, Any]:
        """Returns the names of the statement."""
        return self.build(self.net, *data(self.net))

    def problem(self) -> str:
        """Returns nothing: no reference but the others', with which `result` is compared."""
        return ""

    def result(self) -> dict[str, list[float]]:
        """Returns the loss of the first step and, of each weight, how far it and its first element moved."""
        loss, before, after = self.first(self.net)
        moved = {name: (after[name] - before[name]) / RATE for name in sorted(after)}
        return {"loss": [loss], **{n: [float(np.linalg.norm(m)), float(m.flat[0])] for n, m in moved.items()}}
