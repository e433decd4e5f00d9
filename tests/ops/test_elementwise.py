import math

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError
from opsdk.ops import elementwise, logical


def gradients(op, x, y):
    """The gradients of one binary call, through the tape, for a cotangent of ones."""
    tensors = [opsdk.to_tensor(value, stop_gradient=False) for value in (x, y)]
    return [found.numpy() for found in opsdk.grad(op(*tensors), tensors)]


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (elementwise.elementwise_add, np.add),
        (elementwise.elementwise_sub, np.subtract),
        (elementwise.elementwise_mul, np.multiply),
        (elementwise.elementwise_div, np.divide),
        (elementwise.elementwise_max, np.maximum),
        (elementwise.elementwise_min, np.minimum),
        (elementwise.elementwise_pow, np.power),
    ],
)
@pytest.mark.parametrize(
    "shapes",
    [((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5)), ((), (4,)), ((), ()), ((0, 4), (4,)), ((2, 0), (1, 1))],
)
def test_values_and_shapes_are_numpys(op, function, shapes, rng):
    x, y = (rng.uniform(0.5, 2, shape) for shape in shapes)
    result = op(x, y)
    np.testing.assert_array_max_ulp(result, function(x, y), maxulp=1 if op is elementwise.elementwise_pow else 0)
    assert result.shape == np.broadcast_shapes(*shapes)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="broadcast"):  # opsdk's own sentence at the first call, NumPy's after it
        elementwise.elementwise_add(np.zeros(3), np.zeros(4))


def test_dtypes_are_promoted_and_each_gradient_has_its_own():
    x, y = np.ones(3, np.float32), np.full((2, 3), 2.0)
    assert elementwise.elementwise_mul(x, y).dtype == np.float64
    dx, dy = gradients(elementwise.elementwise_mul, x, y)
    assert (dx.dtype, dx.shape) == (np.float32, (3,))
    assert (dy.dtype, dy.shape) == (np.float64, (2, 3))
    np.testing.assert_array_equal(dx, [4, 4, 4])


def test_gradients_are_summed_over_what_was_broadcast():
    dx, dy = gradients(elementwise.elementwise_sub, np.zeros((2, 3)), np.zeros((2, 1)))
    np.testing.assert_array_equal(dx, np.ones((2, 3)))
    np.testing.assert_array_equal(dy, [[-3], [-3]])


def test_division_by_zero_gives_inf_or_nan_without_a_warning():
    np.testing.assert_array_equal(
        elementwise.elementwise_div(np.array([1.0, -1.0, 0.0]), np.zeros(3)), [np.inf, -np.inf, np.nan]
    )


def test_integers_divide_to_floats():
    np.testing.assert_array_equal(elementwise.elementwise_div(np.array([1, 3]), np.array([2, 2])), [0.5, 1.5])


