import itertools
import math

import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.call.language import language_of
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, OpsdkError
from opsdk.core.spec import TensorSpec
from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol, apply

X, Y = Symbol(Node("input", (), "x")), Symbol(Node("input", (), "y"))


def test_arrays_broadcast_and_keep_their_dtype_beside_constants():
    (value,) = evaluate([(X * 0.5 + Y).node], {"x": np.ones((2, 1), np.float32), "y": np.ones(3, np.float32)}, np)
    assert (value.shape, value.dtype, value.tolist()) == ((2, 3), np.float32, [[1.5] * 3] * 2)


def test_several_roots_share_what_they_have_in_common():
    calls = []

    class Counting:
        def __getattr__(self, name):
            calls.append(name)
            return getattr(np, name)

    exp = apply("exp", X)
    evaluate([(exp + 1.0).node, (exp * 2.0).node], {"x": np.ones(2)}, Counting())
    assert calls.count("exp") == 1


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("sigmoid", [np.array([-1000.0, 0.0, 1000.0])], [0.0, 0.5, 1.0]),
        ("softplus", [np.array([-1000.0, 0.0, 1000.0])], [0.0, np.log(2.0), 1000.0]),
        ("fmod", [np.array([7.5, -7.5]), 2.0], [1.5, -1.5]),
        ("round", [np.array([0.5, 1.5, 2.5])], [0.0, 2.0, 2.0]),
        ("where", [np.array([True, False]), 1.0, 2.0], [1.0, 2.0]),
        ("or", [np.array([True, False]), False], [True, False]),
        ("not", [np.array([True, False])], [False, True]),
        ("isnan", [np.array([np.nan, 1.0])], [True, False]),
        ("isinf", [np.array([-np.inf, np.nan, 1.0])], [True, False, False]),
        ("isfinite", [np.array([-np.inf, np.nan, 1.0])], [False, False, True]),
        ("trunc", [np.array([-1.5, 1.5])], [-1.0, 1.0]),
        ("copysign", [np.array([3.0, -3.0]), np.array([-0.0, 1.0])], [-3.0, 3.0]),
    ],
)
def test_primitives_mean_what_they_are_called(name, operands, expected):
    np.testing.assert_array_equal(PRIMITIVES[name].meaning(np, *operands), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_among_themselves_are_computed_with_in_the_dtype_that_is_given(dtype):
    scale = Symbol(Node("attr", (), "a"))
    roots = [(X * (scale * 0.5)).node, apply("where", X > 0.0, scale, 1.0).node]
    values = evaluate(roots, {"x": np.ones(2, dtype), "a": 3.0}, np, np.dtype(dtype))
    assert [(value.dtype.name, value.tolist()) for value in values] == [(dtype, [1.5, 1.5]), (dtype, [3.0, 3.0])]


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_are_accurate_to_the_last_bits_of_float64(name):
    x = np.concatenate([np.linspace(-6.5, 27.2, 500), [0.925, np.nextafter(0.925, 0), 0.47, 1e-300, -1e-300]])
    reference = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(v)))) for v in x])
    computed = PRIMITIVES[name].meaning(np, x)
    assert np.max(np.abs(computed - reference) / np.spacing(np.abs(reference))) <= 5


@pytest.mark.parametrize(("name", "expected"), [("erf", [-1.0, -0.0, 1.0, np.nan]), ("erfc", [2.0, 1.0, 0.0, np.nan])])
def test_error_functions_end_where_they_should(name, expected):
    computed = PRIMITIVES[name].meaning(np, np.array([-np.inf, -0.0, np.inf, np.nan]))
    np.testing.assert_array_equal(computed, expected)
    np.testing.assert_array_equal(np.signbit(computed[:3]), np.signbit(expected[:3]))


