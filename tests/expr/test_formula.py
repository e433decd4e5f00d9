"""Formulas: text that says what is computed, and says it right."""

import math

import numpy as np
import pytest

from opsdk import vmath
from opsdk.expr.evaluate import evaluate
from opsdk.expr.formula import formulas
from opsdk.expr.gradient.derivative import reverse
from opsdk.expr.node import Node
from opsdk.expr.trace import Expression, trace


def text(function, inputs="xyz", attrs=(), outputs=1):
    names = ["r", "s"][:outputs]
    return formulas(trace(function, list(inputs), attrs, "op 'f'", outputs), names)


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (lambda x, y, z: x + y * z, "r = x + y * z"),
        (lambda x, y, z: (x + y) * z, "r = (x + y) * z"),
        (lambda x, y, z: x - (y - z), "r = x - (y - z)"),
        (lambda x, y, z: x - y - z, "r = x - y - z"),
        # what rounds otherwise, and may overflow otherwise, reads otherwise
        (lambda x, y, z: x * (y * z), "r = x * (y * z)"),
        (lambda x, y, z: x * y * z, "r = x * y * z"),
        (lambda x, y, z: x * (y / z), "r = x * (y / z)"),
        (lambda x, y, z: x + (y + z), "r = x + (y + z)"),
        (lambda x, y, z: x + (y - z), "r = x + (y - z)"),
        (lambda x, y, z: x / (y / z), "r = x / (y / z)"),
        (lambda x, y, z: x / y * z, "r = x / y * z"),
        (lambda x, y, z: x / (y * z), "r = x / (y * z)"),
        (lambda x, y, z: -(x + y) * z, "r = -(x + y) * z"),
        (lambda x, y, z: -x * y, "r = -x * y"),
        (lambda x, y, z: x**y, "r = x**y"),
        (lambda x, y, z: (x + y) ** -z, "r = (x + y)**(-z)"),
        (lambda x, y, z: (x**y) ** z, "r = (x**y)**z"),
        (lambda x, y, z: vmath.square(x + y), "r = (x + y)**2"),
        (lambda x, y, z: vmath.reciprocal(x * y), "r = 1 / (x * y)"),
        (lambda x, y, z: vmath.exp(x + y), "r = exp(x + y)"),
        (lambda x, y, z: 2 * x + 0.5, "r = 2 * x + 0.5"),
        (lambda x, y, z: x * -3.0, "r = x * -3"),
        (lambda x, y, z: x ** (-0.5), "r = x**(-0.5)"),
        (lambda x, y, z: x + math.pi, "r = x + 3.141592653589793"),
        (lambda x, y, z: vmath.minimum(x, math.inf), "r = minimum(x, inf)"),
        (lambda x, y, z: vmath.where((x > y) & ~(y >= z), x, y), "r = where((x > y) & ~(y >= z), x, y)"),
        (lambda x, y, z: vmath.where((x > y) | (y == z), x, y), "r = where((x > y) | (y == z), x, y)"),
        (lambda x, y, z: vmath.where(x + z > y * z, x, y), "r = where(x + z > y * z, x, y)"),
        (lambda x, y, z: x, "r = x"),
        (lambda x, y, z: 7.0, "r = 7"),
    ],
)
def test_brackets_stand_where_they_are_needed(function, line):
    assert text(function) == (line,)


def test_what_occurs_more_than_once_gets_a_name():
    def f(x, y):
        shared = vmath.tanh(x + y)
        return shared * shared + y

    assert text(f, "xy") == ("r = t0 * t0 + y", "t0 = tanh(x + y)")


def test_names_of_shared_values_are_free():
    def f(t0, y):
        shared = t0 + y
        return shared * vmath.exp(shared)

    assert text(f, ["t0", "y"]) == ("r = t1 * exp(t1)", "t1 = t0 + y")


