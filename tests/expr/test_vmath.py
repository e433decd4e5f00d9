"""The functions of vmath on symbols, arrays and numbers."""

import inspect
import math
import pickle

import ml_dtypes
import numba
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import TraceError
from opsdk.expr.draws import FUNCTIONS as DRAWS
from opsdk.expr.node import BOOL, Node, constant
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol
from opsdk.expr.vmath import apply, function_of

PRIMITIVE_OF = {"logical_and": "and", "logical_or": "or", "logical_not": "not"}
OPERATORS = {"add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne"}
FUNCTIONS = [
    name
    for name in vmath.__all__
    if inspect.isfunction(getattr(vmath, name)) and not name.startswith("row_")
    if name != "clip" and getattr(vmath, name) not in DRAWS
]


def symbols(name):
    """One symbol per operand of a primitive: inputs, and comparisons of inputs where conditions are meant."""
    inputs = [Symbol(Node("input", (), letter)) for letter in "abc"]
    kinds = PRIMITIVES[name].takes
    return [x if kind == "float" else x > 0.0 for x, kind in zip(inputs, kinds, strict=False)]


def test_every_primitive_that_is_no_operator_has_a_function():
    told = {name for name, each in PRIMITIVES.items() if (each.doc or not each.body) and each.public is None}
    assert {PRIMITIVE_OF.get(name, name) for name in FUNCTIONS} == told - OPERATORS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_on_symbols_a_function_builds_its_primitive(name):
    operands = symbols(PRIMITIVE_OF.get(name, name))
    built = getattr(vmath, name)(*operands)
    assert built.node.op == PRIMITIVE_OF.get(name, name)
    assert built.node.args == tuple(operand.node for operand in operands)


def test_numbers_beside_symbols_are_constants():
    x = Symbol(Node("input", (), "x"))
    assert vmath.maximum(x, 0).node.args == (x.node, constant(0.0))
    assert vmath.maximum(0, x).node.args == (constant(0.0), x.node)


def test_what_is_no_number_is_refused_beside_a_symbol():
    with pytest.raises(TraceError, match=r"vmath\.maximum: expected a symbol or a number, got ndarray"):
        vmath.maximum(Symbol(Node("input", (), "x")), np.ones(3))


def test_a_wrong_number_of_operands_is_an_error_of_the_call():
    with pytest.raises(TypeError, match=r"exp\(\) takes 1 positional argument but 2 were given"):
        vmath.exp(1.0, 2.0)
    with pytest.raises(TypeError, match=r"pow\(\) missing 1 required positional argument: 'b'"):
        vmath.pow(2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_are_computed_as_numpy_does_and_keep_their_dtype(dtype):
    x = np.array([0.25, 0.5, 0.75], dtype)
    for name in ("exp", "log", "sin", "arctan", "sqrt", "cbrt", "floor", "tanh"):
        computed = getattr(vmath, name)(x)
        assert computed.dtype == dtype
        np.testing.assert_array_equal(computed, getattr(np, name)(x))


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in PRIMITIVE_OF])
def test_numbers_of_16_bits_are_computed_in_float32_and_rounded_once(name, dtype):
    primitive = PRIMITIVES[name]
    x = [np.array([True, False]) if kind == BOOL else np.array([0.5, 0.75], dtype) for kind in primitive.takes]
    wanted = getattr(vmath, name)(*[each if each.dtype == bool else each.astype(np.float32) for each in x])
    made = getattr(vmath, name)(*x)
    assert made.dtype == (bool if primitive.gives == BOOL else np.dtype(dtype))
    np.testing.assert_array_equal(made.astype(float), wanted.astype(made.dtype).astype(float))  # NaN is NaN


@pytest.mark.parametrize(
    ("name", "value", "wanted"), [("i0e", 1.0, 0.4657596), ("lgamma", 0.5, 0.5723649), ("erf", 1.0, 0.8427008)]
)
def test_numbers_of_16_bits_are_right_in_all_of_their_digits(name, value, wanted):  # scipy.special
    for dtype in ("float16", ml_dtypes.bfloat16):
        made = getattr(vmath, name)(np.array([value], dtype))
        assert (made.dtype, made.tolist()) == (np.dtype(dtype), [np.float32(wanted).astype(dtype)])


