"""Python source of expressions."""

import math

import pytest

from opsdk.expr.node import Node, constant
from opsdk.expr.numba_source import constant_text, python_lines, scalar_source
from opsdk.expr.symbol import Symbol, apply
from opsdk.expr.trace import trace

X, Y = Symbol(Node("input", (), "x")), Symbol(Node("input", (), "y"))
WORDS = {"real": float, "exp": math.exp, "maximum": max}


def compiled(function, inputs, attrs=(), outputs=1):
    text = scalar_source(trace(function, inputs, attrs, "op 'f'", outputs), "f")
    space = dict(WORDS)
    exec(text, space)
    return space["f"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "real(0.5)"),
        (-0.0, "real(-0.0)"),
        (1e-30, "real(1e-30)"),
        (math.inf, "real(inf)"),
        (-math.inf, "real(-inf)"),
        (math.nan, "real(nan)"),
        (True, "True"),
    ],
)
def test_constants_are_made_numbers_of_the_computation(value, text):
    assert constant_text(constant(value)) == text
    assert isinstance(value, bool) or str(eval(text, {"real": float, "inf": math.inf, "nan": math.nan})) == str(value)


def test_what_is_no_infix_operator_is_a_call_or_pythons_own_words():
    made, _ = python_lines(
        [(-X).node, (~(X < Y)).node, apply("where", X < Y, X, Y).node, apply("maximum", X, Y).node],
        {X.node: "x", Y.node: "y"},
    )
    assert [statement.text for statement in made] == ["-x", "x < y", "not t1", "x if t1 else y", "maximum(x, y)"]


def test_the_source_computes_the_function():
    f = compiled(lambda x, y, *, beta: apply("exp", beta * x) / (1.0 - y), ["x", "y"], ["beta"])
    assert f(2.0, 3.0, 0.5) == math.exp(1.0) / -2.0


def test_several_results_come_as_a_tuple():
    assert compiled(lambda x: (x + 1.0, -x), ["x"], outputs=2)(4.0) == (5.0, -4.0)


def test_a_choice_between_conditions_takes_the_branch():
    f = compiled(lambda x: apply("where", (x > 0) & (x < 10), x, -1.0), ["x"])
    assert [f(5.0), f(20.0), f(-3.0)] == [5.0, -1.0, -1.0]


def test_inputs_and_attributes_may_be_called_like_the_words_of_the_source():
    f = compiled(lambda t0, real, exp, *, t1: apply("exp", t0) * real + exp - t1, ["t0", "real", "exp"], ["t1"])
    assert f(0.0, 3.0, 4.0, 5.0) == 2.0
