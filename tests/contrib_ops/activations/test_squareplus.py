"""squareplus: values and three derivatives beside mpmath with 60 digits, far from 0 too; what it refuses."""

import mpmath
import numpy as np
import pytest

import opsdk
from contrib_ops import squareplus

POINTS = [0.0, -0.0, 0.3, -0.3, 2.0, -2.0, 50.0, -50.0, 1e4, -1e4, 1e7, -1e7]


def exact(x, b, order):
    with mpmath.workdps(60):
        found = mpmath.diff(lambda t: (t + mpmath.sqrt(t * t + b)) / 2, mpmath.mpf(x), order, h=mpmath.mpf("1e-15"))
        return float(found)


@pytest.mark.parametrize("b", [4.0, 0.25])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_values_and_derivatives_keep_their_digits_everywhere(order, b):
    x = opsdk.to_tensor(np.array(POINTS), stop_gradient=False)
    y = squareplus(x, b=b)
    for _ in range(order):
        (y,) = opsdk.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(y.numpy(), [exact(point, b, order) for point in POINTS], rtol=4e-15)


def test_the_third_derivative_is_right_near_the_bend():
    points = [0.0, 0.7, -0.7, 5.0, -5.0]
    x = opsdk.to_tensor(np.array(points), stop_gradient=False)
    y = squareplus(x)
    for _ in range(3):
        (y,) = opsdk.grad(y.sum(), x, create_graph=True)
    np.testing.assert_allclose(y.numpy(), [exact(point, 4.0, 3) for point in points], rtol=1e-12, atol=1e-15)


def test_float32_far_below_0_is_neither_0_nor_infinite():
    x = np.array([-1e20, -1e30, -3e4, 1e25, 3e38], "float32")
    y = squareplus(x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, [1e-20, 1e-30, 1 / 3e4, 1e25, 3e38], rtol=1e-6)


def test_infinities_and_nan_give_the_limits():
    np.testing.assert_array_equal(squareplus(np.array([-np.inf, np.inf, np.nan])), [0.0, np.inf, np.nan])


def test_a_small_b_gives_relu():
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(squareplus(x, b=1e-20), np.maximum(x, 0), atol=1e-10)


@pytest.mark.parametrize("b", [0.0, -4.0, float("nan")])
def test_a_b_that_is_not_above_0_is_refused(b):
    with pytest.raises(ValueError, match=r"'contrib::squareplus': attribute 'b' expected float > 0, got .*; write b="):
        squareplus(np.ones(3), b=b)
