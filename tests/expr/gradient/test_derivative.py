"""Derivative rules: every primitive against mpmath, to the third order."""

import mpmath
import numpy as np
import pytest

from opsdk.expr import vmath
from opsdk.expr.evaluate import evaluate
from opsdk.expr.gradient.derivative import combined, partials, reverse
from opsdk.expr.node import Node, constant, topological
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import COLUMN, FULL, ROW, ROW_PRIMITIVES
from opsdk.expr.simplify import simplify
from opsdk.expr.symbol import Symbol, apply

mpmath.mp.dps = 40

# By name of a primitive: the function in mpmath, and where to look (one point per tuple, away from kinks).
UNARY = {
    "exp": (mpmath.exp, (-2.3, 0.4, 3.1)),
    "exp2": (lambda x: mpmath.mpf(2) ** x, (-2.3, 0.4, 3.1)),
    "expm1": (mpmath.expm1, (-2.3, 1e-9, 3.1)),
    "log": (mpmath.log, (0.2, 1.0, 7.3)),
    "log1p": (mpmath.log1p, (-0.6, 1e-9, 7.3)),
    "log2": (lambda x: mpmath.log(x, 2), (0.2, 1.0, 7.3)),
    "log10": (lambda x: mpmath.log(x, 10), (0.2, 1.0, 7.3)),
    "sqrt": (mpmath.sqrt, (0.2, 1.0, 7.3)),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), (-2.3, 0.4, 3.1)),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), (0.2, 1.0, 7.3)),
    "sin": (mpmath.sin, (-2.3, 0.4, 3.1)),
    "cos": (mpmath.cos, (-2.3, 0.4, 3.1)),
    "tan": (mpmath.tan, (-1.1, 0.4, 1.2)),
    "sinh": (mpmath.sinh, (-2.3, 0.4, 3.1)),
    "cosh": (mpmath.cosh, (-2.3, 0.4, 3.1)),
    "tanh": (mpmath.tanh, (-1.3, 0.4, 2.1)),
    "arcsin": (mpmath.asin, (-0.7, 0.1, 0.6)),
    "arccos": (mpmath.acos, (-0.7, 0.1, 0.6)),
    "arctan": (mpmath.atan, (-2.3, 0.4, 3.1)),
    "arcsinh": (mpmath.asinh, (-2.3, 0.4, 3.1)),
    "arccosh": (mpmath.acosh, (1.2, 3.1, 7.3)),
    "arctanh": (mpmath.atanh, (-0.7, 0.1, 0.6)),
    "erf": (mpmath.erf, (-1.3, 0.4, 2.1)),
    "erfc": (mpmath.erfc, (-1.3, 0.4, 2.1)),
    "abs": (abs, (-2.3, 0.4, 3.1)),
    "sign": (mpmath.sign, (-2.3, 0.4, 3.1)),
    "floor": (mpmath.floor, (-2.3, 0.4, 3.1)),
    "ceil": (mpmath.ceil, (-2.3, 0.4, 3.1)),
    "trunc": (lambda x: mpmath.mpf(int(x)), (-2.3, 0.4, 3.1)),
    "round": (mpmath.nint, (-2.3, 0.4, 3.1)),
    "square": (lambda x: x * x, (-2.3, 0.4, 3.1)),
    "neg": (lambda x: -x, (-2.3, 0.4, 3.1)),
    "reciprocal": (lambda x: 1 / x, (-2.3, 0.4, 3.1)),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), (-2.3, 0.4, 3.1)),
    "softplus": (lambda x: mpmath.log(1 + mpmath.exp(x)), (-2.3, 0.4, 3.1)),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), (-2.3, 0.4, 1.3, 3.1)),
    "digamma": (mpmath.digamma, (-2.3, 0.4, 3.1)),
    "trigamma": (lambda x: mpmath.psi(1, x), (-2.3, 0.4, 3.1)),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-1.3, 0.4, 5.1)),
    "erfinv": (mpmath.erfinv, (-0.7, 0.01, 0.9)),
    "log_ndtr": (lambda x: mpmath.log(mpmath.ncdf(x)), (-2.3, 0.4, 2.1)),
    "i0e": (lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), (-2.3, 0.4, 9.1)),
    "i1e": (lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), (-2.3, 0.4, 9.1)),
    "j0": (mpmath.j0, (-2.3, 0.4, 9.1)),
    "j1": (mpmath.j1, (-2.3, 0.4, 9.1)),
    "sinc": (mpmath.sincpi, (-2.3, 0.1, 0.4, 9.1)),
}
BINARY = {
    "add": (lambda a, b: a + b, (1.3, 0.4)),
    "sub": (lambda a, b: a - b, (1.3, 0.4)),
    "mul": (lambda a, b: a * b, (1.3, -0.4)),
    "div": (lambda a, b: a / b, (1.3, -0.4)),
    "pow": (lambda a, b: a**b, (1.3, 2.6)),
    "minimum": (min, (1.3, 0.4)),
    "maximum": (max, (1.3, 0.4)),
    "arctan2": (mpmath.atan2, (1.3, -0.4)),
    "fmod": (lambda a, b: a - b * mpmath.floor(a / b), (7.3, 2.2)),
    "hypot": (mpmath.hypot, (1.3, -0.4)),
    "logaddexp": (lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)), (1.3, -0.4)),
    "copysign": (lambda a, b: abs(a) * mpmath.sign(b), (1.3, -0.4)),
}


