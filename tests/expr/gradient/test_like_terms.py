import numpy as np
import pytest

from opsdk.expr.evaluate import evaluate
from opsdk.expr.gradient.like_terms import combined
from opsdk.expr.node import Node, constant, topological
from opsdk.expr.symbol import Symbol, apply

X, Y, Z = (Symbol(Node("input", (), name)) for name in "xyz")
E = apply("exp", X)


@pytest.mark.parametrize(
    ("expression", "shorter"),
    [
        (X + X, 2.0 * X),
        (X * Y + Y * X, 2.0 * (X * Y)),
        (-(X * Y) - Y * X, 2.0 * -(X * Y)),
        (X * Y * Z + E + Z * (Y * X) + Y + X * Z * Y, 3.0 * (X * Y * Z) + E + Y),
        (0.5 * X * E + E * 0.25 * X, 1.5 * (0.5 * X * E)),
        (0.25 * X - X * -0.5, 3.0 * (0.25 * X)),
        (-0.25 * X - X * 0.5, 3.0 * (-0.25 * X)),
        (Y - (Z - X) + X, Y - (Z - 2.0 * X)),
        (Y - (X - Z) - X, Y - (2.0 * X - Z)),
        (Y * X - (Z - X * Y), 2.0 * (Y * X) - Z),
        ((Y - X) + (Z - X), (Y - 2.0 * X) + Z),
        (X / Y * Z + Z * X / Y, 2.0 * (X / Y * Z)),
        (X / (2.0 * Y) + X / Y * 0.5, 2.0 * (X / (2.0 * Y))),
    ],
)
def test_products_of_the_same_factors_become_one(expression, shorter):
    (found,) = combined([expression.node])
    assert found is shorter.node
    inputs = {"x": np.array([1.5, -2.25, 1e-3]), "y": np.array([0.75, 3.0, -7.0]), "z": np.array([5.0, -0.1, 2.0])}
    np.testing.assert_allclose(*evaluate([expression.node, found], inputs, np), rtol=1e-14)


@pytest.mark.parametrize(
    "expression",
    [
        X * Y - Y * X,  # of infinite x and y, NaN
        X + -X,
        X * Y + X * Y * Y,
        X / Y + Y / X,
        X * Y / Y + X,  # 0 / 0
        apply("exp", X) * X + apply("exp", Y) * X,
        0.1 * X + 0.3 * X,  # 0.3 is not 3 times 0.1, nor is their sum 4 times
        X * 0.0 + Y * 0.0,
        X * np.inf + X,
    ],
)
def test_other_terms_stay(expression):
    (found,) = combined([expression.node])
    assert found is expression.node


def test_a_sum_with_another_use_is_one_term_of_its_users():
    shared = X + Y
    first, second = shared * Z + X, shared + X
    assert combined([first.node, second.node]) == [first.node, second.node]
    assert combined([(shared * shared + shared * shared).node]) == [(2.0 * (shared * shared)).node]


def test_sums_inside_of_other_functions_are_shortened_too():
    (found,) = combined([apply("exp", X * Y + Y * X).node])
    assert found is apply("exp", 2.0 * (X * Y)).node


def test_what_overflows_in_one_association_alone_is_no_worse_than_the_sum_was():
    large = X * X * Y
    small = X * Y * X
    inputs = {"x": np.array([1e200]), "y": np.array([1e-200])}
    with np.errstate(all="ignore"):
        before, after = evaluate([(large + small).node, combined([(large + small).node])[0]], inputs, np)
    assert np.isinf(before) and np.isinf(after)


@pytest.mark.parametrize("step", [lambda s: s + s, lambda s: s * s, lambda s: s + X, lambda s: s * X * 1.1])
def test_deep_and_long_expressions_take_little(step):
    made = X + Y
    for _ in range(3000):
        made = step(made)
    (found,) = combined([made.node])
    assert len(topological([found])) <= len(topological([made.node])) + 3000


def test_constants_and_their_sums_stay():
    node = Node("add", (constant(2.0), constant(2.0)))
    assert combined([node]) == [node]
