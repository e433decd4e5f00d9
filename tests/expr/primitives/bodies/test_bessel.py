"""Bessel functions in float64, against mpmath where their branches meet; orders from 2 on likewise."""

import mpmath
import numpy as np
import pytest

from opsdk.expr.primitives.bodies.bessel import i0e, i1e, i_over_power, j0, j1, j_over_power
from tests.expr.primitives.bodies.test_gamma import within

POINTS = (1e-9, 0.3, 2.4, 4.999, 5.001, 7.999, 8.001, 30.0, 1e4)


@pytest.mark.parametrize(("body", "order"), [(j0, 0), (j1, 1)])
def test_j_is_right_on_both_sides_of_eight_and_of_zero(body, order):
    within(body, lambda x: mpmath.besselj(order, x), (*POINTS, *(-x for x in POINTS)), least=1.0)


@pytest.mark.parametrize(("body", "order"), [(i0e, 0), (i1e, 1)])
def test_i_is_right_on_both_sides_of_eight_and_of_zero(body, order):
    def exact(x):
        return mpmath.exp(-abs(x)) * mpmath.besseli(order, x)

    within(body, exact, (*POINTS, *(-x for x in POINTS)))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_j_over_a_power_is_right_where_the_series_ends(order):
    near = tuple(x for x in POINTS if x < 9)
    within(j_over_power(order), lambda x: mpmath.besselj(order, x) / x**order, near, least=1e-3, units=64.0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_i_over_a_power_is_right_where_the_series_ends(order):
    def exact(x):
        return mpmath.exp(-abs(x)) * mpmath.besseli(order, x) / x**order

    within(i_over_power(order), exact, tuple(x for x in POINTS if x < 100), units=256.0)


def test_at_zero_what_is_divided_by_a_power_is_its_first_coefficient():
    with np.errstate(all="ignore"):
        for order, wanted in ((1, 1 / 2), (2, 1 / 8), (3, 1 / 48)):  # 1/(2ⁿ n!)
            for made in (j_over_power(order), i_over_power(order)):
                np.testing.assert_allclose(made(np.array([0.0])), [wanted], rtol=1e-15)


def test_odd_functions_keep_the_sign_of_zero_and_ends_are_those_of_the_functions():
    x = np.array([0.0, -0.0, np.inf, -np.inf])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.signbit(j1(x[:2])), [False, True])
        np.testing.assert_array_equal(np.signbit(i1e(x[:2])), [False, True])
        np.testing.assert_array_equal(i0e(x), [1.0, 1.0, 0.0, 0.0])
        assert np.isnan(j0(x[2:])).all()
