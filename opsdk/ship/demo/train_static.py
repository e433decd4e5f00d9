"""Training with a static Program: it is built once, then run for every batch."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import opsdk
from opsdk import static
from opsdk.define.op import Op
from opsdk.ship.demo.record import Epoch, Run, Tick
from opsdk.ship.demo.rows import row_that_runs
from opsdk.ship.demo.task import HIDDEN, LEARNING_RATE, Task


@dataclass(frozen=True)
class Net:
    """The Programs of one network: to train, to initialise, to test; and the variables that are fetched."""

    main: static.Program
    startup: static.Program
    test: static.Program
    logits: static.Variable
    loss: static.Variable


def build(relu: Op, pixels: int) -> Net:
    """Returns the network of `train_dynamic`, as Programs.

    Args:
        relu: the op between the layers.
        pixels: columns of the images.
    """
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        images = static.data("images", [None, pixels], "float32")
        labels = static.data("labels", [None, 1], "int64")
        logits = static.nn.fc(relu(static.nn.fc(images, HIDDEN)), 10)
        test = main.clone(for_test=True)
        loss = opsdk.nn.functional.cross_entropy(logits, labels)
        opsdk.optimizer.SGD(learning_rate=LEARNING_RATE).minimize(loss)
    return Net(main, startup, test, logits, loss)


def train(relu: Op, name: str, task: Task, tick: Tick) -> Run:
    """Trains, and returns the record; the arguments are those of the dynamic `train`."""
    place = opsdk.CPUPlace()
    net = build(relu, task.digits.train_images.shape[1])
    executor = static.Executor(place)
    scope = static.Scope()
    with static.scope_guard(scope):
        executor.run(net.startup)
        names = [parameter.name for parameter in net.main.all_parameters()]
        for parameter, array in zip(names, task.initial, strict=True):
            scope.var(parameter).get_tensor().set(array, place)
        started = time.perf_counter()
        epochs = []
        for epoch in range(len(task.orders)):
            losses = []
            for images, labels in task.batches(epoch):
                feed = {"images": images, "labels": labels}
                (loss,) = executor.run(net.main, feed=feed, fetch_list=[net.loss])
                losses.append(float(loss))
            (logits,) = executor.run(net.test, feed={"images": task.digits.test_images}, fetch_list=[net.logits])
            epochs.append(Epoch(float(np.mean(losses)), task.accuracy(logits)))
            tick(epoch + 1)
        seconds = time.perf_counter() - started
        final = tuple(np.array(scope.var(parameter).get_tensor()) for parameter in names)
    return Run("static", name, row_that_runs(relu), tuple(epochs), seconds, final)