def derivatives(root, wrt, order):
    """Returns a node and its derivatives up to an order."""
    nodes = [root]
    for _ in range(order):
        nodes += reverse([nodes[-1]], [constant(1.0)], [wrt])
    return nodes


def test_every_primitive_that_gives_a_number_has_a_rule_and_a_reference_here():
    numbers = {name for name, primitive in PRIMITIVES.items() if primitive.gives == "float"}
    assert numbers == {name for name, primitive in PRIMITIVES.items() if primitive.rule is not None}
    told = {name for name in numbers if PRIMITIVES[name].doc or not PRIMITIVES[name].body}
    assert {name for name in told if PRIMITIVES[name].public is None} == {*UNARY, *BINARY, "where"}


@pytest.mark.parametrize("name", UNARY)
def test_derivatives_of_one_operand_are_right_to_the_third_order(name):
    function, points = UNARY[name]
    x = Node("input", (), "x")
    nodes = derivatives(apply(name, Symbol(x)).node, x, 3)
    for point in points:
        with np.errstate(divide="ignore", invalid="ignore"):  # of branches that are not taken, as in every op's call
            computed = evaluate(nodes, {"x": np.array([point])}, np)
        expected = [float(mpmath.diff(function, mpmath.mpf(point), order)) for order in range(4)]
        np.testing.assert_allclose([np.ravel(value)[0] for value in computed], expected, rtol=2e-13, atol=1e-13)


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("name", BINARY)
def test_derivatives_of_two_operands_are_right_to_the_third_order(name, position):
    function, point = BINARY[name]
    a, b = Node("input", (), "a"), Node("input", (), "b")
    nodes = derivatives(apply(name, Symbol(a), Symbol(b)).node, (a, b)[position], 3)
    computed = evaluate(nodes, {"a": np.array([point[0]]), "b": np.array([point[1]])}, np)
    for order, value in enumerate(computed):
        orders = (order, 0) if position == 0 else (0, order)
        expected = float(mpmath.diff(function, tuple(map(mpmath.mpf, point)), orders)) if order else None
        if order:
            assert np.ravel(value)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_choice_sends_the_cotangent_to_the_branch_that_was_taken():
    a, b = Node("input", (), "a"), Node("input", (), "b")
    chosen = apply("where", Symbol(a) > Symbol(b), Symbol(a) * 3.0, Symbol(b) * 5.0).node
    da, db = reverse([chosen], [constant(1.0)], [a, b])
    values = {"a": np.array([2.0, 0.0]), "b": np.array([1.0, 1.0])}
    assert [list(np.broadcast_to(v, 2)) for v in evaluate([da, db], values, np)] == [[3.0, 0.0], [0.0, 5.0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("abs", 0.0), ("sign", 0.0), ("floor", 0.0), ("ceil", 0.0), ("round", 0.0), ("trunc", 0.0), ("cbrt", np.inf)],
)
def test_the_derivative_at_a_kink_or_jump_is_the_stated_one(name, expected):
    x = Node("input", (), "x")
    (dx,) = reverse([apply(name, Symbol(x)).node], [constant(1.0)], [x])
    with np.errstate(divide="ignore"):
        assert np.ravel(evaluate([dx], {"x": np.array([0.0])}, np)[0])[0] == expected


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_where_two_operands_tie_the_first_takes_the_derivative(name):
    a, b = Node("input", (), "a"), Node("input", (), "b")
    da, db = reverse([apply(name, Symbol(a), Symbol(b)).node], [constant(1.0)], [a, b])
    values = evaluate([da, db], {"a": np.array([1.0]), "b": np.array([1.0])}, np)
    assert [float(np.ravel(value)[0]) for value in values] == [1.0, 0.0]


