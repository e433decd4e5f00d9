import numpy as np
import pytest

from opsdk.ops import creation


def test_fill_constant_has_the_shape_and_dtype_asked_for():
    made = creation.fill_constant(shape=[2, 3], value=1.5, dtype="float64")
    np.testing.assert_array_equal(made, np.full((2, 3), 1.5))
    assert creation.fill_constant(shape=[], value=1.0).dtype == np.float32
    assert creation.fill_constant(shape=[0, 4], value=1.0).shape == (0, 4)


def test_assign_value_lists_values_in_c_order():
    made = creation.assign_value(shape=[2, 2], values=[1.0, 2.0, 3.0, 4.0], dtype="int32")
    np.testing.assert_array_equal(made, np.array([[1, 2], [3, 4]], np.int32))
    assert made.flags.owndata


@pytest.mark.parametrize("op", [creation.uniform_random, creation.gaussian_random])
def test_the_same_seed_gives_the_same_numbers(op):
    first, again, other = (op(shape=[50], seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    assert first.dtype == np.float32


def test_uniform_numbers_fill_their_interval():
    made = creation.uniform_random(shape=[10_000], min=2.0, max=4.0, seed=1, dtype="float64")
    assert 2 <= made.min() < 2.01
    assert 3.99 < made.max() < 4


def test_normal_numbers_have_their_mean_and_spread():
    made = creation.gaussian_random(shape=[10_000], mean=2.0, std=0.5, seed=1, dtype="float64")
    assert made.mean() == pytest.approx(2, abs=0.03)
    assert made.std() == pytest.approx(0.5, rel=0.03)


def test_fill_any_like_takes_shape_and_dtype_and_no_values():
    made = creation.fill_any_like(np.full((2, 1), np.nan, np.float32), value=3.0)
    np.testing.assert_array_equal(made, np.full((2, 1), 3, np.float32))
    assert made.dtype == np.float32