def test_error_functions_of_single_precision_stay_in_it():
    x = np.linspace(-4, 9, 400, dtype=np.float32)
    for name in ("erf", "erfc"):
        computed = PRIMITIVES[name].meaning(np, x)
        reference = [getattr(math, name)(float(v)) for v in x]
        assert computed.dtype == np.float32
        np.testing.assert_allclose(computed, reference, rtol=2e-5, atol=1e-45)


DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ONE = {  # `m` is vmath in the op, and NumPy where the expected value is computed
    "2.0 * x": lambda m, x: 2.0 * x,
    "2 * x": lambda m, x: 2 * x,
    "2.5 * x": lambda m, x: 2.5 * x,
    "x + 1.0": lambda m, x: x + 1.0,
    "x + 1": lambda m, x: x + 1,
    "x - 1": lambda m, x: x - 1,
    "1 - x": lambda m, x: 1 - x,
    "x + 300": lambda m, x: x + 300,
    "x - 70000": lambda m, x: x - 70000,
    "x * 1": lambda m, x: x * 1,
    "x * 1.0": lambda m, x: x * 1.0,
    "1.0 * x": lambda m, x: 1.0 * x,
    "x * -1": lambda m, x: x * -1,
    "x * -1.0": lambda m, x: x * -1.0,
    "x + 0": lambda m, x: x + 0,
    "x - 0": lambda m, x: x - 0,
    "x - 0.0": lambda m, x: x - 0.0,
    "x / 1": lambda m, x: x / 1,
    "x / 2": lambda m, x: x / 2,
    "1 / x": lambda m, x: 1 / x,
    "x / x": lambda m, x: x / x,
    "x ** 1": lambda m, x: x**1,
    "x ** 1.0": lambda m, x: x**1.0,
    "x ** 2": lambda m, x: x**2,
    "x ** 2.0": lambda m, x: x**2.0,
    "x ** 3": lambda m, x: x**3,
    "x ** 0.5": lambda m, x: x**0.5,
    "x ** -1": lambda m, x: x**-1,
    "x ** -1.0": lambda m, x: x**-1.0,
    "2 ** x": lambda m, x: 2**x,
    "2.0 ** x": lambda m, x: 2.0**x,
    "-x": lambda m, x: -x,
    "-(-x)": lambda m, x: -(-x),  # noqa: B002
    "x - x": lambda m, x: x - x,
    "x + -x": lambda m, x: x + -x,
    "x * x": lambda m, x: x * x,
    "x * x + 0.5": lambda m, x: x * x + 0.5,
    "x * 2 + x * 2.0": lambda m, x: x * 2 + x * 2.0,
    "abs(x)": lambda m, x: abs(x),
    "abs(x) * 2.0": lambda m, x: abs(x) * 2.0,
    "where(x > 2, x, -1)": lambda m, x: m.where(x > 2, x, -1),
    "where(x > 2, x, 1)": lambda m, x: m.where(x > 2, x, 1),
    "where(x > 2, x, 1.0)": lambda m, x: m.where(x > 2, x, 1.0),
    "where(x > 2, x, 1.5)": lambda m, x: m.where(x > 2, x, 1.5),
    "where(x > 2, 1, 0)": lambda m, x: m.where(x > 2, 1, 0),
    "where(x > 2, 1.0, 0.0)": lambda m, x: m.where(x > 2, 1.0, 0.0),
    "where(x > 2.5, x, x)": lambda m, x: m.where(x > 2.5, x, x),
    "where(x > 300, x, x + 1)": lambda m, x: m.where(x > 300, x, x + 1),
    "where(x == -1, x, 2 * x)": lambda m, x: m.where(x == -1, x, 2 * x),
    "where((x > 1) & ~(x > 2), 5, x)": lambda m, x: m.where((x > 1) & ~(x > 2), 5, x),
    "maximum(x, 0)": lambda m, x: m.maximum(x, 0),
    "maximum(x, 0.0)": lambda m, x: m.maximum(x, 0.0),
    "minimum(x, 100)": lambda m, x: m.minimum(x, 100),
    "minimum(x, 1000)": lambda m, x: m.minimum(x, 1000),
    "maximum(minimum(x, 3), 1.5)": lambda m, x: m.maximum(m.minimum(x, 3), 1.5),
    "square(x)": lambda m, x: m.square(x),
    "sign(x)": lambda m, x: m.sign(x),
    "floor(x)": lambda m, x: m.floor(x),
    "ceil(x) + 1": lambda m, x: m.ceil(x) + 1,
    "trunc(x)": lambda m, x: m.trunc(x),
    "float32(2) * x": lambda m, x: np.float32(2) * x,
    "x * int64(3)": lambda m, x: x * np.int64(3),
    "array(3) * x": lambda m, x: np.array(3) * x,
    "x + array(3, int16)": lambda m, x: x + np.array(3, "int16"),
    "array(2, float32) * x": lambda m, x: np.array(2, "float32") * x,
    "where(True, 2, 3) * x": lambda m, x: m.where(True, 2, 3) * x,
    "x - where(False, 2, 3)": lambda m, x: x - m.where(False, 2, 3),
    "where(True, 2, 3.5) * x": lambda m, x: m.where(True, 2, 3.5) * x,
    "where(bool_, 2, 3) * x": lambda m, x: m.where(np.bool_(True), 2, 3) * x,
    "where(True, int16, int16) * x": lambda m, x: m.where(True, np.int16(2), np.int16(3)) * x,
    "where(1 < 2, 2, 3)": lambda m, x: m.where(1 < 2, 2, 3) + 0 * x,
    **{
        f"{name}{numbers} * x": lambda m, x, name=name, numbers=numbers: getattr(m, name)(*numbers) * x
        for name, numbers in {
            "maximum": (2, 1),
            "minimum": (2, 3),
            "sign": (2,),
            "square": (2,),
            "floor": (2,),
            "ceil": (2,),
            "round": (2,),
            "trunc": (2,),
            "clip": (2, 0, 3),
            "exp": (1,),
            "hypot": (3, 4),
            "copysign": (2, 1),
        }.items()
    },
    "x + uint8(3)": lambda m, x: x + np.uint8(3),
    "x * float64(2)": lambda m, x: x * np.float64(2),
    "float32(0.5) * x + float64(1e-9)": lambda m, x: np.float32(0.5) * x + np.float64(1e-9),
    "float16(0.5) * x * sqrt(2)": lambda m, x: np.float16(0.5) * x * np.sqrt(2),
    "where(x > 1, float64(0.1), float32(0.5))": lambda m, x: m.where(x > 1, np.float64(0.1), np.float32(0.5)),
    "x * (3 / 2)": lambda m, x: x * (3 / 2),
    "x * (4 / 2)": lambda m, x: x * (4 / 2),
    "x": lambda m, x: x,
}
TWO = {
    "w * w + x": lambda m, w, x: w * w + x,
    "w + x": lambda m, w, x: w + x,
    "w - x": lambda m, w, x: w - x,
    "w * 3.0 + x * 2.0": lambda m, w, x: w * 3.0 + x * 2.0,
    "w / x": lambda m, w, x: w / x,
    "where(w > x, w, x)": lambda m, w, x: m.where(w > x, w, x),
    "maximum(w, x)": lambda m, w, x: m.maximum(w, x),
    "x * 2": lambda m, w, x: x * 2,
}
count = itertools.count()


