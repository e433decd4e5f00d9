"""Interpolation of curves by cubic splines, or by straight lines, and derivatives of any order."""

import numpy as np

import opsdk

OPTIONS = "'cubic' | 'linear' mode='cubic', 'natural' | 'clamped' | 'not-a-knot' boundary='natural', int >= 0 order=0"


@opsdk.op(
    f"contrib::spline(Tensor knots, Tensor values, Tensor x, *, {OPTIONS}) -> Tensor y",
    infer=lambda knots, values, x: opsdk.TensorSpec((*values.shape[:-1], *x.shape), values.dtype),
    constant=["knots"],
)
def spline(knots, values, x, *, mode, boundary, order):
    """The curve through (knots, values) at x, or its derivative of an order (de Boor 1978, A Practical Guide, ch. IV).

    Args:
        knots: float array t (n,), increasing, n ≥ 2; with "not-a-knot" n ≥ 4.
        values: float array (…, n), the curves at the knots.
        x: float array (m,), where they are asked for; outside of the knots the first and the last piece go on. Where
            it is nan or inf, y is nan.
        mode: "cubic", two times continuously differentiable, or "linear".
        boundary: of a cubic one: second derivatives of 0 at both ends, first derivatives of 0, or one polynomial in
            the two pieces at either end, as in `scipy.interpolate.CubicSpline(t, values, bc_type=boundary)`.
        order: which derivative in x; from 4 on (linear: 2) it is 0.

    Returns y (…, m), of the dtype of values. At a knot it is that of the piece to the right.

    Raises ValueError: arrays that do not fit, too few knots, or knots that do not increase.

    Gradient: with respect to values, in which it is linear, and x, to any order.
    """
    return (values @ weights(knots, x, mode, boundary, order).T).astype(values.dtype)


@opsdk.op(
    f"contrib::spline_values(Tensor knots, Tensor x, Tensor dy, *, {OPTIONS}) -> Tensor dvalues",
    infer=lambda knots, dy: opsdk.TensorSpec((*dy.shape[:-1], *knots.shape), dy.dtype),
    constant=["knots"],
)
def spline_values(knots, x, dy, *, mode, boundary, order):
    """What arrives at the values where dy arrives at the curves: the transpose of `spline`."""
    return (dy @ weights(knots, x, mode, boundary, order)).astype(dy.dtype)


@spline.check
def spline_check(knots, values, x, mode, boundary):
    if values.ndim == 0 or values.shape[-1:] != knots.shape:
        return f"values expected (…, {len(knots)}), one for each knot, got {values.shape}"
    return knots_check(knots, x, mode, boundary)


@spline_values.check
def spline_values_check(knots, x, dy, mode, boundary):
    if dy.ndim == 0 or dy.shape[-1:] != x.shape:
        return f"dy expected (…, {len(x)}), one for each x, got {dy.shape}"
    return knots_check(knots, x, mode, boundary)


def knots_check(knots, x, mode, boundary):
    least = 4 if mode == "cubic" and boundary == "not-a-knot" else 2
    if knots.ndim != 1 or x.ndim != 1 or len(knots) < least:
        return f"knots and x expected one axis, and {least} knots at least, got {knots.shape} and {x.shape}"
    return None if (np.diff(knots) > 0).all() else "knots expected to increase, got some that do not; sort them"


def weights(knots, x, mode, boundary, order):
    """Returns the matrix (m, n) from values to what is asked for."""
    knots, x = knots.astype(float), np.where(np.isfinite(x), x, np.nan).astype(float)
    n, h = len(knots), np.diff(knots)
    left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, n - 2)
    h, b = h[left][:, None], ((x - knots[left]) / h[left])[:, None]
    first, second = np.eye(n)[left], np.eye(n)[left + 1]
    # In units of h, with a = 1 - b: a f0 + b f1 + h² ((a³ - a) M0 + (b³ - b) M1) / 6, M the second derivatives.
    line = {0: (1 - b) * first + b * second, 1: (second - first) / h}.get(order, 0 * first)
    line += 0 * b  # nan where x is
    if mode == "linear":
        return line
    a = 1 - b
    bends = {0: (a**3 - a, b**3 - b), 1: (1 - 3 * a**2, 3 * b**2 - 1), 2: (6 * a, 6 * b), 3: (-6 + 0 * a, 6 + 0 * b)}
    m0, m1 = bends.get(order, (0 * a, 0 * b))
    return line + h ** (2 - order) / 6 * (m0 * first + m1 * second) @ curvatures(knots, boundary)


