import numpy as np
import pytest

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.ops.one_hot import one_hot


def test_one_hot_is_one_at_the_class():
    np.testing.assert_array_equal(one_hot(np.array([2, 0]), num_classes=3), [[0, 0, 1], [1, 0, 0]])


def test_one_hot_appends_an_axis_and_is_float32():
    assert one_hot(np.array([[1], [0]]), num_classes=2).shape == (2, 1, 2)
    assert one_hot(np.array(1), num_classes=2).dtype == np.float32
    assert one_hot(np.zeros((0,), np.int64), num_classes=2).shape == (0, 2)


def test_one_hot_refuses_a_class_outside():
    with pytest.raises(ShapeError, match=r"op 'opsdk::one_hot': x expected in \[0, 2\), got 0 to 2"):
        one_hot(np.array([0, 2]), num_classes=2)


def test_classes_are_whole_numbers():
    with pytest.raises(DTypeError, match="op 'opsdk::one_hot': x expected integers or bools, got float64; cast it"):
        one_hot(np.array([0.5, np.nan]), num_classes=2)
