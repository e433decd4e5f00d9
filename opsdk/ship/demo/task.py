"""The task that every run gets: digits, the same initial parameters and the same order of batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from opsdk.ship.demo.data import Digits, load_digits

BATCH = 64
HIDDEN = 100
LEARNING_RATE = 0.2


@dataclass(frozen=True)
class Task:
    """What a run trains on and starts from.

    Args:
        digits: images and labels.
        initial: weight (64, 100), bias (100,), weight (100, 10), bias (10,); float32.
        orders: per epoch a permutation of the training images.
    """

    digits: Digits
    initial: tuple[np.ndarray, ...]
    orders: tuple[np.ndarray, ...]

    def batches(self, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields the batches of an epoch: images (≤ 64, 64) float32 and labels (≤ 64, 1) int64."""
        order = self.orders[epoch]
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            yield self.digits.train_images[chosen], self.digits.train_labels[chosen]

    @property
    def steps(self) -> int:
        """How many batches one epoch has."""
        return -(-len(self.digits.train_images) // BATCH)

    def accuracy(self, logits: np.ndarray) -> float:
        """Returns the share of test images whose greatest logit is their label."""
        return float((logits.argmax(axis=1) == self.digits.test_labels[:, 0]).mean())


def make_task(epochs: int, seed: int) -> Task:
    """Returns the task of a seed.

    Raises:
        MissingDependencyError: scikit-learn, which has the digits, is not installed.
    """
    digits = load_digits()
    generator = np.random.default_rng(seed)
    pixels, classes = digits.train_images.shape[1], 10
    initial = (
        _uniform(generator, pixels, HIDDEN),
        np.zeros(HIDDEN, np.float32),
        _uniform(generator, HIDDEN, classes),
        np.zeros(classes, np.float32),
    )
    orders = tuple(generator.permutation(len(digits.train_images)) for _ in range(epochs))
    return Task(digits, initial, orders)


def _uniform(generator: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    bound = np.sqrt(6 / (rows + columns))  # Glorot and Bengio 2010, eq. 16
    return generator.uniform(-bound, bound, (rows, columns)).astype(np.float32)
