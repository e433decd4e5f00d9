"""The task that every run gets: digits, the same initial parameters and the same order of batches.

The digits are 1797 real handwritten ones of 8 × 8 pixels, which come with scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from opsdk.core.lazy import optional

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
