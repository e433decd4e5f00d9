"""Statements: each subexpression once, operands first, in any printer's words."""

import math

from opsdk.expr.node import Node, constant
from opsdk.expr.statements import INFIX, statements
from opsdk.expr.symbol import Symbol, apply

X, Y = Symbol(Node("input", (), "x")), Symbol(Node("input", (), "y"))
NAMES = {X.node: "x", Y.node: "y"}


def in_python(roots, names=NAMES, prefix="t"):
    return statements(
        roots, names, lambda node: repr(node.payload), lambda node, args: f"{node.op}({', '.join(args)})", prefix
    )


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


def test_names_of_values_take_the_prefix():
    made, results = in_python([(X + Y).node], prefix="v")
    assert (lines(made), results) == (["v0 = x + y"], ["v0"])


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