def test_where_two_tie_the_first_takes_the_gradient():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    np.testing.assert_array_equal(gradients(elementwise.elementwise_max, x, y), [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(gradients(elementwise.elementwise_min, x, y), [[1, 1, 0], [0, 0, 1]])


def test_pow_at_its_edges_without_a_warning():
    x, y = np.array([0.0, -8.0, 1e300, 0.0]), np.array([0.0, 1 / 3, 2.0, -1.0])
    np.testing.assert_array_equal(elementwise.elementwise_pow(x, y), [1, np.nan, np.inf, np.inf])


@pytest.mark.parametrize("exponent_too", [False, True])
@pytest.mark.parametrize(
    ("exponent", "orders"),
    [(2.0, [0.0, 2.0, 0.0]), (3.0, [0.0, 0.0, 6.0]), (4.0, [0.0, 0.0, 0.0])],
)
def test_derivatives_of_pow_in_a_base_of_0_do_not_mind_an_exponent_that_needs_one(exponent, orders, exponent_too):
    x = opsdk.to_tensor(np.array([0.0, 0.5]), stop_gradient=False)
    y = opsdk.to_tensor(np.array([exponent, exponent]), stop_gradient=not exponent_too)
    here = elementwise.elementwise_pow(x, y)
    for value in orders:
        (here,) = opsdk.grad(here.sum(), x, create_graph=True)
        assert here.numpy()[0] == value


def test_the_gradient_of_pow_is_finite_where_the_derivative_is():
    dx, dy = gradients(elementwise.elementwise_pow, np.array([0.0, 0.0, 2.0]), np.array([2.0, 1.0, 0.0]))
    np.testing.assert_allclose(dx, [0, 1, 0])
    np.testing.assert_allclose(dy, [0, 0, np.log(2)])


def test_the_gradient_of_zero_to_the_zero_is_zero_in_the_base():
    dx, _ = gradients(elementwise.elementwise_pow, np.array([0.0]), np.array([0.0]))
    np.testing.assert_array_equal(dx, [0])


def test_a_gradient_that_nobody_asks_for_is_not_computed():
    x, y = opsdk.to_tensor([-1.0], stop_gradient=False), opsdk.to_tensor([2.0])
    (dx,) = opsdk.grad(elementwise.elementwise_pow(x, y), x)  # the other one would be the logarithm of -1
    np.testing.assert_array_equal(dx.numpy(), [-2])


def test_scale_multiplies_and_adds_in_the_dtype_of_x():
    x = np.array([1.0, -2.0], np.float32)
    result = elementwise.scale(x, scale=2.0, bias=1.0)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [3, -3])


def test_scale_keeps_integers_and_the_sign_of_zero():
    np.testing.assert_array_equal(elementwise.scale(np.array([1, -2]), scale=2.0, bias=1.0), np.array([3, -3]))
    assert elementwise.scale(np.array([1, -2]), scale=2.0).dtype.kind == "i"
    zeros = elementwise.scale(np.array([0.0, -0.0]), scale=-1.0)
    assert np.signbit(zeros).tolist() == [True, False]
    assert np.signbit(elementwise.scale(zeros, scale=2.0, bias=-0.0)).tolist() == [True, False]
    assert np.signbit(elementwise.scale(zeros, scale=2.0, bias=0.0)).tolist() == [False, False]  # as IEEE 754 adds


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("of", ["tensors", "Program"])
def test_zero_is_added_and_subtracted_with_its_sign(dtype, of):
    zeros = np.array([0.0, -0.0]).astype(opsdk.TensorSpec([], dtype).dtype)
    formulas = [
        lambda x: x + 0.0, lambda x: x - 0.0, lambda x: 0.0 - x, lambda x: -0.0 - x, lambda x: x + -0.0,
        lambda x: 0.0 + x, lambda x: x * 2.0, lambda x: -x, lambda x: x * 2.0 + 0.0,
    ]  # fmt: skip
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        x = opsdk.to_tensor(zeros) if of == "tensors" else opsdk.static.data("x", [2], dtype)
        made = [f(x) for f in formulas]
    if of == "Program":
        made = opsdk.static.Executor().run(main, feed={"x": zeros}, fetch_list=made)
    wide = zeros.astype(float)
    assert [np.signbit(np.asarray(y).astype(float)).tolist() for y in made] == [
        np.signbit(f(wide)).tolist() for f in formulas
    ]


@opsdk.elementwise("tiny::power(Tensor x, *, float k=2.0) -> Tensor")
def power(x, *, k):
    return x**k


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-20), ("float32", 1e-39), ("float64", 1e-160)])
@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("of", ["operator", "attribute", "tensor"])
def test_whole_powers_of_tiny_numbers_have_finite_derivatives_of_every_order(dtype, tiny, k, of):
    values = np.array([0.0, tiny, -tiny, 1.0], dtype)
    x = opsdk.to_tensor(values, stop_gradient=False)
    exponents = opsdk.to_tensor(np.full(4, k, dtype))
    y = x ** float(k) if of == "operator" else power(x, k=float(k)) if of == "attribute" else x**exponents
    with np.errstate(over="ignore", under="ignore"):
        for order in range(4):
            wanted = values ** max(k - order, 0) * math.perm(k, order)  # k (k - 1) … xᵏ⁻ⁿ, by hand
            np.testing.assert_array_equal(y.numpy(), wanted.astype(dtype))
            (y,) = opsdk.grad(y.sum(), x, create_graph=True)


