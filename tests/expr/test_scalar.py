"""The reference of an elementwise op: NumPy, step by step, in one dtype."""

import cmath
import math

import ml_dtypes
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import GradientMissingError
from opsdk.expr.scalar import ScalarFunction, static_of, without_derivative, without_meaning
from opsdk.expr.symbol import apply
from opsdk.expr.trace import trace

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64")]


def scalar(function, inputs=("x",), attrs=(), outputs=1):
    def make(static):
        fixed = dict(static)
        symbols = [name for name in attrs if name not in fixed]
        return trace(lambda *args, **given: function(*args, **given, **fixed), inputs, symbols, "op 'f'", outputs)

    return ScalarFunction("f", inputs, attrs, make)


def test_attributes_that_are_no_numbers_decide_the_expression():
    attrs = {"a": 1.5, "n": 2, "flag": True, "mode": "fast", "low": None, "mask": (True, False)}
    assert static_of(attrs) == (("flag", True), ("mode", "fast"), ("low", None), ("mask", (True, False)))


def test_each_combination_of_static_attributes_is_read_once():
    seen = []

    def f(x, *, flag):
        seen.append(flag)
        return x if flag else -x

    read = scalar(f, attrs=["flag"])
    x = np.array([1.0, 2.0])
    values = [read(x, flag=flag).tolist() for flag in (True, False, True)]
    assert (values, seen) == ([[1.0, 2.0], [-1.0, -2.0], [1.0, 2.0]], [True, False])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, *, a: apply("where", x > 0, 1.0, 0.0) * x, [0.0, 0.0, 2.0]),
        (lambda x, *, a: apply("where", x > 0, a, 0.0), [0.0, 0.0, 4.0]),
        (lambda x, *, a: (a * 0.5) * x, [-4.0, 0.0, 4.0]),
        (lambda x, *, a: x + apply("exp", a - 4.0) / 2.0, [-1.5, 0.5, 2.5]),
        (lambda x, *, a: apply("where", a > 1.0, x, -x), [-2.0, 0.0, 2.0]),
        (lambda x, *, a: a, [4.0, 4.0, 4.0]),
        (lambda x, *, a: 3.0, [3.0, 3.0, 3.0]),
    ],
)
def test_the_dtype_of_the_arrays_stays_whatever_numbers_stand_beside(dtype, function, expected):
    value = scalar(function, attrs=["a"])(np.array([-2.0, 0.0, 2.0], dtype), a=4.0)
    assert (value.dtype, value.astype(float).tolist()) == (dtype, expected)


def test_numbers_are_computed_with_in_the_dtype_of_the_arrays():
    value = scalar(lambda x, *, a: x * (a + 1e-9 - a), attrs=["a"])(np.ones(1, np.float32), a=1.0)
    assert value.tolist() == [0.0]  # 1 + 1e-9 is 1 in float32, as it is in the compiled kernel


def test_complex_arrays_stay_complex_of_their_size():
    value = scalar(lambda x, *, a: x * (a * 2.0), attrs=["a"])(np.array([1 + 2j], np.complex64), a=0.5)
    assert (value.dtype, value.tolist()) == (np.dtype("complex64"), [1 + 2j])


def test_mixed_dtypes_are_computed_in_their_common_one():
    x, y = np.array([0.1], np.float32), np.array([1e-12])
    value = scalar(lambda x, y: x * x + y, ["x", "y"])(x, y)
    assert (value.dtype, value[0]) == (np.float64, np.float64(x[0]) ** 2 + 1e-12)


def test_whole_numbers_beside_floats_do_not_overflow():
    x, y = np.array([2**24], np.int32), np.array([0.0], np.float32)
    assert scalar(lambda x, y: x * x + y, ["x", "y"])(x, y).tolist() == [2.0**48]


def test_truth_values_beside_floats_are_numbers():
    flag, y = np.array([True, False]), np.array([0.5, 0.5], np.float32)
    value = scalar(lambda f, y: f + f + y, ["f", "y"])(flag, y)
    assert (value.dtype, value.tolist()) == (np.float32, [2.5, 0.5])


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64", "bool"])
def test_whole_numbers_become_float32_where_the_function_needs_it(dtype):
    value = scalar(lambda x: apply("exp", x) * 0.5)(np.array([0, 1], dtype))
    assert (value.dtype, value.tolist()) == (np.float32, [0.5, np.float32(np.exp(1.0) * 0.5)])


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "int64"])
def test_whole_numbers_stay_where_the_function_keeps_them(dtype):
    value = scalar(lambda x: apply("where", x > 1, 2 * x, 0) + 1)(np.array([1, 3], dtype))
    assert (value.dtype, value.tolist()) == (np.dtype(dtype), [1, 7])


def test_another_byte_order_is_read_right_and_gives_the_machines_own():
    value = scalar(lambda x: x * 2.0)(np.array([1.5, -3.0], ">f4"))
    assert (value.dtype.isnative, value.tolist()) == (True, [3.0, -6.0])


