"""Solutions of ordinary differential equations, with gradients by the adjoint equation."""

import math

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op(
    "contrib::ode_solve(Tensor y0, Tensor[] theta, *, Callable f, float t0=0.0, float t1=1.0, int >= 1 steps=32)"
    " -> Tensor y",
    infer=opsdk.infer.like("y0"),
    accuracy=1e-4,
)
def ode_solve(y0, theta, *, f, t0, t1, steps):
    """y(t1), where dy/dt = f(t, y, *theta) and y(t0) = y0; by the classical Runge-Kutta method (Kutta 1901), order 4.

    Args:
        y0: float32 or float64 array.
        theta: arrays of the dtype of y0 that f depends on.
        f: a callable of the time, a number, of y and of theta, made of opsdk's functions where gradients are wanted;
            gives the shape of y.
        t0: time of y0.
        t1: time of y; it may come first.
        steps: of one length; twice as many make errors sixteen times smaller, until rounding shows.

    Returns y(t1), of the shape and dtype of y0.

    Raises ValueError: dtypes differ, or f gives another shape.

    Gradient: with respect to y0 and theta, any order, by the adjoint equation da/dt = -(∂f/∂y)ᵀ a, solved from t1 back
    to t0 beside y and ∫ (∂f/∂theta)ᵀ a dt (Chen, Rubanova, Bettencourt and Duvenaud 2018, Neural Ordinary Differential
    Equations, algorithm 1). It keeps y(t1) and theta alone. It is the derivative of the solution and not of the steps:
    off by about what y is, and by more where y cannot be followed back, as in stiff equations.
    """
    y, dtype = y0.copy(), y0.dtype.type
    times = np.linspace(t0, t1, 2 * steps + 1).tolist()  # of each step begin, middle and end
    h = dtype((t1 - t0) / steps)
    for begin, middle, end in zip(times[:-1:2], times[1::2], times[2::2], strict=True):
        k1 = slope(f, begin, y, theta)
        k2 = slope(f, middle, y + h / 2 * k1, theta)
        k3 = slope(f, middle, y + h / 2 * k2, theta)
        k4 = slope(f, end, y + h * k3, theta)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def slope(f, t, y, theta):
    made = np.asarray(f(t, y, *theta), y.dtype)
    if made.shape != y.shape:
        raise errors.ShapeError(f"op 'contrib::ode_solve': f expected to give shape {y.shape}, got {made.shape}")
    return made


def packed(values):
    return opsdk.concat([value.reshape([-1]) for value in values])


def unpacked(state, shapes):
    pieces = opsdk.split(state, [math.prod(shape) for shape in shapes])
    return [piece.reshape(list(shape)) for piece, shape in zip(pieces, shapes, strict=True)]


def augmented(f, shapes):
    """Returns what y, its adjoint and the gradients of theta, packed into one state, obey."""

    def dynamics(t, state, *theta):
        y, a, *_ = unpacked(state, shapes)
        dy, (da, *dtheta) = opsdk.vjp(lambda y, *theta: f(t, y, *theta), [y, *theta], a)
        return packed([dy, -da, *(-d for d in dtheta)])

    return dynamics


@ode_solve.backward(composite=True)
def ode_solve_grad(theta, y, dy, f, t0, t1, steps):
    shapes = [tuple(value.shape) for value in (y, dy, *theta)]
    end = packed([y, dy, *map(opsdk.zeros_like, theta)])
    start = ode_solve(end, theta, f=augmented(f, shapes), t0=t1, t1=t0, steps=steps)
    _, dy0, *dtheta = unpacked(start, shapes)
    return dy0, dtheta


@ode_solve.check
def ode_solve_check(y0, theta):
    if y0.dtype.name not in ("float32", "float64"):
        return f"y0 expected float32 or float64, got {y0.dtype}; cast it"
    if any(value.dtype != y0.dtype for value in theta):
        return f"theta expected {y0.dtype} like y0, got {', '.join(str(value.dtype) for value in theta)}; cast them"
    return None


def pendulum(t, y, friction):
    angle, speed = opsdk.split(y, 2, -1)
    return opsdk.concat([speed, -opsdk.sin(angle) - friction * speed], -1)


def driven(t, y, rate):
    return opsdk.tanh(rate * y) + math.sin(t)


@ode_solve.samples
def ode_solve_samples(rng):
    yield opsdk.Sample(rng.normal(size=(2, 2)), [np.array([0.3])], f=pendulum, t1=0.25, steps=2, reason="two pendulums")
    yield opsdk.Sample(rng.normal(size=2), [rng.normal(size=2)], f=driven, t0=0.25, t1=0.0, steps=2, reason="back")
    yield opsdk.Sample(np.zeros((0, 2)), [np.array([0.3])], f=pendulum, steps=2, reason="nothing")


# There is no kernel beside the reference: the time is that of f.
