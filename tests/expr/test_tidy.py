"""Tidied expressions: the same value, in the order that people write."""

import numpy as np
import pytest

from opsdk import vmath
from opsdk.define.op import find_op
from opsdk.expr.evaluate import evaluate
from opsdk.expr.formula import formulas
from opsdk.expr.scalar import ScalarFunction, static_of
from opsdk.expr.tidy import tidied
from opsdk.expr.trace import trace
from opsdk.ops import nonlinear


def text(function, leading=(), attrs=()):
    inputs = [name for name in ("x", "y", "dy") if name in function.__code__.co_varnames]
    found = tidied(trace(function, inputs, attrs, "op 'f'"), leading)
    return formulas(found, ["r"])


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (lambda x: 0.5 * x * 3.0, "r = 1.5 * x"),
        (lambda x: x * x * x, "r = x**3"),
        (lambda x: x * 2.0 / 6.0, "r = x / 3"),
        (lambda x: x / 0.5, "r = 2 * x"),
        (lambda x: -(x * 0.25), "r = -0.25 * x"),
        (lambda x: -x * -x, "r = x**2"),
        (lambda x: 1.0 / (2.0 * x), "r = 0.5 / x"),
        (lambda x: x + x + 1.0 - 3.0, "r = 2 * x - 2"),
        (lambda x: x - x, "r = 0"),
        (lambda x: -x - 1.0, "r = -x - 1"),
        (lambda x: 1.0 - x, "r = 1 - x"),
        (lambda x: -x + 1.0, "r = 1 - x"),
        (lambda x: x / x, "r = x / x"),
        (lambda x: x * (1.0 / 3.0), "r = 0.333333 * x"),
        (lambda x: vmath.exp(-(x * x) * 0.5), "r = exp(-0.5 * x**2)"),
        (lambda x, y: (x + y) * 2.0, "r = 2 * (x + y)"),
        (lambda x, y: vmath.where(x > y, x * 2.0 * 3.0, y), "r = where(x > y, 6 * x, y)"),
    ],
)
def test_a_formula_reads_as_people_write(function, line):
    assert text(function) == (line,)


def test_what_every_term_has_stands_before_the_brackets_and_the_cotangent_first():
    assert text(lambda x, dy: vmath.sigmoid(x) * dy + x * dy * 0.5, ["dy"]) == ("r = dy * (sigmoid(x) + 0.5 * x)",)


def test_an_attribute_that_cancels_is_left_out():
    assert text(lambda x, beta: x * beta / beta, attrs=["beta"]) == ("r = x",)


def test_what_occurs_twice_keeps_one_name():
    lines = text(lambda x, y: vmath.exp(x + y) * (x + y))
    assert lines == ("r = exp(t0) * t0", "t0 = x + y")


@pytest.mark.parametrize("name", ["silu", "gelu", "mish", "softplus", "elu", "hardswish", "elementwise_pow", "tanh"])
@pytest.mark.parametrize("is_gradient", [False, True])
def test_the_value_is_the_same(name, is_gradient):
    assert nonlinear is not None  # registers them
    opdef = find_op(f"opsdk::{name}").opdef
    opdef = opdef.grad.op.opdef if is_gradient else opdef
    source = next(row.source for row in opdef.kernels if isinstance(row.source, ScalarFunction))
    attrs = {decl.name: decl.default for decl in opdef.schema.attrs if decl.name in source.attrs}
    expression = source.expression(static_of(attrs))
    rng = np.random.default_rng(0)
    values = {name: rng.uniform(0.5, 2.0, 50) for name in opdef.schema.input_names} | attrs
    float64 = np.dtype("float64")
    for want, got in zip(
        evaluate(expression.wanted, values, np, float64),
        evaluate(tidied(expression).wanted, values, np, float64),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=2e-6)  # numbers are shown with six digits