def at(roots, **values):
    return [float(np.ravel(v)[0]) for v in evaluate(roots, {k: np.array([v]) for k, v in values.items()}, np)]


# d/da, d²/da², d³/da³ of aᵇ, by hand; at 0⁰ the first is taken as 0
@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (0.0, 0.0, [0.0, 0.0, 0.0]),
        (0.0, 1.0, [1.0, 0.0, 0.0]),
        (0.0, 2.0, [0.0, 2.0, 0.0]),
        (0.0, 3.0, [0.0, 0.0, 6.0]),
        (0.0, 5.0, [0.0, 0.0, 0.0]),
        (2.0, 0.0, [0.0, 0.0, 0.0]),
        (-2.0, 3.0, [12.0, -12.0, 6.0]),
        (0.0, 0.5, [np.inf, -np.inf, np.inf]),
    ],
)
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_power_has_its_derivatives_in_the_base_where_0_times_infinity_would_hide_them(
    base, exponent, expected, is_constant
):
    a, b = Node("input", (), "a"), constant(exponent) if is_constant else Node("input", (), "b")
    with np.errstate(all="ignore"):
        nodes = derivatives(apply("pow", Symbol(a), Symbol(b)).node, a, 3)
        assert at(nodes[1:], a=base, b=exponent) == expected


@pytest.mark.parametrize(
    ("base", "exponent", "first", "second"),
    [
        (0.0, 2.0, 0.0, 0.0),
        (np.inf, -1.0, 0.0, 0.0),
        (1.0, 3.0, 0.0, 0.0),
        (np.e, 2.0, np.e**2, np.e**2),
        (0.0, 0.0, -np.inf, np.inf),
    ],
)
def test_the_derivative_of_a_power_in_the_exponent_is_0_where_the_power_is(base, exponent, first, second):
    a, b = Node("input", (), "a"), Node("input", (), "b")
    with np.errstate(all="ignore"):
        found = at(derivatives(apply("pow", Symbol(a), Symbol(b)).node, b, 2)[1:], a=base, b=exponent)
    np.testing.assert_allclose(found, [first, second], rtol=1e-15)


def test_the_mixed_derivative_of_a_power_is_there_at_exponent_0_too():
    a, b = Node("input", (), "a"), Node("input", (), "b")
    (da,) = reverse([apply("pow", Symbol(a), Symbol(b)).node], [constant(1.0)], [a])
    (mixed,) = reverse([da], [constant(1.0)], [b])
    assert at([mixed], a=4.0, b=0.0) == [0.25]  # d/db b aᵇ⁻¹ = aᵇ⁻¹ (1 + b log a)