def made(expression, inputs="x"):
    """Returns an op of an expression."""
    names = {"e": expression, "vmath": vmath}
    exec(f"def f({inputs}):\n    return e(vmath, {inputs})\n", names)
    return opsdk.elementwise(namespace="test_whole", name=f"f{next(count)}")(names["f"])


def numbers(dtype):
    """Returns small numbers and those at the ends of a dtype, as far as float64 holds them."""
    if dtype == "bool":
        return np.array([True, False])
    info = np.iinfo(dtype)
    return np.array([0, 1, 2, 3, 100, max(info.min, -(2**53)), min(info.max, 2**53)], dtype)


# Where a float dtype was written, or comes of numbers that NumPy computes alone; it is that of the result.
WRITTEN = {
    "float32(2) * x": "float32", "array(2, float32) * x": "float32", "float16(0.5) * x * sqrt(2)": "float64",
    "where(True, 2, 3.5) * x": "float64", "x * float64(2)": "float64", "float32(0.5) * x + float64(1e-9)": "float64",
    "where(x > 1, float64(0.1), float32(0.5))": "float64", "exp(1,) * x": "float64", "hypot(3, 4) * x": "float64",
    "copysign(2, 1) * x": "float64",
}  # fmt: skip


# Where a signed integer of NumPy's was written, or comes of numbers alone; beside uint64 it makes float64.
SIGNED = {
    "x * int64(3)", "array(3) * x", "x + array(3, int16)", "where(True, 2, 3) * x", "x - where(False, 2, 3)",
    "where(bool_, 2, 3) * x", "where(True, int16, int16) * x", "where(1 < 2, 2, 3)", "maximum(2, 1) * x",
    "minimum(2, 3) * x", "sign(2,) * x", "square(2,) * x", "floor(2,) * x", "ceil(2,) * x", "round(2,) * x",
    "trunc(2,) * x", "clip(2, 0, 3) * x",
}  # fmt: skip