def test_mixed_derivatives_of_a_zeroth_power_stay():
    x = opsdk.to_tensor(np.array([0.5, 1e-100]), stop_gradient=False)
    k = opsdk.to_tensor(np.zeros(2), stop_gradient=False)
    (dx,) = opsdk.grad((x**k).sum(), x, create_graph=True)
    (mixed,) = opsdk.grad(dx.sum(), k, create_graph=True)  # d/dk k xᵏ⁻¹ = 1/x at 0
    np.testing.assert_allclose(mixed.numpy(), [2.0, 1e100], rtol=1e-14)
    (twice,) = opsdk.grad(dx.sum(), x, create_graph=True)
    (mixed,) = opsdk.grad(twice.sum(), k)  # d/dk k (k - 1) xᵏ⁻² = -1/x² at 0
    np.testing.assert_allclose(mixed.numpy(), [-4.0, -1e200], rtol=1e-14)


TINY = [("float32", 1e-40), ("float64", 5e-310), ("float32", 0.0), ("float64", -0.0)]


@pytest.mark.parametrize(("dtype", "tiny"), TINY)
@pytest.mark.parametrize("exponent", [0, 0.0, np.zeros(2)])
def test_the_zeroth_power_has_the_derivative_0_at_bases_of_which_the_reciprocal_is_infinite(dtype, tiny, exponent):
    x = opsdk.to_tensor(np.array([tiny, 1.0], dtype), stop_gradient=False)
    y = x ** (exponent.astype(dtype) if isinstance(exponent, np.ndarray) else exponent)
    y.sum().backward()
    assert y.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (elementwise.elementwise_add, np.add),
        (elementwise.elementwise_sub, np.subtract),
        (elementwise.elementwise_mul, np.multiply),
        (elementwise.elementwise_max, np.maximum),
        (elementwise.elementwise_min, np.minimum),
        (elementwise.elementwise_pow, np.power),
    ],
)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "complex128"])
def test_other_dtypes_are_computed_by_numpy(op, function, dtype):
    x, y = np.array([[1, 2], [3, 7]], dtype), np.array([2, 3], dtype)
    result = op(x, y)
    assert result.dtype == function(x, y).dtype
    np.testing.assert_array_equal(result, function(x, y))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32_and_rounded_once(dtype):
    x = np.linspace(0.1, 3.0, 30).astype(opsdk.core.dtype.as_dtype(dtype))
    y = x[::-1].copy()
    exact = x.astype(np.float64) / y.astype(np.float64)
    np.testing.assert_array_equal(elementwise.elementwise_div(x, y), exact.astype(np.float32).astype(x.dtype))