@pytest.mark.parametrize("function", [lambda x, y: x, lambda x, y: 1.0 * y, lambda x, y: apply("maximum", x, x)])
def test_a_result_is_a_new_array_of_the_full_shape(function):
    x, y = np.ones((3, 1)), np.ones(2)
    value = scalar(function, ["x", "y"])(x, y)
    assert (value.shape, value.flags.writeable, value.flags.c_contiguous) == ((3, 2), True, True)
    assert not np.shares_memory(value, x)
    assert not np.shares_memory(value, y)


def test_two_results_that_are_one_expression_are_two_arrays():
    first, second = scalar(lambda x: (x * x, x * x), outputs=2)(np.array([3.0]))
    assert (first.tolist(), second.tolist(), np.shares_memory(first, second)) == ([9.0], [9.0], False)


def test_zero_dimensional_and_empty_arrays_keep_their_shape():
    f = scalar(lambda x, y: x - y, ["x", "y"])
    assert f(np.array(3.0), np.array(1.0)).shape == ()
    assert f(np.zeros((0, 3)), np.zeros(3)).shape == (0, 3)


def test_infinity_and_nan_are_values_and_no_warnings():
    value = scalar(lambda x: 1.0 / x + apply("log", x))(np.array([0.0, -1.0]))
    assert np.isnan(value).all()


@pytest.mark.parametrize("pair", [([0.0], [-0.0]), ([1], [1.0]), ([True], [1]), ([[2.0, 0.0]], [[2.0, -0.0]])])
def test_lists_that_compare_equal_and_are_written_otherwise_decide_otherwise(pair):
    first, second = (static_of({"k": values}) for values in pair)
    assert first != second
    assert first == static_of({"k": list(pair[0])})
    assert len({first: 0, second: 1, static_of({"k": list(pair[1])}): 2}) == 2


def test_a_list_of_nans_is_one_combination():
    assert static_of({"k": [float("nan")]}) == static_of({"k": [-float("inf") + float("inf")]})


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_the_sign_of_a_zero_in_a_list_reaches_the_result_and_the_gradient(first):
    @opsdk.elementwise("test_scalar::over(Tensor x, *, float[] k = [1.0]) -> Tensor y", replace=True)
    def over(x, *, k):
        return x / k[0]

    x = np.array([1.0, 2.0])
    with np.errstate(all="ignore"):
        for zero in (first, -first):
            want = np.copysign(np.inf, zero)
            assert over(x, k=[zero]).tolist() == [want, want]
            t = opsdk.to_tensor(x, stop_gradient=False)
            over(t, k=[zero]).sum().backward()
            assert t.grad.numpy().tolist() == [want, want]


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_the_sign_of_a_zero_in_a_list_reaches_the_rows(first):
    @opsdk.rowwise("test_scalar::row_over(Tensor x, *, float[] k = [1.0]) -> Tensor y", replace=True)
    def row_over(x, *, k):
        return x / k[0]

    for zero in (first, -first):
        assert row_over(np.ones((1, 2)), k=[zero]).tolist() == [[np.copysign(np.inf, zero)] * 2]


@pytest.mark.parametrize("first", [complex(-1, 0.0), complex(-1, -0.0)])
@pytest.mark.parametrize("kind", ["complex", "complex?"])
@pytest.mark.parametrize("decorator", [opsdk.elementwise, opsdk.rowwise])
def test_the_sign_of_a_zero_in_a_complex_number_reaches_the_result_and_the_gradient(decorator, kind, first):
    @decorator(f"test_scalar::turned(Tensor x, *, {kind} k = 1.0) -> Tensor y", replace=True)
    def turned(x, *, k):
        return x * cmath.phase(k)

    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        data = opsdk.static.data("data", [1, 2], "float64")
        variables = [turned(data, k=k) for k in (first, first.conjugate())]
    ran = opsdk.static.Executor().run(program, feed={"data": np.ones((1, 2))}, fetch_list=variables)
    for k, in_program in zip((first, first.conjugate()), ran, strict=True):
        want = [[math.copysign(math.pi, k.imag)] * 2]
        assert turned(np.ones((1, 2)), k=k).tolist() == in_program.tolist() == want
        t = opsdk.to_tensor(np.ones((1, 2)), stop_gradient=False)
        turned(t, k=k).sum().backward()
        assert t.grad.numpy().tolist() == want


def test_lists_and_complex_numbers_reach_the_function_as_plain_values():
    @opsdk.elementwise("test_scalar::same(Tensor x, *, float[] a=[0.0], float[] b=[0.0], complex c=0.0) -> Tensor y")
    def same(x, *, a, b, c):
        return x * (1.0 if a == b and c == 0 and type(c) is complex and type(a) is tuple else 2.0)

    assert same(np.ones(1), a=[0.0], b=[-0.0], c=complex(0.0, -0.0)).tolist() == [1.0]


Z = np.array([1 + 2j, -0.5 + 1j, 0.3 - 2j])


