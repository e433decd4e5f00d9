import numpy as np
import pytest

from opsdk.expr import vmath
from opsdk.expr.evaluate import evaluate
from opsdk.expr.gradient.row_derivative import reverse_rows
from opsdk.expr.node import Node
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import COLUMN, FULL, ROW, ROW_PRIMITIVES
from opsdk.expr.symbol import Symbol

MEANINGS = {**PRIMITIVES, **ROW_PRIMITIVES}
ROLES = {"x": FULL, "w": COLUMN, "r": ROW, "dy": FULL, "dz": FULL}
SHAPES = {"x": (4, 5), "w": (5,), "r": (4, 1)}
NODES = {name: Node("input", (), name) for name in ROLES}
X, W, R = (Symbol(NODES[name]) for name in "xwr")

CASES = {
    "sum": lambda: X * vmath.row_sum(X * W),
    "mean": lambda: (X - vmath.row_mean(X)) * R,
    "max": lambda: X / vmath.row_max(X * X),
    "min": lambda: X * vmath.row_min(X),
    "logsumexp": lambda: vmath.exp(X - vmath.row_logsumexp(X)) * W,
    "take": lambda: X * vmath.row_take(X * X, vmath.where(R > 0.0, 2.0, 4.0)),
    "nested": lambda: X * vmath.rsqrt(vmath.row_mean(vmath.exp(X) * vmath.row_sum(W * X)) ** 2 + 1.0),
    "a number of the row alone": lambda: vmath.row_sum(X * X) * R + 0.0 * X,
    # what every element sends is added up, also where it is the same number
    "a sum of what is centred": lambda: vmath.row_sum(X - vmath.row_mean(X)) * X,
    "a mean beside a maximum": lambda: vmath.row_mean(X + vmath.row_max(X)) * W,
    "a sum less a number of the row": lambda: vmath.row_sum(X - R) + 0.0 * X,
    "a sum of a sum": lambda: vmath.row_sum(vmath.row_mean(X * W) - vmath.row_min(X) + X) * R * X,
    "a maximum of what is centred": lambda: vmath.row_max(X * W - vmath.row_mean(X)) * X,
    "a choice of two equal slopes": lambda: vmath.row_sum(vmath.where(X > 0.0, X - R, X + W - R)) * X,
    "a logsumexp beside a number of the row": lambda: vmath.row_logsumexp(X + R * vmath.row_sum(X)) * W,
    "position and length": lambda: X * vmath.row_index() / vmath.row_size(),
}


def value_of(node, values):
    extra = {"row_index()": np.arange(5.0), "row_size()": 5.0}
    with np.errstate(all="ignore"):
        return evaluate([node], {**values, **extra}, np, np.dtype(float), MEANINGS)[0]


def summed(array, shape):
    """A gradient as whoever computes it gives it: summed over what was broadcast."""
    array = np.broadcast_to(array, (4, 5))
    axes = tuple(i for i, size in enumerate((1, *shape)[-2:]) if size == 1)
    return array.sum(axis=axes).reshape(shape) if shape != (4, 5) else array


def numeric(node, values, name, cotangent, step=1e-6):
    found = np.zeros(SHAPES[name])
    for index in np.ndindex(found.shape):
        sides = []
        for sign in (1, -1):
            moved = values[name].copy()
            moved[index] += sign * step
            sides.append((value_of(node, {**values, name: moved}) * cotangent).sum())
        found[index] = (sides[0] - sides[1]) / (2 * step)
    return found


@pytest.fixture
def values(rng):
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_gradient_is_that_of_central_differences(case, values, rng):
    node, cotangent = CASES[case]().node, rng.normal(size=(4, 5))
    names = list(SHAPES)
    grads = reverse_rows([node], [NODES["dy"]], [NODES[name] for name in names], ROLES)
    for name, grad in zip(names, grads, strict=True):
        got = summed(value_of(grad, {**values, "dy": cotangent}), SHAPES[name]) if name != "r" else value_of(
            grad, {**values, "dy": cotangent}
        )
        want = numeric(node, values, name, cotangent)
        np.testing.assert_allclose(np.broadcast_to(got, want.shape), want, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("case", ["logsumexp", "mean", "nested", "take"])
def test_the_gradient_of_a_gradient_is_that_of_central_differences(case, values, rng):
    node, dy, dz = CASES[case]().node, rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    (first,) = reverse_rows([node], [NODES["dy"]], [NODES["x"]], ROLES)
    (second,) = reverse_rows([first], [NODES["dz"]], [NODES["x"]], ROLES)
    got = value_of(second, {**values, "dy": dy, "dz": dz})
    want = numeric(first, {**values, "dy": dy}, "x", dz)
    np.testing.assert_allclose(np.broadcast_to(got, want.shape), want, rtol=5e-6, atol=5e-7)


def test_ties_share_the_derivative_of_the_maximum_evenly():
    (grad,) = reverse_rows([vmath.row_max(X).node], [NODES["r"]], [NODES["x"]], ROLES)
    x = np.array([[1.0, 3.0, 3.0, 0.0, 2.0]])
    np.testing.assert_array_equal(value_of(grad, {"x": x, "r": np.array([[2.0]])}), [[0, 1, 1, 0, 0]])