def test_a_power_with_a_constant_exponent_is_lowered_when_it_is_read():
    a = Node("input", (), "a")
    (da,) = reverse([apply("pow", Symbol(a), 3.0).node], [constant(1.0)], [a])
    assert repr(da) == "mul(3.0, pow(a, 2.0))"


@pytest.mark.parametrize("name", ["div", "log"])
def test_a_reciprocal_factor_divides_and_rounds_once(name):
    a, b = Node("input", (), "a"), Node("input", (), "b")
    root = apply(name, Symbol(a), Symbol(b)) if name == "div" else apply(name, Symbol(a))
    (da,) = reverse([root.node], [Node("input", (), "g")], [a])
    assert repr(da) == ("div(g, b)" if name == "div" else "div(g, a)")


# 0.3 rounded to float16 is greater than 0.3: the rounded result would say that nothing was clipped
@pytest.mark.parametrize(("bound", "reads"), [(0.0, "maximum(a, 0.0)"), (0.3, "a"), (257.0, "a")])
def test_beside_a_constant_the_result_tells_the_side_only_where_rounding_cannot_hide_it(bound, reads):
    a = Node("input", (), "a")
    (da,) = reverse([apply("maximum", Symbol(a), bound).node], [Node("input", (), "g")], [a])
    assert repr(da) == f"where(gt({reads}, {bound}), g, 0.0)"


def test_a_condition_has_no_derivative():
    x = Symbol(Node("input", (), "x"))
    assert partials((x > 1.0).node) == (None, None)


def test_gradients_share_the_nodes_of_the_forward():
    x = Node("input", (), "x")
    y = apply("exp", Symbol(x)).node
    assert reverse([y], [constant(1.0)], [x])[0] is y


def test_contributions_of_several_uses_are_added():
    x = Node("input", (), "x")
    (dx,) = reverse([(Symbol(x) * Symbol(x) + Symbol(x)).node], [constant(1.0)], [x])
    assert evaluate([dx], {"x": np.array([3.0])}, np)[0].tolist() == [7.0]


def test_an_input_that_the_output_does_not_depend_on_has_the_derivative_zero():
    x, z = Node("input", (), "x"), Node("input", (), "z")
    assert reverse([x], [constant(1.0)], [z]) == [constant(0.0)]


def test_the_sign_of_another_number_passes_no_derivative_to_it_and_none_at_zero():
    a, b = Node("input", (), "a"), Node("input", (), "b")
    da, db = reverse([apply("copysign", Symbol(a), Symbol(b)).node], [constant(1.0)], [a, b])
    values = {"a": np.array([-3.0, 0.0, 3.0]), "b": np.array([-1.0, 1.0, -0.0])}
    assert evaluate([da], values, np)[0].tolist() == [1.0, 0.0, -1.0]
    assert db is constant(0.0)


def _arcsin(x):
    left = (1 - x) * (1 + x)
    return x / left**1.5, (1 + 2 * x * x) / left**2.5


def _arctanh(x):
    left = (1 - x) * (1 + x)
    return 2 * x / left**2, (2 + 6 * x * x) / left**3


def _softplus(x):
    slope = 1 / (2 + 2 * mpmath.cosh(x))
    return slope, -slope * mpmath.tanh(x / 2)


_NEAR_ZERO = (1e-300, -1e-160, 1e-40, -1e-20, 1e-12, 1e-8, -1e-6, 1e-3, 0.03, 0.4)


