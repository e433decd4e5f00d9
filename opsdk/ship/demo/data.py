"""The data: 1797 real handwritten digits of 8 × 8 pixels, which come with scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opsdk.core.lazy import optional

TRAIN = 1500
SPLIT_SEED = 0  # which digits are held back is part of the data, so it does not follow the run's seed
BRIGHTEST = 16  # the files count from 0 to 16


@dataclass(frozen=True)
class Digits:
    """Images float32 in [0, 1], one row of 64 pixels each; labels int64, one column."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def load_digits() -> Digits:
    """Returns the digits, shuffled once and cut into 1500 to train on and 297 to test with.

    Raises:
        MissingDependencyError: scikit-learn is not installed.
    """
    datasets = optional("sklearn.datasets", extra="test", subject="opsdk demo, the digits")
    images, labels = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(images))
    images = (images[order] / BRIGHTEST).astype(np.float32)
    labels = labels[order].astype(np.int64).reshape(-1, 1)
    return Digits(images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:])
