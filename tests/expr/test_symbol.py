import math

import numpy as np
import pytest

from opsdk.core.errors import TraceError
from opsdk.expr.node import Node, constant
from opsdk.expr.symbol import Symbol, apply, as_node


@pytest.fixture
def x():
    return Symbol(Node("input", (), "x"))


def test_operators_build_the_primitives_they_stand_for(x):
    two = constant(2.0)
    built = [x + 2, 2 + x, x - 2, 2 - x, x * 2, 2 * x, x / 2, 2 / x, x**2, 2**x, -x, +x, abs(x)]
    assert [symbol.node for symbol in built] == [
        Node("add", (x.node, two)), Node("add", (two, x.node)), Node("sub", (x.node, two)),
        Node("sub", (two, x.node)), Node("mul", (x.node, two)), Node("mul", (two, x.node)),
        Node("div", (x.node, two)), Node("div", (two, x.node)), Node("pow", (x.node, two)),
        Node("pow", (two, x.node)), Node("neg", (x.node,)), x.node, Node("abs", (x.node,)),
    ]  # fmt: skip


def test_comparisons_and_logic_build_conditions(x):
    condition = ((x < 1) & (x <= 1)) | ((x > 1) & (x >= 1)) | ~((x == 1) & (x != 1))
    assert condition.node.kind == "bool"


def test_numpy_scalars_are_constants(x):
    assert (x * np.float32(0.5)).node.args[1] is constant(0.5)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (
            lambda x: 1 if x > 0 else 0,
            "need a value, got a symbol that depends on x, while the expression is read; write vmath.where",
        ),
        (math.exp, "expected operators and vmath functions, got a conversion to a Python number"),
        (int, "math.exp(x) is vmath.exp(x)"),
        (lambda x: list(x), "expected a scalar, got iteration or unpacking"),
        (lambda x: x[0], "expected a scalar, got the index 0; an expression is one element"),
        (len, "expected a scalar, got len(); an expression is one element"),
        (lambda x: x % 2, "'%' rounds differently in Python and C; write vmath.fmod(x, y)"),
        (lambda x: x + "a", "vmath.add: expected a symbol or a number, got str"),
        (lambda x: (x > 0) + 1, "vmath.add: operand 0 expected a number, got gt(x, 0.0), a bool"),
        (lambda x: x & True, "vmath.and: operand 0 expected a condition, got x, a float"),
        (lambda x: apply("exp", x, x), "vmath.exp: expected 1 operands, got 2"),
        (lambda x: apply("expp", x), "no primitive is called 'expp'; there are exp"),
    ],
)
def test_what_an_expression_cannot_hold_is_refused(x, misuse, message):
    with pytest.raises(TraceError) as caught:
        misuse(x)
    assert message in str(caught.value)


def test_an_array_in_an_expression_is_refused_by_name(x):
    with pytest.raises(TraceError, match=r"vmath\.mul: expected a symbol or a number, got ndarray"):
        np.ones(3) * x


def test_a_node_stands_for_itself(x):
    assert as_node(x.node) is x.node