def by_numpy(expression, *arrays, dtype="float32"):
    """Returns what NumPy makes of the same function, floats in a dtype, or the class of the error that it raises."""
    with np.errstate(all="ignore"):
        try:
            return rounded(np.asarray(expression(np, *arrays)), dtype)
        except (OverflowError, TypeError, ValueError) as error:
            return type(error)


def rounded(made, dtype="float32"):
    """Returns what NumPy made of whole numbers, floats in the default dtype, or that which was written."""
    with np.errstate(all="ignore"):
        return made.astype(dtype) if made.dtype.kind == "f" else made


def assert_like(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, np.broadcast_to(expected, got.shape))


@pytest.mark.parametrize("text", ONE)
def test_a_call_on_whole_numbers_gives_what_numpy_gives(text):
    expression, op = ONE[text], made(ONE[text])
    for whole in DTYPES:
        x = numbers(whole)
        dtype = WRITTEN.get(text, "float64" if whole == "uint64" and text in SIGNED else "float32")
        expected = by_numpy(expression, x, dtype=dtype)
        if text == "where(x > 2, x, -1)" and whole.startswith("uint"):
            expected = OverflowError  # NumPy wraps -1 there
        if isinstance(expected, type):
            with pytest.raises(OpsdkError):
                op(x)
            with pytest.raises(OpsdkError):
                op(opsdk.to_tensor(x))
            continue
        assert_like(op(x), expected)
        assert_like(op(opsdk.to_tensor(x)).numpy(), expected)
        assert_like(op(x[:1].reshape(())), by_numpy(expression, x[:1].reshape(()), dtype=dtype))
        assert op(x[:0]).dtype == expected.dtype


@pytest.mark.parametrize("text", TWO)
def test_mixed_whole_numbers_give_what_numpy_gives(text):
    op = made(TWO[text], "w, x")
    for left, right in itertools.product(DTYPES, DTYPES):
        w, x = numbers(left)[:2], numbers(right)[:1]
        is_open = np.promote_types(left, right) == np.float64 and text != "w * 3.0 + x * 2.0"  # uint64 and signed
        expected = by_numpy(TWO[text], w, x, dtype="float64" if is_open else "float32")
        if isinstance(expected, type):
            with pytest.raises(OpsdkError):
                op(w, x)
        else:
            assert_like(op(w, x), expected)


