"""One training in either mode: tensors, whose every line runs as it is read, or a Program, built once; and its record.

The network has 64 pixels, a hidden layer with any ReLU, 10 logits. In either mode it is three functions: one learns
from a batch of images and labels and returns its loss, one gives the logits of images, one the parameters as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import opsdk
from opsdk import static
from opsdk.define.op import Op
from opsdk.ship.demo.kernels import row_that_runs
from opsdk.ship.demo.task import HIDDEN, LEARNING_RATE, Task


@dataclass(frozen=True)
class Epoch:
    """The mean training loss over an epoch's batches, and the test accuracy after it."""

    loss: float
    accuracy: float


@dataclass(frozen=True)
class Run:
    """One training.

    Args:
        mode: `dynamic` or `static`.
        relu: `custom` or `built-in`.
        row: the language of the kernel row that ran.
        epochs: in order.
        seconds: of training, tests included.
        parameters: the final ones, in the order of the initial ones.
    """

    mode: str
    relu: str
    row: str
    epochs: tuple[Epoch, ...]
    seconds: float
    parameters: tuple[np.ndarray, ...]

    @property
    def name(self) -> str:
        """Mode, ReLU and row."""
        return f"{self.mode}, {self.relu} ({self.row})"

    @property
    def last(self) -> Epoch:
        """The last epoch."""
        return self.epochs[-1]


Net = tuple[
    Callable[[np.ndarray, np.ndarray], float], Callable[[np.ndarray], np.ndarray], Callable[[], tuple[np.ndarray, ...]]
]


def dynamic(relu: Op, task: Task) -> Net:
    """Returns the network as layers."""
    first, _, second, _ = task.initial
    hidden, output = opsdk.nn.Linear(*first.shape), opsdk.nn.Linear(*second.shape)
    parameters = [*hidden.parameters(), *output.parameters()]
    for parameter, array in zip(parameters, task.initial, strict=True):
        parameter.set_value(array)
    optimizer = opsdk.optimizer.SGD(learning_rate=LEARNING_RATE, parameters=parameters)

    def forward(images: np.ndarray) -> opsdk.Tensor:
        return output(relu(hidden(opsdk.to_tensor(images))))

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        loss = opsdk.nn.functional.cross_entropy(forward(images), opsdk.to_tensor(labels))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss.item()

    def logits(images: np.ndarray) -> np.ndarray:
        with opsdk.no_grad():
            return forward(images).numpy()

    return step, logits, lambda: tuple(parameter.numpy() for parameter in parameters)


def program(relu: Op, task: Task) -> Net:
    """Returns the network as Programs: to train, to initialise, to test."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        images = static.data("images", [None, task.train_images.shape[1]], "float32")
        labels = static.data("labels", [None, 1], "int64")
        logits = static.nn.fc(relu(static.nn.fc(images, HIDDEN)), 10)
        test = main.clone(for_test=True)
        loss = opsdk.nn.functional.cross_entropy(logits, labels)
        opsdk.optimizer.SGD(learning_rate=LEARNING_RATE).minimize(loss)
    place, scope = opsdk.CPUPlace(), static.Scope()
    executor = static.Executor(place)
    executor.run(startup, scope=scope)
    tensors = [scope.var(parameter.name).get_tensor() for parameter in main.all_parameters()]
    for tensor, array in zip(tensors, task.initial, strict=True):
        tensor.set(array, place)

    def run(program: static.Program, fetched: static.Variable, **feed: np.ndarray) -> np.ndarray:
        return executor.run(program, feed=feed, fetch_list=[fetched], scope=scope)[0]

    return (
        lambda images, labels: float(run(main, loss, images=images, labels=labels)),
        lambda images: run(test, logits, images=images),
        lambda: tuple(map(np.array, tensors)),
    )


MODES = {"dynamic": dynamic, "static": program}


def train(mode: str, relu: Op, name: str, task: Task, tick: Callable[[], None]) -> Run:
    """Trains, and returns the record.

    Args:
        mode: one of `MODES`.
        relu: the op between the layers.
        name: what the record calls it.
        task: data, initial parameters, order of batches.
        tick: called after each epoch.
    """
    step, logits, parameters = MODES[mode](relu, task)
    started = time.perf_counter()
    epochs = []
    for epoch in range(len(task.orders)):
        losses = [step(*batch) for batch in task.batches(epoch)]
        epochs.append(Epoch(float(np.mean(losses)), task.accuracy(logits(task.test_images))))
        tick()
    seconds = time.perf_counter() - started
    return Run(mode, name, row_that_runs(relu), tuple(epochs), seconds, parameters())
