"""Densities beside mpmath's values and derivatives, and where their formulas would overflow or be 0 · ∞."""

import mpmath
import numpy as np
import pytest

import opsdk
from contrib_ops import negative_binomial_nll, student_t_nll, von_mises_nll


def student_t(x, df, loc, scale):
    z = (x - loc) / scale
    norm = mpmath.gamma(df / 2) * mpmath.sqrt(mpmath.pi * df) * scale / mpmath.gamma((df + 1) / 2)
    return mpmath.log(norm) + (df + 1) / 2 * mpmath.log(1 + z * z / df)


def negative_binomial(k, mean, r):
    p = r / (r + mean)
    return -mpmath.log(mpmath.binomial(k + r - 1, k)) - r * mpmath.log(p) - k * mpmath.log(1 - p)


def von_mises(angle, loc, kappa):
    return mpmath.log(2 * mpmath.pi * mpmath.besseli(0, kappa)) - kappa * mpmath.cos(angle - loc)


CASES = [
    (student_t_nll, student_t, (0.7, 3.5, -0.2, 1.7)),
    (student_t_nll, student_t, (-40.0, 0.3, 0.5, 0.25)),
    (student_t_nll, student_t, (0.0, 60.0, 0.1, 3.0)),
    (negative_binomial_nll, negative_binomial, (3.0, 2.5, 1.5)),
    (negative_binomial_nll, negative_binomial, (0.0, 0.25, 40.0)),
    (negative_binomial_nll, negative_binomial, (150.0, 20.0, 0.1)),
    (von_mises_nll, von_mises, (2.5, -1.0, 3.5)),
    (von_mises_nll, von_mises, (0.25, 0.5, 0.01)),
    (von_mises_nll, von_mises, (1.0, 7.0, 250.0)),
]


def reference(op, *inputs):
    """The values in NumPy, which need no compiler; `verify` holds the others to them."""
    return op.opdef.kernels.reference().source(*map(np.asarray, inputs))


@pytest.mark.parametrize(("op", "exact", "point"), CASES)
def test_values_are_those_of_mpmath(op, exact, point):
    with mpmath.workdps(40):
        wanted = float(exact(*map(mpmath.mpf, point)))
    assert reference(op, *point) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow  # compiles nine kernels; the values are looked at above
@pytest.mark.parametrize(("op", "exact", "point"), CASES)
def test_values_first_and_second_derivatives_are_those_of_mpmath(op, exact, point):
    inputs = [opsdk.to_tensor(np.array([value]), stop_gradient=False) for value in point]
    value = op(*inputs)
    firsts = opsdk.grad(value.sum(), inputs, create_graph=True)
    with mpmath.workdps(40):
        at = tuple(map(mpmath.mpf, point))
        orders = np.eye(len(point), dtype=int)
        assert value.item() == pytest.approx(float(exact(*at)), rel=1e-12)
        slopes = [float(mpmath.diff(exact, at, tuple(map(int, order)))) for order in orders]
        seconds = [float(mpmath.diff(exact, at, tuple(map(int, 2 * order)))) for order in orders]
        mixed = float(mpmath.diff(exact, at, tuple(map(int, orders[0] + orders[-1]))))
    np.testing.assert_allclose([first.item() for first in firsts], slopes, rtol=1e-11, atol=1e-13)
    made = [opsdk.grad(first.sum(), [x], retain_graph=True)[0] for first, x in zip(firsts, inputs, strict=True)]
    np.testing.assert_allclose([each.item() for each in made], seconds, rtol=1e-10, atol=1e-11)
    (cross,) = opsdk.grad(firsts[0].sum(), [inputs[-1]])
    assert cross.item() == pytest.approx(mixed, rel=1e-10, abs=1e-12)


def test_a_certain_direction_neither_overflows_nor_loses_digits():
    kappa = np.array([1e3, 1e10, 1e300])
    got = reference(von_mises_nll, np.full(3, 1e-3), np.zeros(3), kappa)
    wanted = 0.5 * np.log(2 * np.pi / kappa) + 2 * kappa * np.sin(5e-4) ** 2  # DLMF 10.40.1
    np.testing.assert_allclose(got, wanted, rtol=2e-4)
    np.testing.assert_allclose(got[1:], wanted[1:], rtol=1e-10)


def test_every_angle_is_as_likely_without_concentration():
    np.testing.assert_allclose(reference(von_mises_nll, np.array([0.0, 3.0]), 1.0, 0.0), np.log(2 * np.pi), rtol=1e-15)


def test_with_one_degree_of_freedom_it_is_cauchys():
    x = np.array([-3.0, 0.0, 1e150])
    np.testing.assert_allclose(
        reference(student_t_nll, x, 1.0, 0.0, 1.0), [np.log(10 * np.pi), np.log(np.pi), 691.920252], rtol=1e-8
    )


def test_a_mean_of_zero_gives_zero_and_nothing_else():
    assert reference(negative_binomial_nll, np.array([0.0, 1.0]), 0.0, 2.0).tolist() == [0.0, np.inf]
    poisson = 2.0 - 3 * np.log(2.0) + np.log(6.0)  # what is left as the counts stop varying
    assert reference(negative_binomial_nll, np.array([3.0]), 2.0, 1e9).item() == pytest.approx(poisson, rel=1e-5)
