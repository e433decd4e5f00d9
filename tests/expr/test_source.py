"""Statements: each subexpression once, operands first, in any printer's words."""

import math

import pytest

from opsdk.expr import vmath
from opsdk.expr.node import Node, constant
from opsdk.expr.source import INFIX, constant_text, python_lines, scalar_function, scalar_source, statements
from opsdk.expr.symbol import Symbol, apply
from opsdk.expr.trace import trace

X, Y = Symbol(Node("input", (), "x")), Symbol(Node("input", (), "y"))
NAMES = {X.node: "x", Y.node: "y"}


def in_python(roots, names=NAMES):
    return statements(roots, names, lambda node: repr(node.payload), lambda node, args: f"{node.op}({', '.join(args)})")


def lines(made):
    return [f"{statement.name} = {statement.text}" for statement in made]


def test_a_subexpression_that_occurs_twice_is_one_statement():
    shared = apply("exp", X)
    made, results = in_python([(shared * shared + Y).node, (shared - 1.0).node])
    assert lines(made) == ["t0 = exp(x)", "t1 = t0 * t0", "t2 = t1 + y", "t3 = t0 - 1.0"]
    assert results == ["t2", "t3"]


def test_operands_stand_in_the_order_of_the_expression():
    made, _ = in_python([(X - Y).node, (Y / X).node, (X < Y).node])
    assert lines(made) == ["t0 = x - y", "t1 = y / x", "t2 = x < y"]


def test_a_root_that_is_an_input_or_a_constant_needs_no_statement():
    assert in_python([X.node, constant(2.5)]) == ([], ["x", "2.5"])


def test_the_same_root_twice_has_one_name():
    made, results = in_python([(X + Y).node, (X + Y).node])
    assert (lines(made), results) == (["t0 = x + y"], ["t0", "t0"])


def test_a_value_that_is_at_hand_is_not_computed():
    made, results = in_python([(apply("exp", X) * Y).node], {**NAMES, apply("exp", X).node: "saved"})
    assert (lines(made), results) == (["t0 = saved * y"], ["t0"])


def test_values_are_named_in_the_order_in_which_they_are_made():
    made, results = in_python([(X + Y).node])
    assert (lines(made), results) == (["t0 = x + y"], ["t0"])


def test_the_lines_run_to_the_value_of_the_expression():
    value = apply("exp", X) * (Y - X) / (1.0 + Y * Y) - apply("exp", X)
    made, (result,) = in_python([value.node])
    space = {"x": 0.5, "y": 2.0, "exp": math.exp}
    exec("\n".join(lines(made)), space)
    assert space[result] == math.exp(0.5) * 1.5 / 5.0 - math.exp(0.5)


def test_infix_operators_are_those_that_python_and_c_write_alike():
    python = {name: eval(f"3.0 {text} 2.0") for name, text in INFIX.items() if name not in ("and", "or")}
    assert python == {
        "add": 5.0, "sub": 1.0, "mul": 6.0, "div": 1.5, "lt": False, "le": False, "gt": True, "ge": True, "eq": False,
        "ne": True,
    }  # fmt: skip
    assert [eval(f"{a} {INFIX['and']} {b}") for a in (True, False) for b in (True, False)] == [
        True,
        False,
        False,
        False,
    ]
    assert [eval(f"{a} {INFIX['or']} {b}") for a in (True, False) for b in (True, False)] == [True, True, True, False]


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


def text_of(function, inputs, attrs=(), real="float"):
    return scalar_function(trace(function, inputs, attrs, "op 't::f'"), "f", real)


def test_a_function_takes_values_and_writes_its_result_by_pointer():
    text = text_of(lambda x, *, slope: vmath.maximum(x, 0.0) * slope, ["x"], ["slope"])
    assert text.splitlines() == [
        "static inline void f(float x_in, double slope_attr, float *result0) {",
        "  const float slope_real = (float)slope_attr;",
        "  const float t0 = (x_in >= 0.0f || x_in != x_in) ? x_in : 0.0f;",
        "  const float t1 = t0 * slope_real;",
        "  *result0 = t1;",
        "}",
    ]


@pytest.mark.parametrize(
    ("function", "real", "wanted"),
    [
        (lambda x: vmath.arctan2(x, 2.0), "float", "atan2f(x_in, 2.0f)"),
        (lambda x: vmath.arctan2(x, 2.0), "double", "atan2(x_in, 2.0)"),
        (lambda x: vmath.sigmoid(x), "float", "opsdk_sigmoidf(x_in)"),
        (lambda x: vmath.sign(x), "double", "x_in != x_in ? x_in : (double)((x_in > 0) - (x_in < 0))"),
        (lambda x: x * float("-inf"), "float", "x_in * (-INFINITY)"),
        (lambda x: x + -1.5, "double", "x_in + (-1.5)"),
        (lambda x: vmath.where(x > 0.0, x, 1.0), "float", "t0 ? x_in : 1.0f"),
    ],
)
def test_primitives_and_constants_are_those_of_math_h_and_of_the_dtype(function, real, wanted):
    assert wanted in text_of(function, ["x"], real=real)


def test_conditions_are_whole_numbers():
    assert "const int t0 = x_in < 0.0f;" in text_of(lambda x: vmath.where(x < 0.0, -x, x), ["x"])