def outputs(function, names=("x", "y"), attrs=("k",)):
    return trace(function, names, attrs, "op 'planted::f'").outputs


@pytest.mark.parametrize(
    ("function", "by"),
    [
        (lambda x, y, k: vmath.exp(x) / (1 + y * y), None),
        (lambda x, y, k: vmath.where(x == 0, 1.0, vmath.sin(x) / x) + y, None),
        (lambda x, y, k: vmath.where(vmath.maximum(k, 0.0) > 1, x, y), None),
        (lambda x, y, k: x * abs(y), "abs"),
        (lambda x, y, k: vmath.where(x > 0, x, y), "gt"),
        (lambda x, y, k: vmath.maximum(vmath.exp(x), y), "maximum"),
        (lambda x, y, k: vmath.erf(x) + y, "erf"),
    ],
)
def test_what_keeps_an_expression_from_being_holomorphic_is_named(function, by):
    assert without_derivative(outputs(function)) == by


def test_what_has_no_value_for_complex_numbers_is_named():
    assert without_meaning(outputs(lambda x, y, k: vmath.softplus(x) + y)) == "softplus"
    assert without_meaning(outputs(lambda x, y, k: vmath.softplus(k) * x + abs(y))) is None


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_every_order_are_conjugated_once(order):
    op = opsdk.elementwise(lambda x: x * x * vmath.exp(x), name=f"square_exp_{order}")
    z = opsdk.to_tensor(Z, stop_gradient=False)
    value = op(z)
    for step in range(order):
        (value,) = opsdk.grad(value, z, opsdk.to_tensor(np.ones_like(Z)), create_graph=step + 1 < order)
    # of z² exp z: for a real cotangent, that of conj(f') is that of Re f', so conj(f″)
    want = {1: Z**2 + 2 * Z, 2: Z**2 + 4 * Z + 2, 3: Z**2 + 6 * Z + 6}[order] * np.exp(Z)
    np.testing.assert_allclose(value.numpy(), np.conj(want), rtol=1e-13)


def test_a_gradient_op_called_by_itself_has_the_convention_too():
    square = opsdk.elementwise(lambda x: x * x, name="square_alone")
    dy = np.array([1j, 2.0, 1 - 1j])
    np.testing.assert_allclose(square.grad(Z, dy), dy * np.conj(2 * Z))


def test_attributes_that_choose_another_expression_choose_whether_it_has_a_derivative():
    def held(x, *, is_bounded: bool = False):
        return vmath.maximum(x, 0.0) if is_bounded else 2.0 * x

    op = opsdk.elementwise(held, name="held_or_not")
    z = opsdk.to_tensor(Z, stop_gradient=False)
    opsdk.abs(op(z)).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * Z / np.abs(Z))
    with pytest.raises(GradientMissingError, match="expected real numbers, since maximum has no complex derivative"):
        opsdk.abs(op(z, is_bounded=True)).sum().backward()


def test_an_expression_that_is_not_holomorphic_is_refused_with_its_remedy():
    op = opsdk.elementwise(lambda x: x / (1 + abs(x)), name="softsign_refused")
    z = opsdk.to_tensor(Z, stop_gradient=False)
    y = op(z)
    message = "got complex ones: abs has no complex derivative; give the op a complex_backward"
    with pytest.raises(GradientMissingError, match=message):
        opsdk.abs(y).sum().backward()
    np.testing.assert_allclose(op(Z), Z / (1 + np.abs(Z)))


def test_a_complex_backward_serves_complex_tensors_and_the_derived_gradient_real_ones():
    def backward(x, dy):
        r = opsdk.abs(x)
        along = opsdk.real(opsdk.conj(dy) * x) / (r * (1 + r) * (1 + r))
        return dy / (1 + r) - along * x

    op = opsdk.elementwise(lambda x: x / (1 + abs(x)), name="softsign_complex", complex_backward=backward)
    x = opsdk.to_tensor(np.array([2.0, -1.0]), stop_gradient=False)
    op(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 9, 1 / 4])
    report = opsdk.verify(op, samples=[opsdk.Sample(Z)])
    assert report.findings == ()
    assert {"complex", "complex2"} <= set(report.coverage.checks)


def test_row_expressions_are_conjugated_alike():
    center = opsdk.rowwise(lambda x: x * x - vmath.row_mean(x * x), name="center_squares")
    z = opsdk.to_tensor(Z[np.newaxis], stop_gradient=False)
    dy = np.array([[1 + 1j, 0, 0]])
    (gradient,) = opsdk.grad(center(z), z, opsdk.to_tensor(dy))
    np.testing.assert_allclose(gradient.numpy(), (dy - dy.mean()) * np.conj(2 * Z))
    top = opsdk.rowwise(lambda x: x - vmath.row_max(x), name="below_the_top")
    with pytest.raises(GradientMissingError, match="row_max has no complex derivative"):
        opsdk.abs(top(z)).sum().backward()
