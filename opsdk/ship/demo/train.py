"""The task, one training in either mode, and what holds: tensors, whose lines run as they are read, or a Program.

The digits are 1797 real handwritten ones of 8 × 8 pixels, which come with scikit-learn; every run gets the same initial
parameters and the same order of batches. The network has 64 pixels, a hidden layer with any ReLU, 10 logits. In either
mode it is three functions: one learns from a batch of images and labels and returns its loss, one gives the logits of
images, one the parameters as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import opsdk
from opsdk import static
from opsdk.core.lazy import optional
from opsdk.define.op import Op
from opsdk.ship.demo.kernels import row_that_runs

LEAST_ACCURACY = 0.95


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
        row: the language of the kernel that ran.
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
        """Mode, ReLU and kernel."""
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


@dataclass(frozen=True)
class Claim:
    """A sentence, whether it holds, and the evidence."""

    text: str
    holds: bool
    evidence: str


def claims_of(runs: Sequence[Run]) -> list[Claim]:
    """Returns the claims on runs in two modes, each with the same ReLUs; the first of a mode is the NumPy pair."""
    modes = {mode: [run for run in runs if run.mode == mode] for mode in dict.fromkeys(run.mode for run in runs)}
    (first, *_), *others = modes.values()
    made = [_equal(f"{first.mode} and {other.mode} agree, NumPy pair", first, other) for other, *_ in others]
    for reference, *rest in modes.values():
        made += [_equal(f"{run.relu} ({run.row}) equals the NumPy pair, {run.mode}", run, reference) for run in rest]
    worst = min(runs, key=lambda run: run.last.accuracy)
    made.append(
        Claim(
            f"every run recognises {LEAST_ACCURACY:.0%} of the test digits",
            worst.last.accuracy >= LEAST_ACCURACY,
            f"least: {worst.last.accuracy:.2%}, {worst.name}",
        )
    )
    return made


def _equal(text: str, first: Run, second: Run) -> Claim:
    """Returns the claim that two runs ended with the same parameters, byte for byte."""
    pairs = list(zip(first.parameters, second.parameters, strict=True))
    if all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs):
        return Claim(text, True, f"{sum(array.size for array in first.parameters)} parameters, byte for byte")
    return Claim(text, False, f"parameters differ by up to {max(np.abs(a - b).max() for a, b in pairs):.1e}")


BATCH = 64
HIDDEN = 100
LEARNING_RATE = 0.2
TRAIN = 1500
SPLIT_SEED = 0  # which digits are held back is part of the data, so it does not follow the run's seed
BRIGHTEST = 16  # the files count from 0 to 16


@dataclass(frozen=True)
class Task:
    """What a run trains on and starts from.

    Args:
        train_images: float32 in [0, 1], one row of 64 pixels each.
        train_labels: int64, one column.
        test_images: likewise.
        test_labels: likewise.
        initial: weight (64, 100), bias (100,), weight (100, 10), bias (10,); float32.
        orders: per epoch a permutation of the training images.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    initial: tuple[np.ndarray, ...]
    orders: tuple[np.ndarray, ...]

    def batches(self, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields the batches of an epoch: images (≤ 64, 64) float32 and labels (≤ 64, 1) int64."""
        order = self.orders[epoch]
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            yield self.train_images[chosen], self.train_labels[chosen]

    def accuracy(self, logits: np.ndarray) -> float:
        """Returns the share of test images whose greatest logit is their label."""
        return float((logits.argmax(axis=1) == self.test_labels[:, 0]).mean())


def make_task(epochs: int, seed: int) -> Task:
    """Returns the task of a seed; the digits are shuffled once and cut into 1500 to train on and 297 to test with.

    Raises:
        MissingDependencyError: scikit-learn, which has the digits, is not installed.
    """
    datasets = optional("sklearn.datasets", extra="test", subject="opsdk demo, the digits")
    images, labels = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(images))
    images = (images[order] / BRIGHTEST).astype(np.float32)
    labels = labels[order].astype(np.int64).reshape(-1, 1)
    generator = np.random.default_rng(seed)
    pixels, classes = images.shape[1], 10
    initial = (
        _uniform(generator, pixels, HIDDEN),
        np.zeros(HIDDEN, np.float32),
        _uniform(generator, HIDDEN, classes),
        np.zeros(classes, np.float32),
    )
    orders = tuple(generator.permutation(TRAIN) for _ in range(epochs))
    return Task(images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:], initial, orders)


def _uniform(generator: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    bound = np.sqrt(6 / (rows + columns))  # Glorot and Bengio 2010, eq. 16
    return generator.uniform(-bound, bound, (rows, columns)).astype(np.float32)