def test_second_derivatives_of_a_broadcast_product_are_summed_to_their_inputs():
    x, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0])
    tensors = [opsdk.to_tensor(value, stop_gradient=False) for value in (x, b)]
    z = (tensors[0] * tensors[1] * tensors[1]).sum()  # Σ x b²
    (db,) = opsdk.grad(z, tensors[1], create_graph=True)
    dbx, dbb = opsdk.grad(db.sum(), tensors, create_graph=True)
    np.testing.assert_array_equal(db.numpy(), 2 * b * x.sum(axis=0))
    np.testing.assert_array_equal(dbx.numpy(), 2 * np.broadcast_to(b, x.shape))
    np.testing.assert_array_equal(dbb.numpy(), 2 * x.sum(axis=0))
    (dbbx,) = opsdk.grad(dbb.sum(), tensors[0])
    np.testing.assert_array_equal(dbbx.numpy(), np.full((2, 2), 2.0))


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_second_derivative_of_one_factor_alone(wanted):
    values = [opsdk.to_tensor([2.0, 3.0]), opsdk.to_tensor([5.0, 7.0])]
    values[wanted].stop_gradient = False
    x = values[wanted]
    z = (values[0] * values[1] * x).sum()
    (first,) = opsdk.grad(z, x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    np.testing.assert_array_equal(second.numpy(), 2 * values[1 - wanted].numpy())


def test_the_negative_of_bools_is_refused_as_numpy_refuses_it():
    for value in (np.array([True]), opsdk.to_tensor([True, False])):
        with pytest.raises(DTypeError, match=r"op 'opsdk::scale': x expected numbers, got bool; cast it"):
            elementwise.scale(value, scale=-1.0)
    with pytest.raises(DTypeError, match="got bool"):
        _ = -opsdk.to_tensor([True])


def test_the_negative_is_numpys_for_numbers_without_a_sign_and_for_complex_infinities():
    for x in (np.array([0, 1, 255], np.uint8), np.array([complex(np.inf, 1), complex(0.0, -0.0)])):
        made = (-opsdk.to_tensor(x)).numpy()
        np.testing.assert_array_equal(made, -x, strict=True)
        np.testing.assert_array_equal(np.signbit(made.imag), np.signbit((-x).imag))


@pytest.mark.parametrize("attrs", [{"scale": 2.5}, {"bias": 0.5}, {"scale": np.inf}, {"bias": 1e300}])
def test_whole_numbers_are_scaled_by_whole_numbers(attrs):
    assert elementwise.scale(np.array([3]), scale=2.0, bias=1.0) == 7
    with pytest.raises(AttributeValueError, match=r"scale': .* expected a whole number below 2\*\*53 beside int64"):
        elementwise.scale(np.array([3]), **attrs)


@pytest.mark.parametrize("call", [opsdk.maximum, opsdk.minimum])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_where_an_operand_is_nan_the_extreme_is_nan_and_neither_gets_a_gradient(call, dtype):
    a = opsdk.to_tensor([np.nan, 1.0, np.nan], dtype, stop_gradient=False)
    b = opsdk.to_tensor([1.0, np.nan, np.nan], dtype, stop_gradient=False)
    made = call(a, b)
    assert np.isnan(made.numpy()).all()
    made.sum().backward()
    assert a.grad.tolist() == b.grad.tolist() == [0, 0, 0]


def test_the_difference_of_bools_is_refused():
    b = np.array([True, False])
    for call in (lambda: elementwise.elementwise_sub(b, b), lambda: opsdk.to_tensor(b) - opsdk.to_tensor(b)):
        with pytest.raises(DTypeError, match="elementwise_sub': x and y expected numbers, got bool; cast one of them"):
            call()
    assert (opsdk.to_tensor(b) - 1).tolist() == [0, -1]


def test_a_whole_number_to_a_negative_power_is_refused():
    with pytest.raises(InputValueError, match="_pow': y expected exponents ≥ 0 beside whole numbers, got -1;"):
        opsdk.to_tensor([2, 3]) ** -1
    assert (opsdk.to_tensor([2.0]) ** -1).tolist() == [0.5]
    assert (opsdk.to_tensor(np.zeros(0, "int64")) ** np.zeros(0, "int64")).tolist() == []


X, Y = np.array([1.0, 2.0, np.nan, 3.0]), np.array([1.0, 3.0, np.nan, 2.0])


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (logical.equal, [True, False, False, False]),
        (logical.not_equal, [False, True, True, True]),
        (logical.less_than, [False, True, False, False]),
        (logical.less_equal, [True, True, False, False]),
        (logical.greater_than, [False, False, False, True]),
        (logical.greater_equal, [True, False, False, True]),
    ],
)
def test_comparisons_are_bool_and_nan_equals_nothing(op, expected):
    result = op(X, Y)
    assert result.dtype == bool
    np.testing.assert_array_equal(result, expected)