# the second and the third derivative, by hand: with the product rule both sides of 1 - a² give ±1, and a is lost
@pytest.mark.parametrize(
    ("name", "sign", "expected", "points"),
    [
        ("arcsin", 1, _arcsin, (*_NEAR_ZERO, 0.999, -1 + 1e-9, 1 - 2.0**-52)),
        ("arccos", -1, _arcsin, (*_NEAR_ZERO, 0.999, -1 + 1e-9, 1 - 2.0**-52)),
        ("arctanh", 1, _arctanh, (*_NEAR_ZERO, 0.999, -1 + 1e-9, 1 - 2.0**-52)),
        ("softplus", 1, _softplus, (*_NEAR_ZERO, 3.0, -30.0, 300.0)),
    ],
)
def test_later_derivatives_keep_their_digits_where_two_sides_of_a_product_almost_cancel(name, sign, expected, points):
    x = Node("input", (), "x")
    nodes = derivatives(apply(name, Symbol(x)).node, x, 3)[2:]
    for point in points:
        by_hand = [float(sign * value) for value in expected(mpmath.mpf(point))]
        np.testing.assert_allclose(at(nodes, x=point), by_hand, rtol=4e-15, err_msg=str(point))


@pytest.mark.parametrize("point", [1 - 2.0**-53, -1 + 2.0**-53, 1 - 1e-12, 0.999, 1e-9])
@pytest.mark.parametrize(("name", "power"), [("arcsin", 0.5), ("arctanh", 1.0)])
def test_the_first_derivative_keeps_its_digits_beside_the_ends_of_the_domain(name, power, point):
    x = Node("input", (), "x")
    expected = float(1 / (1 - mpmath.mpf(point) ** 2) ** power)
    assert at(derivatives(apply(name, Symbol(x)).node, x, 1)[1:], x=point) == pytest.approx([expected], rel=5e-16)


# (a - b)(a + b) = a² - b², written in every order
@pytest.mark.parametrize(
    "product",
    [
        lambda a, b: (a - b) * (a + b),
        lambda a, b: (a + b) * (a - b),
        lambda a, b: (b + a) * (a - b),
        lambda a, b: (a - b) * (b + a),
    ],
)
def test_a_difference_of_squares_has_the_derivatives_of_the_squares(product):
    a, b = Node("input", (), "a"), Node("input", (), "b")
    root = product(Symbol(a), Symbol(b)).node
    assert at(reverse([root], [constant(1.0)], [a, b]), a=3.0, b=1e30) == [6.0, -2e30]
    assert at(reverse([root], [constant(1.0)], [a, b]), a=1e30, b=3.0) == [2e30, -6.0]


def test_the_sides_of_a_difference_of_squares_have_derivatives_where_they_are_asked_for():
    a = Symbol(Node("input", (), "a"))
    left, right = (1.0 - a).node, (1.0 + a).node
    root = (Symbol(left) * Symbol(right) + Symbol(left)).node
    assert at(reverse([root], [constant(1.0)], [left, right]), a=0.25) == [2.25, 0.75]
    assert at(reverse([root], [constant(1.0)], [a.node]), a=0.25) == [-1.5]


def test_other_products_of_sums_keep_the_product_rule():
    a = Symbol(Node("input", (), "a"))
    roots = [((1.0 - a) * (2.0 + a)).node, ((1.0 - a) * (1.0 - a)).node, ((a - 1.0) * (1.0 - a)).node]
    found = [at(reverse([root], [constant(1.0)], [a.node]), a=0.25) for root in roots]
    assert found == [[-1.5], [-1.5], [1.5]]


def _chain(function, names, wrt, order):
    """Returns a derivative of a derivative as gradient ops have it, each of them with the cotangent before it."""
    node = function(*[Symbol(Node("input", (), name)) for name in names]).node
    for level in range(order):
        (node,) = simplify(combined(reverse([node], [Node("input", (), f"d{level}")], [Node("input", (), wrt)])))
    return node


