"""Ops that tell true from false, beside NumPy's."""

import numpy as np
import pytest

import opsdk

X = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 2.0])
Y = np.array([0.0, 1.0, np.nan, 0.0, -np.inf, 2.0])


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "logical_not"])
def test_what_a_number_is_is_told_as_numpy_tells_it(name):
    for made in (getattr(opsdk, name)(X), getattr(opsdk.to_tensor(X), name)().numpy()):
        assert made.dtype == np.bool_
        np.testing.assert_array_equal(made, getattr(np, name)(X))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_what_two_numbers_are_is_told_as_numpy_tells_it(name):
    for made in (getattr(opsdk, name)(X, Y), getattr(opsdk.to_tensor(X), name)(Y).numpy()):
        np.testing.assert_array_equal(made, getattr(np, name)(X, Y))


def test_nothing_of_it_carries_a_gradient():
    x = opsdk.to_tensor(X, stop_gradient=False)
    for made in (x.isnan(), x.logical_and(x), x < 1, opsdk.any(x > 0), opsdk.all(x > 0)):
        assert made.stop_gradient


def test_of_nothing_all_is_true_and_any_false():
    assert opsdk.all(np.zeros((0, 2))).tolist() is True
    assert opsdk.any(np.zeros((0, 2)), axis=0).tolist() == [False, False]
