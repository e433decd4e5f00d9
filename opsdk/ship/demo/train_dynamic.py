"""Training with dynamic tensors: every line runs as it is read."""

from __future__ import annotations

import time

import numpy as np

import opsdk
from opsdk.define.op import Op
from opsdk.ship.demo.record import Epoch, Run, Tick
from opsdk.ship.demo.rows import row_that_runs
from opsdk.ship.demo.task import LEARNING_RATE, Task


class Net(opsdk.nn.Layer):
    """64 pixels, a hidden layer with any ReLU, 10 logits."""

    def __init__(self, relu: Op, task: Task) -> None:
        super().__init__()
        first, _, second, _ = task.initial
        self.relu = relu
        self.hidden = opsdk.nn.Linear(*first.shape)
        self.output = opsdk.nn.Linear(*second.shape)
        for parameter, array in zip(self.parameters(), task.initial, strict=True):
            parameter.set_value(array)

    def forward(self, images: opsdk.Tensor) -> opsdk.Tensor:
        """Returns the logits of images (N, 64), of shape (N, 10)."""
        return self.output(self.relu(self.hidden(images)))


def train(relu: Op, name: str, task: Task, tick: Tick) -> Run:
    """Trains, and returns the record.

    Args:
        relu: the op between the layers.
        name: what the record calls it.
        task: data, initial parameters, order of batches.
        tick: told after each epoch.
    """
    net = Net(relu, task)
    optimizer = opsdk.optimizer.SGD(learning_rate=LEARNING_RATE, parameters=net.parameters())
    started = time.perf_counter()
    epochs = []
    for epoch in range(len(task.orders)):
        losses = []
        for images, labels in task.batches(epoch):
            logits = net(opsdk.to_tensor(images))
            loss = opsdk.nn.functional.cross_entropy(logits, opsdk.to_tensor(labels))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
        with opsdk.no_grad():
            logits = net(opsdk.to_tensor(task.digits.test_images)).numpy()
        epochs.append(Epoch(float(np.mean(losses)), task.accuracy(logits)))
        tick(epoch + 1)
    seconds = time.perf_counter() - started
    final = tuple(parameter.numpy() for parameter in net.parameters())
    return Run("dynamic", name, row_that_runs(relu), tuple(epochs), seconds, final)