# c · y · xᵖ: by order the c and the p, at numbers of which neither the inputs nor the result leave float32
@pytest.mark.parametrize(
    ("function", "derivatives"),
    [
        (lambda x, y: y * apply("rsqrt", x), {1: (-0.5, -1.5), 2: (0.75, -2.5), 3: (-1.875, -3.5)}),
        (lambda x, y: y / apply("sqrt", x), {1: (-0.5, -1.5), 2: (0.75, -2.5), 3: (-1.875, -3.5)}),
        (lambda x, y: y * apply("reciprocal", x), {1: (-1.0, -2.0), 2: (2.0, -3.0), 3: (-6.0, -4.0)}),
        (lambda x, y: y / x, {1: (-1.0, -2.0), 2: (2.0, -3.0), 3: (-6.0, -4.0)}),
        (lambda x, y: y * apply("arcsinh", x), {1: (1.0, -1.0), 2: (-1.0, -2.0)}),
    ],
    ids=["y rsqrt x", "y / sqrt x", "y reciprocal x", "y / x", "y arcsinh x"],
)
@pytest.mark.parametrize(("x", "y"), [(1e9, 1.0), (1e9, 1e20), (1e10, 1e30), (1e15, 1e25), (1e17, 1e35), (1e19, 1e30)])
def test_a_large_factor_and_a_small_derivative_have_their_product(function, derivatives, x, y):
    numbers = {"x": x, "y": y, "d0": 1.0, "d1": 1.0, "d2": 1.0}
    values = {name: np.array([value], np.float32) for name, value in numbers.items()}
    for order, (factor, power) in derivatives.items():
        exact = factor * mpmath.mpf(float(values["y"][0])) * mpmath.mpf(float(values["x"][0])) ** power
        if abs(exact) > 1e-37:
            found = evaluate([_chain(function, "xy", "x", order)], values, np, np.dtype("float32"))[0]
            np.testing.assert_allclose(found, [float(exact)], rtol=2e-6, err_msg=f"order {order}")


@pytest.mark.parametrize("x", [1e6, 1e9, 1e10, -1e12])
def test_the_second_derivative_of_arctan_far_out_has_its_digits(x):
    values = {name: np.array([value], np.float32) for name, value in {"x": x, "d0": 1, "d1": 1}.items()}
    found = evaluate([_chain(lambda x: apply("arctan", x), "x", "x", 2)], values, np, np.dtype("float32"))[0]
    np.testing.assert_allclose(found, [-2.0 / float(values["x"][0]) ** 3], rtol=1e-6)  # but for x⁻², as nothing here


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
    grads = reverse([node], [NODES["dy"]], [NODES[name] for name in names], ROLES)
    for name, grad in zip(names, grads, strict=True):
        got = (
            summed(value_of(grad, {**values, "dy": cotangent}), SHAPES[name])
            if name != "r"
            else value_of(grad, {**values, "dy": cotangent})
        )
        want = numeric(node, values, name, cotangent)
        np.testing.assert_allclose(np.broadcast_to(got, want.shape), want, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("case", ["logsumexp", "mean", "nested", "take"])
def test_the_gradient_of_a_gradient_is_that_of_central_differences(case, values, rng):
    node, dy, dz = CASES[case]().node, rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    (first,) = reverse([node], [NODES["dy"]], [NODES["x"]], ROLES)
    (second,) = reverse([first], [NODES["dz"]], [NODES["x"]], ROLES)
    got = value_of(second, {**values, "dy": dy, "dz": dz})
    want = numeric(first, {**values, "dy": dy}, "x", dz)
    np.testing.assert_allclose(np.broadcast_to(got, want.shape), want, rtol=5e-6, atol=5e-7)


def test_ties_share_the_derivative_of_the_maximum_evenly():
    (grad,) = reverse([vmath.row_max(X).node], [NODES["r"]], [NODES["x"]], ROLES)
    x = np.array([[1.0, 3.0, 3.0, 0.0, 2.0]])
    np.testing.assert_array_equal(value_of(grad, {"x": x, "r": np.array([[2.0]])}), [[0, 1, 1, 0, 0]])


Y, Z = (Symbol(Node("input", (), name)) for name in "yz")
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