def curvatures(knots, boundary):
    """Returns the matrix from values to second derivatives at the knots: A M = R f, a row for each knot."""
    n, h = len(knots), np.diff(knots)
    A, R = np.zeros((2, n, n))
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        R[i, i - 1 : i + 2] = 6 / h[i - 1], -6 / h[i - 1] - 6 / h[i], 6 / h[i]
    if boundary == "natural":
        A[0, 0] = A[-1, -1] = 1
    elif boundary == "clamped":
        A[0, :2], R[0, :2] = (2 * h[0], h[0]), (-6 / h[0], 6 / h[0])
        A[-1, -2:], R[-1, -2:] = (h[-1], 2 * h[-1]), (6 / h[-1], -6 / h[-1])
    else:
        A[0, :3] = h[1], -h[0] - h[1], h[0]
        A[-1, -3:] = h[-1], -h[-2] - h[-1], h[-2]
    return np.linalg.solve(A, R)


def summed(y):
    """Returns the sum over all axes but the last."""
    return opsdk.sum(y, axis=tuple(range(len(y.shape) - 1))) if len(y.shape) > 1 else y


@spline.backward(composite=True)
def spline_grad(knots, values, x, dy, mode, boundary, order):
    options = {"mode": mode, "boundary": boundary}
    slope = spline(knots, values, x, order=order + 1, **options)
    return spline_values(knots, x, dy, order=order, **options), summed(dy * slope)


@spline_values.backward(composite=True)
def spline_values_grad(knots, x, dy, ddvalues, mode, boundary, order):
    options = {"mode": mode, "boundary": boundary}
    slope = spline(knots, ddvalues, x, order=order + 1, **options)
    return summed(dy * slope), spline(knots, ddvalues, x, order=order, **options)


@spline.samples
def spline_samples(rng):
    knots = np.array([-1.0, -0.4, 0.1, 0.9, 2.0])
    x = np.array([-1.5, -0.9, 0.0, 0.5, 0.55, 1.7, 2.5])
    for boundary in ("natural", "clamped", "not-a-knot"):
        yield opsdk.Sample(knots, rng.normal(size=(2, 5)), x, boundary=boundary, reason=f"{boundary}, also outside")
    yield opsdk.Sample(knots, rng.normal(size=5), x, order=1, reason="one curve, its slope")
    yield opsdk.Sample(knots, rng.normal(size=5), x, order=2, boundary="clamped", reason="one curve, how it bends")
    yield opsdk.Sample(knots, rng.normal(size=5), x, order=3, reason="one curve, in steps")
    yield opsdk.Sample(knots, rng.normal(size=5), x, order=4, reason="how the third derivative changes: not at all")
    yield opsdk.Sample(knots, rng.normal(size=(2, 5)), x, mode="linear", reason="straight lines")
    yield opsdk.Sample(knots[:2], rng.normal(size=2), x, reason="two knots: a line")
    yield opsdk.Sample(knots, rng.normal(size=5), x[:0], reason="nothing asked for")


@spline_values.samples
def spline_values_samples(rng):
    knots, x = np.array([-1.0, -0.4, 0.1, 0.9, 2.0]), np.array([-1.5, -0.9, 0.5, 0.55, 2.5])
    for boundary in ("natural", "clamped", "not-a-knot"):
        yield opsdk.Sample(knots, x, rng.normal(size=(2, 5)), boundary=boundary, reason=boundary)
    yield opsdk.Sample(knots, x, rng.normal(size=5), mode="linear", reason="straight lines")
    yield opsdk.Sample(knots, x, rng.normal(size=(2, 5)), order=2, reason="a higher order")
    for order in (1, 3):
        yield opsdk.Sample(knots, x[:2], rng.normal(size=2), order=order, reason=f"order {order}, of one curve")


@spline.bench
def spline_bench(rng, n):
    """One curve of 64 knots."""
    return opsdk.Sample(np.linspace(0, 1, 64), rng.normal(size=64), rng.uniform(size=n))


@spline_values.bench
def spline_values_bench(rng, n):
    """One curve of 64 knots."""
    return opsdk.Sample(np.linspace(0, 1, 64), rng.uniform(size=n), rng.normal(size=n))


for op, name in ((spline, "forward"), (spline_values, "backward")):
    op.kernel("cpu", language="numba", source=f".spline_numba:{name}", dtype=("float32", "float64"), contiguous=True)