@pytest.mark.parametrize("text", ["2.0 * x", "2 * x", "x + 1", "where(x > 2, 1.0, 0.0)", "x ** 3", "float32(2) * x"])
def test_a_program_has_the_dtype_that_its_run_gives(text):
    op = made(ONE[text])
    for dtype in ("bool", "uint8", "int32"):
        program = opsdk.static.Program()
        with opsdk.static.program_guard(program):
            y = op(opsdk.static.data("x", [None], dtype))
        x = numbers(dtype)
        (got,) = opsdk.static.Executor().run(program, feed={"x": x}, fetch_list=[y])
        expected = by_numpy(ONE[text], x)
        assert np.dtype(y.dtype) == expected.dtype
        assert_like(got, expected)


@pytest.mark.parametrize("text", ONE)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_in_the_function_have_no_dtype_beside_floats(text, dtype):
    opdef = made(ONE[text]).opdef
    kernel = opdef.kernels.reference()
    assert language_of(kernel).compile(opdef, kernel)(np.array([0.5, 2.0], dtype)).dtype == dtype


# -- attributes --------------------------------------------------------------------------------------------------------


@opsdk.elementwise("test_whole::times(Tensor x, *, int n=3, float a=2.0) -> (Tensor y, Tensor z)")
def times(x, n, a):
    return x * n, x * a


@opsdk.elementwise("test_whole::listed(Tensor x, *, int[] n=[2], float[] a=[2.0], bool is_int=True) -> Tensor y")
def listed(x, n, a, is_int):
    return x * n[0] if is_int else x * a[0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_attributes_are_weak_numbers_of_their_declared_type(dtype):
    x = np.array([1, 0], dtype)
    for given, by in ((times(x), 2.0), (times(x, n=3, a=2), 2.0), (times(x, a=2.5), 2.5)):
        assert_like(given[0], x * 3)
        assert_like(given[1], rounded(x * by))
    assert_like(listed(x), x * 2)
    assert_like(listed(x, is_int=False), rounded(x * 2.0))
    assert_like(listed(x, n=[5]), x * 5)
    assert_like(listed(x, a=[3], is_int=False), rounded(x * 3.0))


def test_a_number_of_the_attributes_alone_is_weak():
    @opsdk.elementwise("test_whole::weak(Tensor x, *, int n=2, float a=3.) -> (Tensor p, Tensor q, Tensor r, Tensor t)")
    def weak(x, n, a):
        return x * (n * 2 + 1), x * (n * a), x * (n / 2), x * n**2 + abs(-n)

    x = np.array([7, 1], np.uint8)
    for got, expected in zip(weak(x), (x * 5, x * 6.0, x * 1.0, x * 4 + 2), strict=True):
        assert_like(got, rounded(expected))
    assert_like(weak(x, n=0)[2], rounded(x * 0.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_choice_by_an_attribute_is_numpys_whatever_the_type_of_the_attribute(dtype):
    def chosen(x, *, flag: bool = True, mode: str = "a", k: int = 1):
        return vmath.where(flag, 2, 3) * x, vmath.where(mode == "a", 2, 3) * x, vmath.where(k > 0, 2, 3) * x

    op = opsdk.elementwise(
        "test_whole::chosen(Tensor x, *, bool flag=True, str mode='a', int k=1) -> (Tensor a, Tensor b, Tensor c)",
        replace=True,
    )(chosen)
    x = np.array([0, 1, 100]).astype(dtype)
    for yes in (True, False):
        expected = np.where(yes, 2, 3) * x
        for made in op(x, flag=yes, mode="a" if yes else "b", k=1 if yes else 0):
            assert made.dtype == expected.dtype
            np.testing.assert_array_equal(made, expected)


def test_abs_and_pow_of_attributes_are_those_of_python_in_the_op_and_in_the_function():
    def plain(x, *, k: int = -3):
        return x * vmath.abs(k) + vmath.pow(k, 2)

    x = np.array([200, 100], np.uint8)
    for made in (plain(x), opsdk.elementwise(namespace="test_whole")(plain)(x)):
        assert_like(made, x * 3 + 9)
    assert (vmath.abs(-3), vmath.pow(2, 3), vmath.pow(2, -1), vmath.pow(0.0, -1)) == (3, 8, 0.5, np.inf)
    assert [type(number) for number in (vmath.abs(-3), vmath.abs(-3.0), vmath.pow(2, 3))] == [int, float, int]


def test_a_quotient_of_attributes_by_zero_is_infinite():
    @opsdk.elementwise(namespace="test_whole")
    def over(x, *, n: int = 0):
        return x * (1 / n)

    assert_like(over(np.array([1, 2])), np.array([np.inf, np.inf], np.float32))


def test_literals_that_are_captured_keep_their_type():
    def helper(x, by):
        return x * by

    numbers = [(2, np.uint8), (2.0, np.float32), (np.int64(2), np.int64)]
    for by, expected in [*numbers, *((of(2), of) for of in (np.float32, np.float64))]:
        names = {"by": by, "helper": helper}
        exec("def captured(x):\n    return helper(x, by)\n", names)
        op = opsdk.elementwise(namespace="test_whole", name=f"captured{next(count)}")(names["captured"])
        assert op(np.array([200], np.uint8)).dtype == expected


# -- functions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "tanh", "log1p", "cbrt", "arctan"])
def test_functions_of_whole_numbers_are_those_of_float64_rounded_once(name):
    op = made(lambda m, x: getattr(m, name)(x))
    for dtype in DTYPES:
        x = np.array([0, 1], dtype)
        expected = getattr(np, name)(x.astype(np.float64))
        assert_like(op(x), rounded(expected))
        assert_like(getattr(vmath, name)(x), expected)


@pytest.mark.parametrize("name", ["hypot", "arctan2", "fmod", "logaddexp", "copysign"])
def test_functions_of_two_whole_numbers_are_those_of_float64_rounded_once(name):
    op = made(lambda m, w, x: getattr(m, name)(w, x), "w, x")
    w, x = np.array([3, 0], np.int8), np.array([2, 1], np.uint8)
    expected = getattr(np, name)(w.astype(np.float64), x.astype(np.float64))
    assert_like(op(w, x), rounded(expected))
    assert_like(getattr(vmath, name)(w, x), expected)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("x + 300", "uint8"), ("x + 300", "int8"), ("minimum(x, 1000)", "uint8"), ("x * -1", "uint16"),
     ("where(x > 2, x, -1)", "uint8"), ("x - 70000", "int16")],
)  # fmt: skip
def test_a_whole_number_that_the_dtype_beside_it_does_not_hold_is_refused(text, dtype):
    op = made(ONE[text])
    for x in (np.ones(2, dtype), np.ones(0, dtype)):
        with pytest.raises(AttributeValueError, match=f"expected to be held by {dtype}.*; cast the inputs"):
            op(x)
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program), pytest.raises(AttributeValueError, match=f"be held by {dtype}"):
        op(opsdk.static.data("x", [2], dtype))


