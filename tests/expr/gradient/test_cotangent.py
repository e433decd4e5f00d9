"""The algebra of cotangents: selections select, equal factors cancel, what entered comes last."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.expr.evaluate import evaluate
from opsdk.expr.gradient.cotangent import Algebra
from opsdk.expr.gradient.derivative import reverse
from opsdk.expr.node import Node, constant, topological
from opsdk.expr.symbol import Symbol, apply

A, B, C, G = (Symbol(Node("input", (), name)) for name in "abcg")
ALGEBRA = Algebra(())


def product(*factors):
    found = factors[0].node
    for factor in factors[1:]:
        found = ALGEBRA.times(found, factor.node)
    return repr(found)


def inverse(symbol):
    return apply("reciprocal", symbol)


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ((A, B, inverse(A)), "b"),
        ((A * B, inverse(A)), "b"),
        ((A, inverse(A)), "1.0"),
        ((inverse(A), A), "1.0"),
        ((A / B, B), "a"),
        ((A, inverse(A * B)), "reciprocal(b)"),
        ((-(A * B), inverse(B)), "neg(a)"),
        ((A, B, inverse(C)), "div(mul(a, b), c)"),
        ((Symbol(constant(2.0)), A, Symbol(constant(0.25))), "mul(0.5, a)"),
        ((apply("where", A > 0.0, B * C, 0.0), inverse(C)), "where(gt(a, 0.0), b, 0.0)"),
    ],
)
def test_factors_that_cancel_are_gone_before_anything_is_computed(factors, expected):
    assert product(*factors) == expected


def test_a_long_product_is_taken_apart_no_further_than_it_pays():
    found = constant(1.0)
    for _ in range(3000):
        found = ALGEBRA.times(found, A.node)
    assert found.op == "mul"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (A, "None"),
        (apply("where", A > 0.0, B, 0.0), "gt(a, 0.0)"),
        (apply("where", A > 0.0, 0.0, B), "not(gt(a, 0.0))"),
        (apply("where", A > 0.0, B, C), "None"),
        (apply("where", A > 0.0, apply("where", B > 0.0, C, 0.0), 0.0), "and(gt(a, 0.0), gt(b, 0.0))"),
        (-apply("where", A > 0.0, B, 0.0), "gt(a, 0.0)"),
        (Symbol(constant(0.0)), "False"),
        (vmath.maximum(A, 0.0), "not(le(a, 0.0))"),
        (vmath.minimum(0.0, A), "not(ge(a, 0.0))"),
        (vmath.minimum(vmath.maximum(A, 0.0), 6.0), "not(le(a, 0.0))"),
        (vmath.maximum(vmath.minimum(A, 0.0), -1.0), "not(ge(a, 0.0))"),
        (vmath.maximum(vmath.maximum(A, 0.0), 1.0), "None"),
        (vmath.maximum(A, -1.0), "None"),
        (vmath.maximum(A, B), "None"),
    ],
)
def test_the_guard_of_a_value_says_when_it_is_anything_but_0_by_choice(value, expected):
    assert repr(ALGEBRA.guard(value.node)) == expected


def ladder(value, rungs):
    """Returns a choice between a value and its negative, and between those, and so on: two ways up at every rung."""
    for rung in range(rungs):
        value = apply("where", apply("gt", A, 1.0 * rung), value, -value)
    return value


def test_choices_between_choices_are_met_once_and_not_once_per_way_to_them():
    value = ladder(apply("where", B > 0.0, B * C, 0.0), 60)
    assert len(topological([ALGEBRA.guard(value.node)])) < 2000
    assert len(topological([ALGEBRA.times(value.node, inverse(C).node)])) < 2000
    assert len(topological([ALGEBRA.plus(value.node, (value * 2.0).node)])) < 2000


# A ladder of many choices, compiled to the second order; single choices stand for it.
@pytest.mark.slow
def test_a_ladder_of_choices_has_a_second_derivative():
    def function(x):
        value = vmath.where(x > -1.0, x * x, 0.0)
        for rung in range(40):
            value = vmath.where(x > float(rung), value, -value)
        return value

    op = opsdk.elementwise("t::ladder(Tensor x) -> Tensor y")(function)
    x = opsdk.to_tensor([-2.0, 0.5, 1.5, 50.0], stop_gradient=False)
    (first,) = opsdk.grad(op(x).sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    assert first.numpy().tolist() == [0.0, -1.0, 3.0, 100.0]
    assert second.numpy().tolist() == [0.0, -2.0, 2.0, 2.0]


def gradient(function, dy, **inputs):
    """Returns the derivative with respect to x of a function of x and others, times a cotangent."""
    symbols = {name: Symbol(Node("input", (), name)) for name in inputs}
    (dx,) = reverse([function(**symbols).node], [G.node], [symbols["x"].node])
    values = {name: np.asarray(value, float) for name, value in {**inputs, "g": dy}.items()}
    with np.errstate(all="ignore"):
        return np.broadcast_to(evaluate([dx], values, np)[0], values["x"].shape).tolist()


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("function", "x", "dy", "expected"),
    [
        (lambda x: vmath.where(x > 0.0, vmath.log(x), 0.0), [0.0, 2.0], 1.0, [0.0, 0.5]),
        (lambda x: vmath.where(x > 0.0, vmath.log(x), x), [0.0, 2.0], 1.0, [1.0, 0.5]),
        # one value in several branches that are not taken
        (lambda x: twice_chosen(x, vmath.log(x)), [0.0, 0.5, 2.0], 1.0, [0.0, 2.0, 1.5]),
        (lambda x: twice_chosen(x, vmath.sqrt(x)), [0.0, 0.25, 4.0], 1.0, [0.0, 1.0, 0.75]),
        (lambda x: chosen_twice(x > 0.0, x > 1.0, vmath.sqrt(x - 1.0)), [1.0, 5.0], 1.0, [0.0, 0.25]),
        # an infinite or missing cotangent stays out of what was not chosen
        (lambda x: vmath.maximum(x, 0.0), [-1.0, 0.0, 1.0], [INF, NAN, INF], [0.0, 0.0, INF]),
        (lambda x: vmath.minimum(x, 0.0), [1.0, 0.0, -1.0], [INF, NAN, INF], [0.0, 0.0, INF]),
        (lambda x: abs(x), [0.0, -1.0], [INF, INF], [0.0, -INF]),
        (lambda x: vmath.copysign(x, -1.0), [0.0, -1.0], [INF, 1.0], [0.0, 1.0]),
        (lambda x: vmath.clip(x, -1.0, 1.0), [-2.0, 0.5, 2.0], [INF, 1.0, NAN], [0.0, 1.0, 0.0]),
        (lambda x: x * vmath.where(x > 0.0, 3.0, 0.0), [-1.0, 1.0], [INF, 1.0], [0.0, 3.0]),
        (lambda x: vmath.where(x > 0.0, x * INF, 0.0), [-1.0], [1.0], [0.0]),
        (lambda x: vmath.where(x > 0.0, 2.0 * x, -x), [-1.0, 1.0], [NAN, 1.0], [NAN, 2.0]),
        # a bound of 0 is chosen, also where it is a factor
        (lambda x: x * vmath.minimum(vmath.maximum(x + 3.0, 0.0), 6.0), [-4.0, 4.0], [INF, INF], [0.0, INF]),
        (lambda x: x * vmath.clip(x, 0.0, 1.0), [-1.0, 0.5, 2.0], [NAN, 1.0, INF], [0.0, 1.0, INF]),
        (lambda x: x * vmath.clip(x, -1.0, 0.0), [1.0, -0.5, -2.0], [INF, 1.0, INF], [0.0, -1.0, -INF]),
        (lambda x: vmath.maximum(x, 0.0) ** 2, [-1.0, 3.0], [INF, 1.0], [0.0, 6.0]),
        (lambda x: x * vmath.maximum(x, 0.0), [NAN, -1.0], [1.0, INF], [NAN, 0.0]),
    ],
)
def test_selections_select(function, x, dy, expected):
    np.testing.assert_array_equal(gradient(function, dy, x=x), expected)


def twice_chosen(x, u):
    return vmath.where(x > 0.0, u, 0.0) + vmath.where(x > 1.0, 2.0 * u, 0.0)


def chosen_twice(outer, inner, u):
    return vmath.where(outer, vmath.where(inner, u, 0.0), 0.0)


def test_a_number_of_the_row_that_no_element_chose_has_no_derivative(rng):
    x = opsdk.to_tensor(np.array([[0.0, 0.0], [1.0, -2.0]]), stop_gradient=False)
    with opsdk.REGISTRY.scoped():

        @opsdk.rowwise(namespace="t")
        def chosen(x):
            return vmath.where(x > 0.0, vmath.log(vmath.row_sum(x * x)), x)

        chosen(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[1.0, 1.0], [2 * 1.0 / 5.0, 1.0 - 2 * 2.0 / 5.0]])


BIG, SMALL = 2.0**100, 2.0**-100  # of float32, which ends at 2¹²⁸ and 2⁻¹²⁶


@pytest.mark.parametrize(
    ("function", "x", "dy", "expected"),
    [
        (lambda x, k: k * vmath.tanh(x / k), 1.0, BIG, BIG),
        (lambda x, k: vmath.tanh(k * x) / k, SMALL, BIG, BIG / np.cosh(1.0) ** 2),
        (lambda x, k: vmath.softplus(k * x) / k, SMALL, 2.0**20, 2.0**20 / (1.0 + np.exp(-1.0))),
        (lambda x, k: k * vmath.log1p(x / k), 1.0, BIG, BIG),
        (lambda x, k: k * vmath.arctan(x / k), 1.0, BIG, BIG),
        (lambda x, k: k * vmath.sqrt(1.0 + vmath.square(x / k)), 1.0, BIG, 1.0),
        (lambda x, k: vmath.arcsinh(k * x), 1.0, 1.0, 1.0),
        (lambda x, k: vmath.arctan2(k * x, k), 1.0, 1.0, 0.5),
        (lambda x, k: vmath.arctan2(x / k, 1.0 / k), 1.0, 1.0, 0.5),
        (lambda x, k: vmath.arccosh(k * x), 1.0, 1.0, 1.0),
    ],
)
def test_no_intermediate_leaves_the_range_of_the_result(function, x, dy, expected):
    symbols = {name: Symbol(Node("input", (), name)) for name in ("x", "k")}
    (dx,) = reverse([function(**symbols).node], [G.node], [symbols["x"].node])
    given = {"x": np.float32([x]), "k": np.float32([BIG]), "g": np.float32([dy])}
    with np.errstate(all="ignore"):
        (got,) = evaluate([dx], given, np, np.float32)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
