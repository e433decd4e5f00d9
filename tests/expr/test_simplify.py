import numpy as np
import pytest

from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node, constant
from opsdk.expr.simplify import gated, simplify
from opsdk.expr.symbol import Symbol, apply

X = Symbol(Node("input", (), "x"))
HARD = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 5e-324, 1e308])


@pytest.mark.parametrize(
    ("expression", "simple"),
    [
        (X * 1.0, X),
        (1.0 * X, X),
        (X * -1.0, -X),
        (-1.0 * X, -X),
        (X / 1.0, X),
        (X - 0.0, X),
        (-apply("neg", X), X),
        (X + -X * 1.0, X - X),
        (X - -X, X + X),
        (X**2.0, X * X),
        (X**1.0, X),
        (apply("where", X > 0.0, X, X), X),
    ],
)
def test_an_identity_is_used_and_changes_no_bit(expression, simple):
    (found,) = simplify([expression.node])
    assert found is simple.node
    with np.errstate(all="ignore"):
        before, after = evaluate([expression.node, found], {"x": HARD}, np)
    np.testing.assert_array_equal(before, after)
    numbers = ~np.isnan(before)  # the sign of a NaN means nothing
    assert before[numbers].tobytes() == after[numbers].tobytes()


@pytest.mark.parametrize("expression", [X * 0.0, X + 0.0, 0.0 - X, (X + 1.0) - 1.0, X / X, constant(0.1)])
def test_what_only_looks_like_an_identity_is_left_alone(expression):
    node = expression.node if isinstance(expression, Symbol) else expression
    assert simplify([node]) == [node]


def test_a_gate_and_its_product_are_one_operation_only_where_it_is_used_once():
    x = Symbol(Node("input", (), "x"))
    gate = apply("sigmoid", x * 2.0)
    (swish,) = gated([(x * gate).node])
    assert repr(swish) == "gated(x, mul(x, 2.0))"
    twice = (gate * gate).node
    assert gated([twice]) == [twice]
    kept = [(x * gate).node, gate.node]
    assert gated(kept) == kept


def test_two_gates_of_one_exponential_stay_gates():
    x, y = (Symbol(Node("input", (), name)) for name in "xy")
    slope = (x * (apply("sigmoid", y) * apply("sigmoid", -y))).node
    assert gated([slope]) == [slope]