def test_an_attribute_that_the_dtype_beside_it_does_not_hold_is_refused():
    x = np.ones(2, np.uint8)
    assert times(x, n=255)[0].tolist() == [255, 255]
    with pytest.raises(AttributeValueError, match=r"test_whole::times.*got 300 .*held by uint8|held by uint8.*got 300"):
        times(x, n=300)
    assert times(x, n=255)[0].tolist() == [255, 255]


def test_a_constant_result_that_the_inputs_dtype_does_not_hold_is_refused():
    op = made(lambda m, x: 300)
    assert_like(op(np.ones(2, np.int16)), np.full(2, 300, np.int16))
    with pytest.raises(AttributeValueError, match=r"expected to be held by uint8, .*got 300"):
        op(np.ones(2, np.uint8))


@pytest.mark.parametrize("text", ["-x", "x - x", "sign(x)"])
def test_arithmetic_that_bools_do_not_have_is_refused(text):
    with pytest.raises(DTypeError, match=r"(neg|sub|sign) expected numbers, got bool.*; cast"):
        made(ONE[text])(np.array([True, False]))


def test_negative_powers_of_whole_numbers_are_refused():
    with pytest.raises(AttributeValueError, match=r"exponents expected ≥ 0 .*got -1.*; write"):
        made(ONE["x ** -1"])(np.array([1, 2]))
    op = made(lambda m, w, x: w**x, "w, x")
    assert_like(op(np.array([2, 3]), np.array([3, 0])), np.array([8, 1]))
    with pytest.raises(InputValueError, match=r"exponents expected ≥ 0 .*got -2.*; write"):
        op(np.array([2, 3]), np.array([3, -2]))


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "text", ["2.0 * x", "x / 2", "x ** 0.5", "abs(x) * 2.0", "where(x > 2, x, 1.5)", "where(x > 2.5, x, x)"]
)
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_a_whole_number_that_becomes_a_float_is_held_or_refused(text, dtype):
    with pytest.raises(InputValueError, match=f"input 'x' expected whole numbers that float64 holds.*got {BIG}"):
        made(ONE[text])(np.array([BIG], dtype))


