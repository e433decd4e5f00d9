"""lgamma, digamma and polygamma in float64, against mpmath where their branches meet and where they are reflected."""

import mpmath
import numpy as np
import pytest

from opsdk.expr.primitives.bodies.gamma import digamma, lgamma, polygamma

POINTS = (1e-300, 1e-5, 0.15, 0.4999, 0.5, 0.5001, 0.9999, 1.25, 1.2501, 2.4999, 2.5, 2.5001, 9.75, 1e8)
BELOW = (-1e-5, -0.4999, -0.5001, -1.5, -7.25)
INF, NAN = np.inf, np.nan


def within(body, exact, points, least=0.0, units=8.0):
    """Holds a body to units in the last place of the right values, or of a size where these are smaller."""
    with np.errstate(all="ignore"):
        got = body(np.array(points))
    with mpmath.workdps(40):
        wanted = [exact(mpmath.mpf(point)) for point in points]
        off = [float(abs(mpmath.mpf(a) - b) / max(abs(b), least)) for a, b in zip(got.tolist(), wanted, strict=True)]
    assert max(off) < units * 2.0**-52, dict(zip(points, off, strict=True))


def test_lgamma_is_right_on_both_sides_of_each_branch():
    within(lgamma, lambda x: mpmath.re(mpmath.loggamma(x)), (*POINTS, *BELOW), least=1.0)


def test_lgamma_keeps_its_digits_beside_its_zeros():
    within(lgamma, mpmath.loggamma, (1 - 1e-9, 1 + 1e-9, 2 - 1e-9, 2 + 1e-9))


def test_digamma_is_right_on_both_sides_of_each_branch():
    within(digamma, mpmath.digamma, (*POINTS, *BELOW), least=1.0)


def test_digamma_keeps_its_digits_beside_its_zero():
    within(digamma, mpmath.digamma, (1.4616321449683623, 1.4616, 1.4617))


@pytest.mark.parametrize("order", [1, 2, 5])
def test_polygamma_is_the_derivative_of_digamma_of_every_order(order):
    within(polygamma(order), lambda x: mpmath.psi(order, x), (1e-3, 0.7, 3.0, 40.0, -0.3, -4.6), units=64.0)


def test_values_at_poles_and_at_the_ends():
    x = np.array([0.0, -1.0, -3.0, INF, -INF, NAN])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lgamma(x), [INF, INF, INF, INF, -INF, NAN])
        np.testing.assert_array_equal(digamma(x), [-INF, NAN, NAN, INF, NAN, NAN])
        np.testing.assert_array_equal(polygamma(1)(x)[:4], [INF, INF, INF, 0.0])
        np.testing.assert_array_equal(polygamma(2)(x)[1:3], [NAN, NAN])
