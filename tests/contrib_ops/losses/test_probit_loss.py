"""probit_loss beside mpmath, far out too, where the distribution function is 0."""

import mpmath
import numpy as np
import pytest

import opsdk
from contrib_ops import probit_loss


def exact(x, t):
    one, other = (mpmath.erfc(-side * x / mpmath.sqrt(2)) / 2 for side in (1, -1))
    return -t * mpmath.log(one) - (1 - t) * mpmath.log(other)


POINTS = [(0.3, 1.0), (0.3, 0.0), (-1.5, 0.25), (-38.5, 1.0), (30.0, 0.125), (9.0, 1.0)]


def reference(x, t):
    """The values in NumPy, which need no compiler; `verify` holds the others to them."""
    return probit_loss.opdef.kernels.reference().source(np.asarray(x), np.asarray(t))


@pytest.mark.parametrize("point", POINTS)
def test_values_are_those_of_mpmath(point):
    with mpmath.workdps(500):
        wanted = float(exact(*map(mpmath.mpf, point)))
    assert reference(*point) == pytest.approx(wanted, rel=1e-13)


@pytest.mark.slow  # compiles three kernels; the values are looked at above
@pytest.mark.parametrize("point", POINTS)
def test_values_first_and_second_derivatives_are_those_of_mpmath(point):
    x, t = (opsdk.to_tensor(np.array([value]), stop_gradient=False) for value in point)
    loss = probit_loss(x, t)
    (slope,) = opsdk.grad(loss.sum(), [x], create_graph=True)
    (second,) = opsdk.grad(slope.sum(), [x])
    with mpmath.workdps(500):
        at = mpmath.mpf(point[0]), mpmath.mpf(point[1])
        wanted = [exact(*at)]
        wanted += [mpmath.diff(exact, at, (order, 0), h=mpmath.mpf("1e-120")) for order in (1, 2)]
        np.testing.assert_allclose([loss.item(), slope.item(), second.item()], list(map(float, wanted)), rtol=1e-12)


def test_a_class_that_counts_nothing_adds_nothing():
    assert reference(np.array([-np.inf, np.inf]), np.array([0.0, 1.0])).tolist() == [0.0, 0.0]
    assert reference(np.array([-1e200]), np.array([1.0])).tolist() == [np.inf]
