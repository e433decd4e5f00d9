"""sinc and its derivatives in float64, against mpmath where the series ends, and at whole numbers."""

import mpmath
import numpy as np
import pytest

from opsdk.expr.primitives.bodies.sinc import derivative, sinc
from tests.expr.primitives.bodies.test_gamma import within


def test_sinc_is_right_near_zero_and_near_whole_numbers():
    within(sinc, mpmath.sincpi, (1e-300, 1e-9, 0.3, -0.999, 1.0001, 2.5, 40.25, -1e6 - 0.25))


def test_sinc_is_one_at_zero_and_exactly_zero_at_whole_numbers():
    x = np.array([0.0, -0.0, 1.0, -2.0, 3.0, 1e300])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sinc(x), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        assert np.isnan(sinc(np.array([np.inf, -np.inf, np.nan]))).all()


@pytest.mark.parametrize("order", [1, 2, 5])
def test_derivatives_are_right_on_both_sides_of_where_the_series_ends(order):
    end = max(1.0, order / 4)
    points = (0.05, 0.5, -0.5, end - 1e-3, end + 1e-3, 2.0, -7.25)
    within(derivative(order), lambda x: mpmath.diff(mpmath.sincpi, x, order), points, least=1.0, units=1e3)


@pytest.mark.parametrize("order", range(1, 7))
def test_at_zero_derivatives_are_the_taylor_coefficients(order):
    # the coefficient of x²ᵏ is (−1)ᵏ π²ᵏ/(2k + 1)!
    wanted = 0.0 if order % 2 else (-1) ** (order // 2) * np.pi**order / (order + 1)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(derivative(order)(np.array([0.0])), [wanted], rtol=1e-14)
