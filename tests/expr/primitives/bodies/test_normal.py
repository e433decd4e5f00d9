"""erfcx, its iterated integrals, log_ndtr and erfinv in float64, against mpmath where their branches meet."""

import mpmath
import numpy as np
import pytest

from opsdk.expr.primitives.bodies.normal import erfcx, erfinv, integral, log_ndtr
from tests.expr.primitives.bodies.test_gamma import within

INF, NAN = np.inf, np.nan


def iterated(order, x):
    """exp(x²) iⁿerfc x as 2/√π ∫₀^∞ tⁿ/n! exp(−t² − 2xt) dt (DLMF 7.18.2)."""
    whole = mpmath.quad(lambda t: t**order * mpmath.exp(-t * t - 2 * x * t), [0, 1, 4, 12])
    return 2 / mpmath.sqrt(mpmath.pi) / mpmath.factorial(order) * whole


def test_erfcx_is_right_on_both_sides_of_zero_and_far_out():
    def exact(x):
        return mpmath.exp(x * x) * mpmath.erfc(x)

    within(erfcx, exact, (-25.317, -3.7, -1e-9, 0.0, 1e-9, 0.3, 4.0, 25.0, 200.0))


@pytest.mark.parametrize("order", [1, 2, 4])
def test_integrals_are_right_on_both_sides_of_where_the_continued_fraction_begins(order):
    within(integral(order), lambda x: iterated(order, x), (-0.5, 0.0, 0.7, 2.9999, 3.0001, 9.0), units=4e3)


def test_log_ndtr_is_right_on_both_sides_of_zero_and_where_nothing_is_left():
    def exact(x):
        tail = mpmath.erfc(abs(x) / mpmath.sqrt(2)) / 2
        return mpmath.log(tail) if x < 0 else mpmath.log1p(-tail)

    within(log_ndtr, exact, (-30.0, -1.0, -1e-9, 0.0, 1e-9, 2.0, 8.0, 37.0))


def test_erfinv_is_right_where_one_polynomial_follows_another():
    edge = [float(mpmath.sqrt(1 - mpmath.exp(-w))) for w in (6.24, 6.26, 15.9, 16.1, 19.0)]
    within(erfinv, mpmath.erfinv, (1e-300, 0.1, -0.5, *edge, 1 - 2.0**-53))


def test_values_at_the_ends():
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(erfcx(np.array([INF, -INF, NAN])), [0.0, INF, NAN])
        np.testing.assert_allclose(erfcx(np.array([1e308])), [5.641895835477563e-309], rtol=1e-14)
        np.testing.assert_array_equal(log_ndtr(np.array([INF, -INF, NAN, 50.0])), [0.0, -INF, NAN, 0.0])
        np.testing.assert_array_equal(erfinv(np.array([1.0, -1.0, 1.5, 0.0, NAN])), [INF, -INF, NAN, 0.0, NAN])
