import math

import numpy as np
import pytest

import opsdk
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


TRIED = {
    "np.where": (lambda x: np.where(x > 0, x, 0), "NumPy's where; write vmath.where(condition, a, b)"),
    "np.select": (lambda x: np.select([x > 0], [x]), "NumPy's select; write vmath.where(condition, a, b)"),
    "np.clip": (lambda x: np.clip(x, 0, 1), "NumPy's clip; write vmath.clip(x, low, high)"),
    "np.round": (lambda x: np.round(x), "NumPy's round; np.round(x) is vmath.round(x)"),
    "np.rint": (lambda x: np.rint(x), "NumPy's rint; write vmath.round(x)"),
    "np.floor_divide": (lambda x: np.floor_divide(x, 2), "NumPy's floor_divide; write vmath.floor(x / y)"),
    "np.heaviside": (lambda x: np.heaviside(x, 0.5), "NumPy's heaviside; write vmath.where(x > 0, 1.0, 0.0)"),
    "np.spacing": (lambda x: np.spacing(x), "NumPy's spacing; what vmath lacks belongs into a kernel: @op.kernel"),
    "np.stack": (lambda x: np.stack([x, x]), "NumPy's stack; what vmath lacks belongs into a kernel: @op.kernel"),
    "np.sum": (lambda x: np.sum(x), "NumPy's sum; an expression is one element, and @opsdk.rowwise is one row: vm"),
    "np.max": (lambda x: np.max(x), "NumPy's max; an expression is one element, and @opsdk.rowwise is one row: vm"),
    "np.add.reduce": (lambda x: np.add.reduce(x), "NumPy's sum; an expression is one element"),
    "//": (lambda x: x // 2, "'//'; write vmath.floor(x / y)"),
    "r//": (lambda x: 2 // x, "'//'; write vmath.floor(x / y)"),
    "r%": (lambda x: 2 % x, "'%' rounds differently in Python and C; write vmath.fmod(x, y)"),
    "divmod": (lambda x: divmod(x, 2), "divmod(); write vmath.floor(x / y) and vmath.fmod(x, y)"),
    "@": (lambda x: x @ x, "'@'; an expression is one element: write x * y"),
    "<<": (lambda x: x << 1, "'<<'; write x * 2 ** n"),
    "r>>": (lambda x: 1 >> x, "'>>'; write vmath.floor(x / 2 ** n)"),
    "^": (lambda x: x ^ 2, "'^'; write x ** y for a power, a != b for two conditions"),
    "pow": (lambda x: pow(x, 2, 3), "pow() with a modulus; write vmath.fmod(x ** y, z)"),
    "round": (lambda x: round(x), "round(); write vmath.round(x)"),
    "round digits": (lambda x: round(x, 2), "round(); write vmath.round(x)"),
    "math.floor": (lambda x: math.floor(x), "math.floor(); write vmath.floor(x)"),
    "math.ceil": (lambda x: math.ceil(x), "math.ceil(); write vmath.ceil(x)"),
    "math.trunc": (lambda x: math.trunc(x), "math.trunc(); write vmath.trunc(x)"),
    "complex": (lambda x: complex(x), "a conversion to a Python number; an expression is real"),
    "format": (lambda x: f"{x:.2f}", "a text of it; it has no value yet"),
    ".sum": (lambda x: x.sum(), "the attribute 'sum'; an expression is one element, and @opsdk.rowwise is one row: v"),
    ".mean": (lambda x: x.mean(), "the attribute 'mean'; an expression is one element, and @opsdk.rowwise is one row"),
    ".clip": (lambda x: x.clip(0, 1), "the attribute 'clip'; write vmath.clip(x, low, high)"),
    ".exp": (lambda x: x.exp(), "the attribute 'exp'; write vmath.exp(x)"),
    ".shape": (lambda x: x.shape, "the attribute 'shape'; an expression is one element"),
    ".astype": (lambda x: x.astype("float32"), "the attribute 'astype'; an expression is read once for all dtypes"),
    "in": (lambda x: 1 in x, "expected a scalar, got 'in'; an expression is one element"),
    "reversed": (lambda x: reversed(x), "expected a scalar, got reversed(); an expression is one element"),
    "call": (lambda x: x(1, a=2), "expected a scalar, got a call; an expression is one element"),
    "item assignment": (lambda x: x.__setitem__(0, 1), "expected a scalar, got the index 0"),
    "array": (lambda x: x * np.ones(3), "an expression is one element, pass arrays as inputs when it is called"),
    "bool": (lambda x: (x == 0) * x, "expected a number, got eq(x, 0.0), a bool; write vmath.where(it, 1.0, 0.0)"),
}


@pytest.mark.parametrize("tried", TRIED)
def test_what_is_not_for_expressions_is_refused_with_what_to_write(x, tried):
    misuse, words = TRIED[tried]
    with pytest.raises(TraceError) as caught:
        misuse(x)
    assert words in str(caught.value)


def test_the_error_of_a_definition_names_the_op_and_the_line():
    with pytest.raises(TraceError, match=r"op 'tests::halved', line \d+: expected operators .*, got '//'; write"):

        @opsdk.elementwise
        def halved(x):
            return x // 2

        halved(np.ones(2))


def test_an_attribute_that_is_missing_can_be_asked_for(x):
    assert not hasattr(x, "shape")
    assert getattr(x, "dtype", "none") == "none"
    with pytest.raises(AttributeError, match="__array__"):
        x.__array__()


def test_scalars_of_numpy_and_conditions_take_part(x):
    assert repr(np.float64(3.0) * x) == repr(3.0 * x)
    assert repr(np.add(x, 1.0)) == repr(x + 1.0)
    assert repr(True & (x > 0)) == repr((x > 0) & True)
    assert repr(False | (x > 0)) == repr((x > 0) | False)
    assert repr(np.array(x) * 2.0) == repr(x * 2.0)
