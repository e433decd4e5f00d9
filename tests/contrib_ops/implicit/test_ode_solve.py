import math

import numpy as np
import pytest

import opsdk
from contrib_ops import ode_solve
from opsdk import static
from opsdk.core.errors import InputValueError, ShapeError

Y0, RATE = np.array([1.0, -2.0]), np.array([0.5, -1.5])


def growing(t, y, rate):
    return rate * y


def pendulum(t, y, friction):
    angle, speed = opsdk.split(y, 2, -1)
    return opsdk.concat([speed, -opsdk.sin(angle) - friction * speed + 0.1 * math.cos(t)], -1)


def test_an_exponential_has_its_derivatives_to_the_second_order():
    y0, rate = (opsdk.to_tensor(value, stop_gradient=False) for value in (Y0, RATE))
    y = ode_solve(y0, rate, f=growing, t1=2.0, steps=24)
    dy0, drate = opsdk.grad(y.sum(), [y0, rate], create_graph=True)
    e = np.exp(2 * RATE)
    for got, wanted in ((y, Y0 * e), (dy0, e), (drate, 2 * Y0 * e)):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)
    mixed, twice = opsdk.grad(drate.sum(), [y0, rate])
    np.testing.assert_allclose(mixed.numpy(), 2 * e, rtol=1e-4)
    np.testing.assert_allclose(twice.numpy(), 4 * Y0 * e, rtol=1e-4)


def test_twice_the_steps_make_errors_sixteen_times_smaller():
    errors = [np.abs(ode_solve(Y0, RATE, f=growing, steps=n) - Y0 * np.exp(RATE)).max() for n in (8, 16, 32)]
    assert 13 < errors[0] / errors[1] < 19
    assert 13 < errors[1] / errors[2] < 19


def test_scipy_has_the_same_solution_and_sensitivities(rng):
    solve_ivp = pytest.importorskip("scipy.integrate").solve_ivp
    start, friction, dy = rng.normal(size=(3, 2)), 0.3, rng.normal(size=(3, 2))

    def theirs(start, friction):
        made = solve_ivp(
            lambda t, y: pendulum(t, y.reshape(3, 2), friction).ravel(),
            (0.5, 3.0),
            start.ravel(),
            rtol=1e-9,
            atol=1e-10,
        )
        return made.y[:, -1].reshape(3, 2)

    y0, theta = opsdk.to_tensor(start, stop_gradient=False), opsdk.to_tensor([friction], "float64", None, False)
    y = ode_solve(y0, theta, f=pendulum, t0=0.5, t1=3.0, steps=40)
    np.testing.assert_allclose(y.numpy(), theirs(start, friction), atol=1e-5)
    dy0, dtheta = (value.numpy() for value in opsdk.grad(y, [y0, theta], opsdk.to_tensor(dy)))
    h, along = 1e-4, rng.normal(size=(3, 2))
    slope = (theirs(start + h * along, friction) - theirs(start - h * along, friction)) / (2 * h)
    np.testing.assert_allclose((dy0 * along).sum(), (dy * slope).sum(), rtol=1e-4)
    slope = (theirs(start, friction + h) - theirs(start, friction - h)) / (2 * h)
    np.testing.assert_allclose(dtheta.sum(), (dy * slope).sum(), rtol=1e-4)


@pytest.mark.parametrize("shape", [[2], [None]], ids=["known", "open"])
def test_a_program_computes_the_bits_of_the_tape(shape):
    y0, rate = (opsdk.to_tensor(value, stop_gradient=False) for value in (Y0, RATE))
    y = ode_solve(y0, rate, f=growing, steps=4)
    wanted = [y, *opsdk.grad(y.sum(), [y0, rate])]
    with static.program_guard(static.Program()):
        v, w = static.data("v", shape, "float64"), static.data("w", shape, "float64")
        made = ode_solve(v, w, f=growing, steps=4)
        found = static.Executor().run(feed={"v": Y0, "w": RATE}, fetch_list=[made, *static.gradients([made], [v, w])])
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want.numpy())


def test_time_may_run_back_and_reach_what_it_came_from():
    there = ode_solve(Y0, RATE, f=growing, t0=0.0, t1=1.5, steps=64)
    np.testing.assert_allclose(ode_solve(there, RATE, f=growing, t0=1.5, t1=0.0, steps=64), Y0, rtol=1e-7)
    assert ode_solve(Y0, RATE, f=growing, t1=0.0).tolist() == Y0.tolist()


def test_another_shape_and_other_dtypes_are_refused():
    with pytest.raises(ShapeError, match=r"op 'contrib::ode_solve': f expected to give shape \(2,\), got \(\)"):
        ode_solve(Y0, [], f=lambda t, y: y.sum())
    with pytest.raises(InputValueError, match="y0 expected float32 or float64, got float16; cast it"):
        ode_solve(Y0.astype("float16"), [], f=lambda t, y: y)
    with pytest.raises(InputValueError, match="theta expected float64 like y0, got float32; cast them"):
        ode_solve(Y0, RATE.astype("float32"), f=growing)
