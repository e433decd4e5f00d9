"""Forward-mode numbers: every primitive against mpmath, apart from the rules of the reverse sweep."""

import mpmath
import numpy as np
import pytest

from opsdk.expr.gradient.tangent import _FLAT, _RATES, _SLOPES, rates
from opsdk.expr.node import Node
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import REDUCTIONS
from opsdk.expr.symbol import Symbol, apply
from tests.expr.gradient.test_derivative import BINARY, UNARY

mpmath.mp.dps = 40
NAMES = ("a", "b")


def moved(node, values, tangents):
    with np.errstate(all="ignore"):
        made, changes = rates([node], values, tangents, np.dtype(float))
    return np.broadcast_to(changes[0], made[0].shape)


def test_every_primitive_has_a_rate_of_change():
    numbers = {name for name, primitive in PRIMITIVES.items() if primitive.gives == "float"}
    assert numbers <= {*_SLOPES, *_RATES, *_FLAT, "where"}


@pytest.mark.parametrize("name", UNARY)
def test_the_rate_of_one_operand_is_that_of_mpmath(name):
    function, points = UNARY[name]
    root = apply(name, Symbol(Node("input", (), "a"))).node
    got = moved(root, {"a": np.array(points)}, {"a": np.full(len(points), 2.0)})
    expected = [2.0 * float(mpmath.diff(function, mpmath.mpf(point))) for point in points]
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", BINARY)
def test_the_rate_of_two_operands_is_that_of_mpmath(name):
    function, point = BINARY[name]
    root = apply(name, *(Symbol(Node("input", (), text)) for text in NAMES)).node
    values = {text: np.array([number]) for text, number in zip(NAMES, point, strict=True)}
    got = moved(root, values, {"a": np.array([2.0]), "b": np.array([-3.0])})
    at = tuple(map(mpmath.mpf, point))
    expected = 2.0 * float(mpmath.diff(function, at, (1, 0))) - 3.0 * float(mpmath.diff(function, at, (0, 1)))
    np.testing.assert_allclose(got, [expected], rtol=1e-12)


def test_a_negative_base_has_a_rate_where_the_exponent_stands_still():
    root = apply("pow", Symbol(Node("input", (), "a")), 3.0).node
    assert moved(root, {"a": np.array([-2.0])}, {"a": np.array([1.0])}).tolist() == [12.0]


# by hand, of the row (1, 3, 2) that moves by (10, 1, 5)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("row_sum", 16.0),
        ("row_mean", 16.0 / 3),
        ("row_max", 1.0),
        ("row_min", 10.0),
        ("row_logsumexp", np.dot(np.exp([1, 3, 2]), [10.0, 1.0, 5.0]) / np.exp([1, 3, 2]).sum()),
        ("row_take", 5.0),
    ],
)
def test_reductions_move_as_their_elements_do(name, expected):
    a = Node("input", (), "a")
    root = Node(name, (a, Node("input", (), "b")) if name == "row_take" else (a,))
    values = {"a": np.array([[1.0, 3.0, 2.0]]), "b": np.array([[2.0]])}
    np.testing.assert_allclose(moved(root, values, {"a": np.array([[10.0, 1.0, 5.0]])}), [[expected]], rtol=1e-14)
    assert name in REDUCTIONS


def test_a_choice_moves_as_what_was_chosen():
    a = Symbol(Node("input", (), "a"))
    got = moved(apply("where", a > 0.0, 2.0 * a, -a).node, {"a": np.array([1.0, -1.0])}, {"a": np.array([1.0, 1.0])})
    assert got.tolist() == [2.0, -1.0]
