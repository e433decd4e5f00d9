"""Fixed points of a callable, with gradients by the implicit function theorem and never through the iterations."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op(
    "contrib::fixed_point(Tensor x0, Tensor[] theta, *, Callable f, float? tol=None, int >= 1 max_iter=100, "
    "int >= 1 memory=5) -> Tensor x",
    infer=opsdk.infer.like("x0"),
    nondifferentiable=["x0"],
)
def fixed_point(x0, theta, *, f, tol, max_iter, memory):
    """x = f(x, *theta), from a guess x0 on.

    By Anderson's acceleration (Walker and Ni 2011, Anderson Acceleration for Fixed-Point Iterations, eq. 2.3): the next
    x is the combination of the last values of f whose residuals cancel best.

    Args:
        x0: float32 or float64 array, the guess. It decides at most which of several fixed points is found.
        theta: arrays that f depends on.
        f: a callable of x and theta, made of opsdk's functions where gradients are wanted; gives the shape of x.
        tol: greatest residual |f(x) - x| beside the greatest |x|; 32 roundings of the dtype unless given.
        max_iter: how many values of f are taken at most.
        memory: of how many the residuals are combined; 1 is the plain iteration.

    Returns x, of the shape and dtype of x0.

    Raises ValueError: no x within tol after max_iter values, or f gives another shape.

    Gradient: with respect to theta, any order: (∂f/∂theta)ᵀ w at x, where w = dx + (∂f/∂x)ᵀ w is a fixed point itself
    (Bai, Kolter and Koltun 2019, Deep Equilibrium Models, theorem 1). It is as exact as x and w are, and keeps x and
    theta alone.
    """
    limit = 32 * np.finfo(x0.dtype).eps if tol is None else tol
    x = x0
    values: list[np.ndarray] = []
    residuals: list[np.ndarray] = []
    for _ in range(max_iter):
        value = np.asarray(f(x, *theta), x0.dtype)
        if value.shape != x0.shape:
            raise errors.ShapeError(f"op 'contrib::fixed_point': f expected to give {x0.shape}, got {value.shape}")
        residual = value - x
        if not np.isfinite(residual).all():
            break
        if np.abs(residual).max(initial=0) <= limit * np.abs(value).max(initial=0):
            return value
        values, residuals = [*values, value.ravel()][-memory:], [*residuals, residual.ravel()][-memory:]
        x = value
        if len(values) > 1:
            share = np.linalg.lstsq(np.diff(residuals, axis=0).T, residuals[-1], rcond=None)[0]
            x = (values[-1] - np.diff(values, axis=0).T @ share).reshape(x0.shape)
    worst = np.abs(residual).max(initial=0)
    raise errors.InputValueError(
        f"op 'contrib::fixed_point': expected f to have a fixed point near x0, got a residual of {worst:.1e} after at "
        f"most {max_iter} values; give a nearer x0, more of them, or a contraction"
    )


def adjoint(f):
    """Returns the map whose fixed point is (I - ∂f/∂x)⁻ᵀ dx."""

    def step(w, dx, x, *theta):
        return dx + opsdk.vjp(lambda x: f(x, *theta), x, w)[1]

    return step


@fixed_point.backward(composite=True)
def fixed_point_grad(theta, x, dx, f, tol, max_iter, memory):
    w = fixed_point(dx, [dx, x, *theta], f=adjoint(f), tol=tol, max_iter=max_iter, memory=memory)
    return list(opsdk.vjp(lambda *theta: f(x, *theta), list(theta), w)[1])


@fixed_point.check
def fixed_point_check(x0):
    return (
        None if x0.dtype.name in ("float32", "float64") else f"x0 expected float32 or float64, got {x0.dtype}; cast it"
    )


def babylonian(x, a):
    return (x + a / x) * 0.5


def contraction(x, weight):
    return opsdk.tanh(weight * x) * 0.5 + 1.0


@fixed_point.samples
def fixed_point_samples(rng):
    yield opsdk.Sample(np.ones(2), [rng.uniform(1.0, 3.0, 2)], f=babylonian, reason="√a, of any order")
    yield opsdk.Sample(np.zeros(1), [rng.uniform(-1.0, 1.0, 1)], f=contraction, memory=2, reason="a layer of a network")


# There is no kernel beside the reference: the time is that of f.
