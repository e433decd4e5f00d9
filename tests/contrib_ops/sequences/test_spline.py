"""spline: values, derivatives of every order and gradients beside scipy.interpolate.CubicSpline and numpy.interp."""

import numpy as np
import pytest

import opsdk
from contrib_ops import spline

CALLS = [(n, b) for n in (2, 3, 4, 9) for b in ("natural", "clamped", "not-a-knot") if n > 3 or b != "not-a-knot"]


def problem(rng, n):
    knots = np.cumsum(rng.uniform(0.2, 1.0, n))
    return knots, rng.normal(size=(3, n)), rng.uniform(knots[0] - 1, knots[-1] + 1, 40)


@pytest.mark.parametrize(("n", "boundary"), CALLS)
def test_curves_and_their_derivatives_are_those_of_scipy(n, boundary, rng):
    scipy = pytest.importorskip("scipy.interpolate")
    knots, values, x = problem(rng, n)
    wanted = scipy.CubicSpline(knots, values, axis=1, bc_type=boundary)
    for order in range(5):
        expected = wanted(x, order)
        for kernel in ("as chosen", "reference"):
            call = spline if kernel == "as chosen" else spline.opdef.kernels.reference().source
            got = call(knots, values, x, mode="cubic", boundary=boundary, order=order)
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max()))


def test_straight_lines_are_those_of_numpy(rng):
    knots, values, x = problem(rng, 6)
    inside = np.clip(x, knots[0], knots[-1])
    wanted = [np.interp(inside, knots, curve) for curve in values]
    np.testing.assert_allclose(spline(knots, values, inside, mode="linear"), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("boundary", ["natural", "clamped", "not-a-knot"])
def test_gradients_are_derivatives_of_scipys_spline(boundary, rng):
    scipy = pytest.importorskip("scipy.interpolate")
    knots, values, x = problem(rng, 6)
    dy = rng.normal(size=(3, 40))
    f, at = (opsdk.to_tensor(array, stop_gradient=False) for array in (values, x))
    spline(knots, f, at, boundary=boundary).backward(opsdk.to_tensor(dy))
    basis = scipy.CubicSpline(knots, np.eye(6), bc_type=boundary)  # linear in the values
    np.testing.assert_allclose(f.grad.numpy(), dy @ basis(x), rtol=1e-9, atol=1e-9)
    slopes = scipy.CubicSpline(knots, values, axis=1, bc_type=boundary)(x, 1)
    np.testing.assert_allclose(at.grad.numpy(), (dy * slopes).sum(0), rtol=1e-9, atol=1e-8)


# Another order of every kernel is compiled; the first derivative stands for it.
@pytest.mark.slow
def test_the_second_derivative_in_x_is_that_of_the_curve(rng):
    scipy = pytest.importorskip("scipy.interpolate")
    knots, values, x = problem(rng, 6)
    at = opsdk.to_tensor(x, stop_gradient=False)
    (first,) = opsdk.grad(spline(knots, values[0], at).sum(), at, create_graph=True)
    (second,) = opsdk.grad(first.sum(), at)
    wanted = scipy.CubicSpline(knots, values[0], bc_type="natural")
    np.testing.assert_allclose(second.numpy(), wanted(x, 2), rtol=1e-9, atol=1e-9)


def test_float32_stays_float32():
    knots, values = np.arange(4, dtype="float32"), np.array([0, 1, 0, -1], "float32")
    got = spline(knots, values, knots)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, values, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"knots": np.array([0.0, 1.0, 1.0, 2.0])}, "knots expected to increase, got some that do not"),
        ({"values": np.ones(3)}, r"values expected \(…, 4\), one for each knot, got \(3,\)"),
        ({"x": np.ones((2, 2))}, r"knots and x expected one axis, and 2 knots at least, got \(4,\) and \(2, 2\)"),
        ({"boundary": "periodic"}, r"'boundary' expected 'natural' \| 'clamped' \| 'not-a-knot', got 'periodic'"),
        ({"order": -1}, "'order' expected int >= 0, got -1; write order=0"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(given, message):
    with pytest.raises(ValueError, match=message):
        spline(**{"knots": np.arange(4.0), "values": np.ones(4), "x": np.ones(2), **given})


def test_not_a_knot_wants_four_knots():
    with pytest.raises(ValueError, match="and 4 knots at least, got"):
        spline(np.arange(3.0), np.ones(3), np.ones(2), boundary="not-a-knot")


@pytest.mark.parametrize(("dtype", "unit"), [("float16", 2**-10), ("bfloat16", 2**-7)])
def test_curves_of_16_bits_are_computed_in_float64(dtype, unit):
    tensors = [opsdk.to_tensor(array).astype(dtype) for array in ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [0.5, 1.0, 1.75])]
    got = spline(*tensors)
    assert got.dtype == tensors[0].dtype
    wanted = [(3 * x - x**3) / 2 for x in (0.5, 1.0, 0.25)]  # the same on both sides of the middle
    np.testing.assert_allclose(got.numpy().astype(float), wanted, rtol=unit)


@pytest.mark.parametrize("mode", ["cubic", "linear"])
@pytest.mark.parametrize("order", [0, 1, 3, 4])
def test_y_is_nan_where_x_is_not_finite_in_every_kernel(mode, order):
    knots, x = np.arange(5.0), opsdk.to_tensor([np.nan, 0.5, np.inf, -np.inf], stop_gradient=False)
    reference = spline.opdef.kernels.reference().source
    for y in (
        spline(knots, knots**3, x, mode=mode, order=order).numpy(),
        reference(knots, knots**3, x.numpy(), mode=mode, boundary="natural", order=order),
    ):
        assert np.isnan(y).tolist() == [True, False, True, True]


@pytest.mark.parametrize("mode", ["cubic", "linear"])
def test_all_values_have_a_gradient_of_nan_where_an_x_is_not_finite(mode):
    knots, values = np.arange(5.0), opsdk.to_tensor(np.ones(5), stop_gradient=False)
    spline(knots, values, np.array([0.5, np.inf]), mode=mode).sum().backward()
    assert np.isnan(values.grad.numpy()).all()