def test_comparisons_broadcast():
    assert logical.less_than(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)


def test_logical_not_is_true_where_there_is_zero():
    np.testing.assert_array_equal(logical.logical_not(np.array([0.0, 0.5, -0.0])), [True, False, True])


def test_a_comparison_carries_no_gradient():
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    assert logical.equal(x, x).stop_gradient


NAMES = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_that_a_comparison_with_floats_would_round_are_refused(name, dtype):
    whole, real = np.array([3, 2**53 + 1], dtype), np.array([3.0, 2.0**53])
    for left, right, side in ((whole, real, "x"), (real, whole, "y"), (whole, real.astype("float32"), "x")):
        with pytest.raises(InputValueError, match=rf"op 'opsdk::{name}': input '{side}' expected whole .* float64"):
            getattr(logical, name)(left, right)
        with pytest.raises(InputValueError, match=f"got {2**53 + 1}; cast it"):
            getattr(logical, name)(opsdk.to_tensor(left), opsdk.to_tensor(right))


@pytest.mark.parametrize("name", NAMES)
def test_whole_numbers_that_float64_holds_are_compared_with_floats(name):
    whole, real = np.array([3, 2**53, -(2**62)]), np.array([2.5, 2.0**53, 0.0])
    expected = {"equal": [0, 1, 0], "not_equal": [1, 0, 1], "less_than": [0, 0, 1], "less_equal": [0, 1, 1],
                "greater_than": [1, 0, 0], "greater_equal": [1, 1, 0]}  # fmt: skip
    assert getattr(logical, name)(whole, real).tolist() == [bool(value) for value in expected[name]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("dtype", "number"), [("float32", 2**24 + 1), ("float64", 2**53 + 1)])
def test_a_python_int_that_the_floats_beside_it_would_round_is_refused(name, dtype, number):
    with pytest.raises(DTypeError, match=f"expected a whole number that {dtype} holds, got {number}; write it as a"):
        getattr(logical, name)(opsdk.to_tensor(np.zeros(2, dtype)), number)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_16_bits_are_compared_with_a_whole_number_as_it_is(dtype):
    x = opsdk.to_tensor([2048.0, 4096.0]).astype(dtype)
    assert (x == 2049).tolist() == [False, False]
    assert (x < 2049).tolist() == [True, False]
    assert (x >= 2049).tolist() == [False, True]


DIVIDED = np.array([1.0, -1.0, 5.5, 7.0, -3.0, 0.3]), np.array([0.1, 0.1, np.inf, -0.7, np.inf, 0.1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_quotients_and_remainders_are_exact_as_python_has_them(dtype):
    x, y = (values.astype(dtype) for values in DIVIDED)
    for ours, pythons in ((elementwise.floor_divide, lambda a, b: a // b), (elementwise.remainder, lambda a, b: a % b)):
        wanted = [pythons(float(a), float(b)) for a, b in zip(x, y, strict=True)]
        for made in (ours(x, y), ours(opsdk.to_tensor(x), opsdk.to_tensor(y)).numpy()):
            assert made.dtype == dtype
            np.testing.assert_allclose(made, wanted, rtol=1e-6)


def test_the_derivative_of_a_remainder_is_how_often_the_divisor_fits():
    x, y = (opsdk.to_tensor([7.0, -7.0, 1.0], "float64", stop_gradient=False) for _ in "xy")
    y.set_value([2.0, 2.0, 0.1])
    (x % y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0, 1.0, 1.0], [-3.0, 4.0, -9.0])


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_complex_numbers_have_no_whole_quotient(name):
    with pytest.raises(DTypeError, match=f"op 'opsdk::{name}': y expected real numbers, got complex128"):
        getattr(opsdk, name)(np.array([1.0]), np.array([2.0 + 1j]))
