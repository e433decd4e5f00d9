import inspect
import pickle

import numpy as np
import pytest

from opsdk import vmath
from opsdk.expr.node import Node
from opsdk.expr.primitives.function import apply, function_of
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol


def test_a_function_looks_as_if_its_module_had_written_it():
    made = function_of(PRIMITIVES["arctan2"], "planted")
    assert (made.__name__, made.__qualname__, made.__module__) == ("arctan2", "arctan2", "planted")
    assert str(inspect.signature(made)) == "(y: 'Any', x: 'Any') -> 'Any'"
    assert made.__doc__.startswith("Returns the angle of the point (x, y)")
    assert pickle.loads(pickle.dumps(vmath.where)) is vmath.where


def test_operands_are_passed_in_their_order_and_by_name():
    assert function_of(PRIMITIVES["arctan2"], "planted")(x=-1.0, y=0.0) == np.pi
    chosen = function_of(PRIMITIVES["where"], "planted")(np.array([True, False]), b=2.0, a=1.0)
    assert chosen.tolist() == [1.0, 2.0]


def test_its_errors_name_the_function_and_the_operand():
    with pytest.raises(TypeError, match=r"^hypot\(\) missing 1 required positional argument: 'b'"):
        function_of(PRIMITIVES["hypot"], "planted")(1.0)


def test_a_value_beside_a_symbol_makes_a_node():
    x = Symbol(Node("input", (), "x"))
    assert apply("pow", x, 2.0).node.op == "pow"
    assert apply("abs", -3) == 3