def test_several_results_have_a_line_each_and_one_that_is_not_wanted_says_so():
    assert text(lambda x, y, z: (x + y, z), outputs=2) == ("r = x + y", "s = z")
    x = Node("input", (), "x")
    assert formulas(Expression(("x",), (), (None, x)), ["dx", "dy"]) == ("dx = nothing", "dy = x")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: vmath.tanh(x * y) / (1 + x * x) - y**3,
        lambda x, y: vmath.sigmoid(x) * (x - (y - 2 * x)) / (x / (y + 3)),
        lambda x, y: vmath.where(x > y, -vmath.exp(-x), vmath.log1p(y * y) ** 0.5),
    ],
)
def test_the_formula_of_a_derivative_has_its_value(function):
    expression = trace(function, ["x", "y"], [], "op 'f'")
    inputs = [Node("input", (), "x"), Node("input", (), "y")]
    grads = reverse(expression.outputs, [Node("input", (), "d")], inputs)
    lines = formulas(Expression(("x", "y", "d"), (), tuple(grads)), ["dx", "dy"])
    words = {
        "exp": np.exp, "log": np.log, "log1p": np.log1p, "tanh": np.tanh, "where": lambda c, a, b: a if c else b,
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    }  # fmt: skip

    def of(x, y):
        space = {**words, "x": x, "y": y, "d": 1.0}
        for line in lines[2:]:  # a shared value stands behind those that it is made of
            name, _, text = line.partition(" = ")
            space[name] = eval(text, space)
        return [eval(line.partition(" = ")[2], space) for line in lines[:2]]

    def value(x, y):
        return float(function(x, y))

    for x, y in ((0.7, 0.3), (0.2, 1.1)):
        h = 1e-6
        numeric = [
            (value(x + h, y) - value(x - h, y)) / (2 * h),
            (value(x, y + h) - value(x, y - h)) / (2 * h),
        ]
        np.testing.assert_allclose(of(x, y), numeric, rtol=1e-6, atol=1e-8)


def test_the_text_of_a_derivative_computes_its_very_bits(rng):
    expression = trace(lambda x, y, z: z * vmath.tanh(x / z) * vmath.exp(-(x * y)) + x * (y * z), list("xyz"), [], "f")
    inputs = [Node("input", (), name) for name in "xyz"]
    grads = reverse(expression.outputs, [Node("input", (), "g")], inputs)
    lines = formulas(Expression((*"xyz", "g"), (), tuple(grads)), ["dx", "dy", "dz"])
    given = {name: rng.normal(size=100).astype(np.float32) for name in "xyzg"}
    values = {**given, "exp": np.exp, "tanh": np.tanh}
    for line in (*lines[3:], *lines[:3]):  # what is shared comes first
        name, _, text = line.partition(" = ")
        values[name] = eval(text, {}, values)
    for name, expected in zip(("dx", "dy", "dz"), evaluate(grads, given, np, np.float32), strict=True):
        np.testing.assert_array_equal(values[name], expected)


CONDITIONS = {
    "both": lambda x, y: (x == 0) & (y <= 1),
    "either": lambda x, y: (x == 0) | (y == 0),
    "a choice of both": lambda x, y: ((x > 0) | (y > 1)) & (x != y),
    "both or another": lambda x, y: (x > 0) | ((y > 1) & (x < y)),
    "neither": lambda x, y: ~((x > 0) | ~(y > x)),
    "of sums": lambda x, y: (x + y > 0) & ~(x - y < -1),
    "of a test": lambda x, y: vmath.isnan(x / y) | (x * y >= 1),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_text_of_conditions_means_to_numpy_what_is_computed(name):
    expression = trace(lambda x, y: vmath.where(CONDITIONS[name](x, y), 1.0, 0.0), ["x", "y"], [], "f")
    x, y = (axis.ravel() for axis in np.meshgrid([-1.0, 0.0, 0.5, 1.0, 2.0], [-1.0, 0.0, 0.5, 1.0, 2.0]))
    values = {"x": x, "y": y, "where": np.where, "isnan": np.isnan}
    with np.errstate(all="ignore"):
        for line in reversed(formulas(expression, ["r"])):  # what is shared comes last
            made, _, text = line.partition(" = ")
            values[made] = eval(text, {}, values)
        expected = [float(np.all(CONDITIONS[name](a, b))) for a, b in zip(x, y, strict=True)]
    assert values["r"].tolist() == expected