def test_numbers_of_16_bits_beside_others_give_what_numpy_makes_of_both():
    half, brain = np.float16(1.5), np.array([1.5], ml_dtypes.bfloat16)
    assert vmath.pow(brain, 2.0).dtype == vmath.where(np.array([True]), brain, 0.0).dtype == brain.dtype
    assert vmath.maximum(np.array([1], np.int8), half).dtype == np.float16
    assert vmath.hypot(half, np.array([2.0], np.float32)).dtype == np.float32
    assert vmath.hypot(brain, np.array([2.0])).dtype == np.float64
    assert isinstance(vmath.exp(half), np.float16)


def test_integers_give_float64():
    assert vmath.exp(np.array([0, 1])).dtype == np.float64
    assert vmath.exp(1) == np.exp(1.0)


def test_arrays_broadcast():
    assert vmath.hypot(np.full((2, 1), 3.0), np.full(3, 4.0)).tolist() == [[5.0] * 3] * 2


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: vmath.log(0), -math.inf),
        (lambda: vmath.log(-1.0), math.nan),
        (lambda: vmath.reciprocal(0), math.inf),
        (lambda: vmath.reciprocal(-0.0), -math.inf),
        (lambda: vmath.exp(1000.0), math.inf),
        (lambda: vmath.sqrt(np.array([-1.0]))[0], math.nan),
        (lambda: vmath.fmod(1.0, 0.0), math.nan),
    ],
)
def test_outside_its_domain_a_function_gives_what_numpy_gives_without_a_warning(call, expected):
    np.testing.assert_array_equal(call(), expected)


@pytest.mark.parametrize(("x", "expected"), [(-2.0, -1.0), (0.5, 0.5), (2.0, 1.0), (math.nan, math.nan)])
def test_clip_holds_a_number_between_two_bounds(x, expected):
    np.testing.assert_array_equal(vmath.clip(x, -1.0, 1.0), expected)


@opsdk.elementwise("crossed::clip(Tensor x, Tensor low, Tensor high) -> Tensor")
def clipped(x, low, high):
    return vmath.clip(x, low, high)


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_bounds_that_cross_give_the_upper_one_as_in_numpy(dtype):
    x, low, high = (np.array(values, dtype) for values in ([0, 5, 2], [3, 3, 3], [1, 1, 1]))
    numba_clip = numba.njit(lambda x, low, high: vmath.clip(x, low, high))
    for made in (vmath.clip(x, low, high), clipped(x, low, high), numba_clip(x.astype(float), 3.0, 1.0)):
        np.testing.assert_array_equal(made, np.clip(x, low, high))
    if dtype == "float64":
        inputs = [opsdk.to_tensor(value, stop_gradient=False) for value in (x, low, high)]
        clipped(*inputs).sum().backward()
        assert [value.grad.tolist() for value in inputs] == [[0.0] * 3, [0.0] * 3, [1.0] * 3]


def test_clip_of_a_symbol_is_a_minimum_of_a_maximum():
    x = Symbol(Node("input", (), "x"))
    assert vmath.clip(x, -1.0, 1.0).node == vmath.minimum(vmath.maximum(x, -1.0), 1.0).node


def test_choices_and_tests_work_on_conditions():
    x = np.array([-1.0, math.nan, math.inf])
    assert vmath.where(vmath.isfinite(x), x, 0.0).tolist() == [-1.0, 0.0, 0.0]
    assert vmath.logical_or(vmath.isnan(x), vmath.isinf(x)).tolist() == [False, True, True]
    assert vmath.logical_and(vmath.logical_not(vmath.isnan(x)), x > 0).tolist() == [False, False, True]


def test_constants_are_the_mathematical_ones():
    assert (vmath.pi, vmath.e, vmath.inf) == (math.pi, math.e, math.inf)
    assert math.isnan(vmath.nan)


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
