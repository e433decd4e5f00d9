"""Functions of primitives: one name for symbols, arrays, tensors, Variables and numbers."""

import inspect
import math
import warnings

import numpy as np
import pytest

import opsdk
from opsdk import static, vmath
from opsdk.define.op import REGISTRY
from opsdk.expr.node import Node
from opsdk.expr.primitives.function import apply, function_of, is_foreign
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol

SYMBOL = Symbol(Node("input", (), "x"))


@pytest.mark.parametrize(
    ("name", "operands", "given", "wanted"),
    [("exp", "(x)", (0.0,), 1.0), ("pow", "(a, b)", (2.0, 3.0), 8.0), ("where", "(condition, a, b)", (True, 1, 2), 1)],
)
def test_a_function_looks_as_if_its_module_had_written_it(name, operands, given, wanted):
    function = function_of(PRIMITIVES[name], "my.module")
    assert (function.__name__, function.__module__, function.__doc__) == (name, "my.module", PRIMITIVES[name].doc)
    assert str(inspect.signature(function)).replace(": 'Any'", "").replace(" -> 'Any'", "") == operands
    assert function(*given) == wanted


def test_a_symbol_among_the_operands_makes_a_node():
    made = apply("pow", SYMBOL, 2.0)
    assert isinstance(made, Symbol)
    assert repr(made.node) == repr(vmath.pow(SYMBOL, 2.0).node) == "pow(x, 2.0)"


def test_arrays_keep_their_dtype_and_no_warning_is_given():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = apply("log", np.array([0.0, -1.0, 1.0], np.float32))
    assert (made.dtype, made[0], made[2]) == (np.float32, -math.inf, 0.0)
    assert np.isnan(made[1])


def test_numbers_give_what_numpy_gives_where_python_would_raise():
    assert apply("log", 0) == -math.inf
    assert apply("reciprocal", 0.0) == math.inf
    assert np.isnan(apply("fmod", 1.0, 0.0))


def test_numbers_of_what_python_has_itself_are_its_own():
    assert (apply("abs", -3), type(apply("abs", -3))) == (3, int)
    assert (apply("pow", 2, 3), type(apply("pow", 2, 3))) == (8, int)
    assert apply("pow", 0.0, -1.0) == math.inf


def test_a_tensor_takes_the_built_in_op_where_there_is_one_and_else_one_of_its_own_made_once():
    x = opsdk.to_tensor(np.array([0.25]), stop_gradient=False)
    apply("exp", x).backward()
    assert x.grad.numpy() == pytest.approx(math.exp(0.25), rel=1e-15)
    before = set(REGISTRY.names())
    y = apply("erfcx", x)
    assert y.numpy() == pytest.approx(0.7703465477309968, rel=4e-16)  # scipy.special.erfcx
    apply("erfcx", x)
    assert set(REGISTRY.names()) - before <= {"vmath::erfcx", "vmath::erfcx_grad"}


def test_a_variable_is_recorded():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2], "float64")
        y = apply("sinc", x)
    (found,) = static.Executor().run(program, feed={"x": np.array([0.0, 0.5])}, fetch_list=[y])
    np.testing.assert_allclose(found, [1.0, 2 / math.pi], rtol=1e-15)


def test_conditions_are_no_ops_of_tensors():
    assert apply("lt", np.array([1.0]), np.array([2.0])).tolist() == [True]
    assert apply("isnan", math.nan)


def test_only_the_function_of_a_body_in_c_is_foreign():
    with opsdk.scoped_registry():
        make = opsdk.primitive(namespace="t", name="foreign", c="return x + x;", derivative=lambda x, y: 2.0)
        assert is_foreign(make(lambda x: x + x))
        assert not is_foreign(opsdk.primitive(namespace="t", name="own")(lambda x: x + x))
    assert not is_foreign(vmath.exp)
    assert not is_foreign(math.sin)
    assert not is_foreign(None)