@pytest.mark.parametrize("text", ["where(x > 2, 1.0, 0.0)", "2 * x", "where(x > 2, x, 1)", "abs(x)"])
def test_a_whole_number_that_stays_one_is_taken_whatever_its_size(text):
    assert_like(made(ONE[text])(np.array([BIG])), by_numpy(ONE[text], np.array([BIG])))


def test_a_literal_or_attribute_that_becomes_a_float_is_held_or_refused():
    x = np.array([1])
    assert_like(made(lambda m, x: x + BIG)(x), x + BIG)
    with pytest.raises(AttributeValueError, match=f"constants expected to be whole numbers that float64.*got {BIG}"):
        made(lambda m, x: 0.5 * x + BIG)(x)

    @opsdk.elementwise("test_whole::shifted(Tensor x, *, int n=0) -> Tensor y")
    def shifted(x, n):
        return 0.5 * x + n

    with pytest.raises(AttributeValueError, match=f"attribute 'n': expected a whole number that float64.*got {BIG}"):
        shifted(x, n=BIG)


# -- identity, text, rules ---------------------------------------------------------------------------------------------


def test_a_whole_literal_and_a_float_make_two_ops():
    one = made(lambda m, x: 2 * x)
    other = made(lambda m, x: 2.0 * x)
    assert one.opdef.more[1] != other.opdef.more[1]
    same = [made(lambda m, x, by=by: by * x).opdef.more[1] for by in (2.0, 2.0)]
    assert same[0] == same[1]


def test_explain_tells_numbers_as_they_are_written_beside_whole_numbers():
    op = made(lambda m, x: 2.0 * x + 3 - x * -1 + np.float32(1))
    assert "y = 2.0 * x + 3 - x * (-1) + np.float32(1.0)" in str(opsdk.explain(op, np.ones(1, np.uint8)))
    assert "y = 2 * x + 3 + x + 1" in str(opsdk.explain(op, np.ones(1)))


def test_the_rule_tells_the_dtype_without_a_run():
    op = made(ONE["2.0 * x"])
    for dtype, expected in (("uint8", "float32"), ("bool", "float32"), ("float64", "float64"), ("float16", "float16")):
        (spec,) = op.opdef.infer(op.opdef.schema, [TensorSpec((None, 3), np.dtype(dtype))], {})
        assert (spec.shape, spec.dtype.name) == ((None, 3), expected)


def test_rows_of_whole_numbers_are_computed_in_float32():
    @opsdk.rowwise("test_whole::doubled(Tensor x) -> (Tensor y, Tensor z)")
    def doubled(x):
        return 2 * x + 300, 2.0 * vmath.row_sum(x)

    for dtype in DTYPES:
        x = np.array([[1, 0], [1, 1]], dtype)
        y, z = doubled(x)
        assert_like(y, rounded(2.0 * x + 300.0))
        assert_like(z, 2.0 * x.sum(-1).astype(np.float32))
