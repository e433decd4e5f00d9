import sys

import numpy as np
import pytest

from opsdk.core.errors import MissingDependencyError
from opsdk.ship.demo.train import BATCH, make_task

pytest.importorskip("sklearn", reason="the digits come with scikit-learn")


def test_digits_are_cut_into_1500_and_297_and_scaled():
    digits = make_task(1, 0)
    assert digits.train_images.shape == (1500, 64)
    assert digits.test_images.shape == (297, 64)
    assert (digits.train_images.min(), digits.train_images.max()) == (0.0, 1.0)
    assert digits.train_images.dtype == np.float32
    assert sorted(np.unique(digits.train_labels)) == list(range(10))
    assert digits.train_labels.dtype == np.int64


def test_an_epoch_has_every_image_once():
    task = make_task(2, 0)
    batches = list(task.batches(1))
    assert len(batches) == 24
    assert [len(images) for images, _ in batches] == [BATCH] * 23 + [1500 - 23 * BATCH]
    assert sorted(task.orders[1]) == list(range(1500))


def test_a_seed_gives_the_same_task_and_another_seed_another():
    first, again, other = make_task(1, 4), make_task(1, 4), make_task(1, 5)
    assert all(np.array_equal(a, b) for a, b in zip(first.initial, again.initial, strict=True))
    assert not np.array_equal(first.initial[0], other.initial[0])
    assert np.array_equal(first.test_labels, other.test_labels)


def test_accuracy_counts_the_greatest_logit():
    task = make_task(1, 0)
    right = np.eye(10)[task.test_labels[:, 0]]
    assert task.accuracy(right) == 1.0
    right[0] = -right[0]
    assert task.accuracy(right) == 296 / 297


def test_without_scikit_learn_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingDependencyError, match=r"opsdk demo, the digits needs .*which cannot be imported"):
        make_task(1, 0)
