"""Derived gradients are compared with forward-mode numbers before they are handed out."""

import re
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import DefinitionError
from opsdk.expr.gradient import proof
from opsdk.expr.gradient.proof import _FLAT, _RATES, _SLOPES, Claim, rates, refuted
from opsdk.expr.node import Node
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import REDUCTIONS, ROW_PRIMITIVES
from opsdk.expr.symbol import Symbol, apply
from opsdk.expr.trace import trace
from tests.expr.gradient.test_derivative import BINARY, UNARY


def wrong(monkeypatch, name, rule):
    """Gives a primitive a rule that is not its own."""
    monkeypatch.setitem(ROW_PRIMITIVES, name, replace(ROW_PRIMITIVES[name], rule=rule))


def claimed(function, gradient, bounds=(), attrs=()):
    """Returns what is found about a gradient, both as functions of x."""
    (output,) = trace(function, ["x"], attrs, "f").outputs
    (dx,) = trace(gradient, ["x", "y", "dy"], attrs, "f").outputs
    numbers = tuple((name, 2.5) for name in attrs)
    return refuted(Claim((("y", "dy", "full", output),), (("x", dx),), (("x", "full", False),), numbers, bounds))


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (lambda x: x * x, lambda x, y, dy: 2.0 * x * dy),
        (lambda x: vmath.exp(x), lambda x, y, dy: y * dy),
        (lambda x: vmath.log(x - 100.0), lambda x, y, dy: dy / (x - 100.0)),  # has a value at none of the points
        (lambda x: vmath.sin(x) * 0.0, lambda x, y, dy: 0.0 * dy),
        (lambda x: (x + 1e8) - 1e8, lambda x, y, dy: dy),
        (lambda x: 1e9 * vmath.tanh(9.0 * x), lambda x, y, dy: 9e9 * (1.0 - vmath.square(y / 1e9)) * dy),  # saturates
        (lambda x: vmath.log(vmath.exp(9.0 * x)), lambda x, y, dy: 9.0 * dy * (y / y)),
    ],
)
def test_a_right_gradient_is_confirmed_however_its_expression_rounds(function, gradient):
    assert claimed(function, gradient) is None


@pytest.mark.parametrize(
    "gradient",
    [
        lambda x, y, dy: x * dy,
        lambda x, y, dy: 2.0 * y * dy,
        lambda x, y, dy: 2.0 * x * dy + 1e-6,
        lambda x, y, dy: vmath.where(x > 3.0, x, 2.0 * x) * dy,  # wrong in a part of its domain
        lambda x, y, dy: 2.0 * x * vmath.abs(dy),
    ],
)
def test_a_wrong_gradient_is_refuted(gradient):
    found = claimed(lambda x: x * x, gradient)
    told = re.fullmatch(r"derived gradient of 'x' expected (\S+) along a direction by .*, got (\S+), at x=.*", found)
    assert told is not None and told[1] != told[2]


def test_points_lie_where_the_op_is_defined():
    def wrong(x, y, dy):
        return 2.0 * dy / (x - 100.0)

    for bounds in ((("x", 100.0, None),), (("x", 100.0, 200.0),)):
        assert claimed(lambda x: vmath.log(x - 100.0), wrong, bounds) is not None
    assert claimed(lambda x: vmath.log(-100.0 - x), lambda x, y, dy: dy, (("x", None, -100.0),)) is not None


def test_attributes_are_tried_with_values_that_hide_no_factor():
    assert claimed(lambda x, k: k * x, lambda x, y, dy, k: dy, attrs=["k"]) is not None
    assert claimed(lambda x, k: k * x, lambda x, y, dy, k: k * dy, attrs=["k"]) is None


def test_a_rule_that_is_wrong_is_an_error_before_its_gradient_is_handed_out(monkeypatch):
    wrong(monkeypatch, "sin", lambda y, a: (-vmath.cos(a),))

    @opsdk.elementwise(namespace="t")
    def wave(x):
        return vmath.sin(x) * x

    x = opsdk.to_tensor(np.ones(3), stop_gradient=False)
    with pytest.raises(DefinitionError, match=r"op 't::wave': derived gradient of 'x' expected .* by forward-mode"):
        wave(x).sum().backward()


def test_a_rule_of_rows_that_is_wrong_is_an_error_too(monkeypatch):
    wrong(monkeypatch, "row_mean", lambda y, a: (1.0,))

    @opsdk.rowwise(namespace="t", per_column=("w",), per_row=("r",))
    def mean(x, w, r):
        return vmath.row_mean(x * w) * r

    x, w, r = (opsdk.to_tensor(np.ones(s), stop_gradient=False) for s in ((2, 4), (4,), (2, 1)))
    with pytest.raises(DefinitionError, match="op 't::mean': derived gradient of 'x' expected"):
        mean(x, w, r).sum().backward()


def test_the_gradient_of_a_gradient_is_proven_when_somebody_asks_for_it(monkeypatch):
    wrong(monkeypatch, "cos", lambda y, a: (vmath.sin(a),))

    @opsdk.elementwise(namespace="t")
    def twice(x):
        return vmath.exp(x) * vmath.sin(x)

    x = opsdk.to_tensor(np.ones(3), stop_gradient=False)
    (first,) = opsdk.grad(twice(x).sum(), [x], create_graph=True)  # which asks for no derivative of a cosine
    with pytest.raises(DefinitionError, match="op 't::twice_grad': derived gradient of 'x' expected"):
        first.sum().backward()


def test_an_expression_is_proven_once(monkeypatch):
    looked = []
    whole = proof.rates
    monkeypatch.setattr(proof, "rates", lambda *given: looked.append(1) or whole(*given))
    proof.refuted.cache_clear()
    for name in ("once", "again"):
        op = opsdk.elementwise(name=name, namespace="t")(lambda x: vmath.sin(x) / 3.0)
        x = opsdk.to_tensor(np.ones(3), stop_gradient=False)
        op(x).sum().backward()
    assert len(looked) == 2  # in float64 and in float32


mpmath.mp.dps = 40
NAMES = ("a", "b")


def moved(node, values, tangents):
    with np.errstate(all="ignore"):
        made, changes = rates([node], values, tangents, np.dtype(float))
    return np.broadcast_to(changes[0], made[0].shape)


def test_every_primitive_has_a_rate_of_change():
    numbers = {name for name, each in PRIMITIVES.items() if each.gives == "float" and each.body is None}
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
