import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.define.kernel.kernel import REFERENCE
from opsdk.ops import activation, elementary

OPS = {
    elementary.sin: (mpmath.sin, (-7.3, -0.4, 0.0, 2.1)),
    elementary.cos: (mpmath.cos, (-7.3, -0.4, 0.0, 2.1)),
    elementary.tan: (mpmath.tan, (-1.3, -0.4, 0.0, 1.1)),
    elementary.erf: (mpmath.erf, (-2.3, -0.4, 0.0, 1.1)),
    elementary.rsqrt: (lambda x: 1 / mpmath.sqrt(x), (0.2, 1.0, 7.3)),
    elementary.reciprocal: (lambda x: 1 / x, (-2.3, 0.2, 7.3)),
    elementary.expm1: (mpmath.expm1, (-2.3, 1e-9, 3.1)),
    elementary.log1p: (mpmath.log1p, (-0.6, 1e-9, 7.3)),
}


def gradient(op, x, *cotangent, **attrs):
    """The gradient of one call on one array, through the tape."""
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    (found,) = opsdk.grad(op(tensor, **attrs), tensor, *(opsdk.to_tensor(c) for c in cotangent))
    return found.numpy()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_value_and_two_derivatives_are_those_of_the_book(op):
    function, points = OPS[op]
    x = opsdk.to_tensor(np.array(points), stop_gradient=False)
    y = op(x)
    (first,) = opsdk.grad(y.sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    for order, found in enumerate((y, first, second)):
        expected = [float(mpmath.diff(function, mpmath.mpf(point), order)) for point in points]
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_integers_give_float32_and_float64_stays(op):
    assert op(np.array([1, 2, 3])).dtype == np.float32
    assert op(np.array([0.5], np.float64)).dtype == np.float64


def test_values_outside_of_the_domain_are_nan_or_infinite_without_a_warning():
    np.testing.assert_array_equal(elementary.rsqrt(np.array([0.0, -1.0])), [np.inf, np.nan])
    np.testing.assert_array_equal(elementary.reciprocal(np.array([0.0, -0.0])), [np.inf, -np.inf])
    np.testing.assert_array_equal(elementary.log1p(np.array([-1.0, -2.0])), [-np.inf, np.nan])
    np.testing.assert_array_equal(elementary.sin(np.array([np.inf])), [np.nan])


@pytest.mark.parametrize("function", [np.sin, np.cos, np.tan, np.expm1, np.log1p, np.reciprocal])
def test_numpys_own_functions_are_these_ops_on_tensors(function):
    x = opsdk.to_tensor(np.array([0.3, 0.7]), stop_gradient=False)
    y = function(x)
    assert not y.stop_gradient
    np.testing.assert_allclose(y.numpy(), function(x.numpy()), rtol=1e-15)


def test_exp_at_its_edges_without_a_warning():
    x = np.array([-np.inf, -800.0, 0.0, 1.0, 800.0, np.nan])
    np.testing.assert_array_equal(elementary.exp(x), [0, 0, 1, np.e, np.inf, np.nan])


def test_log_at_its_edges_without_a_warning():
    np.testing.assert_array_equal(elementary.log(np.array([1.0, 0.0, -1.0, np.inf])), [0, -np.inf, np.nan, np.inf])


def test_log_undoes_exp(rng):
    x = rng.normal(size=(3, 5))
    np.testing.assert_allclose(elementary.log(elementary.exp(x)), x, atol=1e-15)


def test_zero_d_and_empty_keep_their_shape():
    assert elementary.exp(np.array(0.0)).shape == ()
    assert elementary.log(np.zeros((0, 4))).shape == (0, 4)


def test_sqrt_below_zero_is_nan_without_a_warning():
    np.testing.assert_array_equal(elementary.sqrt(np.array([4.0, 0.0, -1.0])), [2, 0, np.nan])


def test_square_and_abs():
    x = np.array([-3.0, 0.0, 2.0])
    np.testing.assert_array_equal(elementary.square(x), [9, 0, 4])
    np.testing.assert_array_equal(elementary.abs(x), [3, 0, 2])
    np.testing.assert_array_equal(gradient(elementary.abs, x), [-1, 0, 1])


def test_sign_is_minus_one_zero_or_one():
    np.testing.assert_array_equal(elementary.sign(np.array([-5.0, 0.0, 0.1])), [-1, 0, 1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [activation.relu, elementary.sqrt, activation.tanh, activation.sigmoid])
def test_the_dtype_stays(op, dtype):
    assert op(np.array([0.5], dtype)).dtype == dtype


def test_clip_holds_values_inside_and_a_missing_bound_is_none():
    x = np.array([-2.0, 0.5, 2.0, np.nan])
    np.testing.assert_array_equal(elementary.clip(x, min=-1.0, max=1.0), [-1, 0.5, 1, np.nan])
    np.testing.assert_array_equal(elementary.clip(x, min=0.0), [0, 0.5, 2, np.nan])
    np.testing.assert_array_equal(elementary.clip(x), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("low, high", [(None, None), (-1.0, None), (None, 1.0), (-1.0, 1.0), (1.0, -1.0)])
def test_the_reference_of_clip_keeps_every_floating_dtype(dtype, low, high):
    (row,) = [row for row in elementary.clip.opdef.kernels if row.language == REFERENCE]
    x = np.array([-2.0, 0.5, 2.0, np.nan]).astype(as_dtype(dtype))
    made = row.source(x, min=low, max=high)
    assert made.dtype == x.dtype
    np.testing.assert_array_equal(made.astype("float64"), np.clip([-2.0, 0.5, 2.0, np.nan], low, high))


@pytest.mark.parametrize("place", [np.asarray, opsdk.to_tensor])
def test_a_bound_of_clip_beyond_the_dtype_is_infinite_without_a_warning(place):
    x = place(np.array([-np.inf, 1.0, np.inf], "float16"))
    assert np.asarray(elementary.clip(x, min=-1e6, max=1e6)).tolist() == [-np.inf, 1.0, np.inf]


def test_the_bounds_of_clip_count_as_inside():
    x = np.array([-1.5, -1.0, 0.0, 1.0, 1.5])
    np.testing.assert_array_equal(gradient(elementary.clip, x, min=-1.0, max=1.0), [0, 1, 1, 1, 0])


@pytest.mark.parametrize(
    "bounds", [{}, {"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 0.5}, {"min": 0.5, "max": -0.5}]
)
def test_clip_and_its_gradients_in_both_runtimes_for_every_pattern_of_bounds(bounds):
    x = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    inside = np.ones(5)
    inside[x < bounds.get("min", -np.inf)] = 0
    inside[x > bounds.get("max", np.inf)] = 0
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    y = elementary.clip(tensor, **bounds)
    (dx,) = opsdk.grad((y * y).sum(), tensor, create_graph=True)
    (ddx,) = opsdk.grad(dx.sum(), tensor)
    with static.program_guard(static.Program(), static.Program()):
        variable = static.data("x", [5], "float64")
        variable.stop_gradient = False
        out = elementary.clip(variable, **bounds)
        (first,) = static.gradients((out * out).sum(), variable)
        (second,) = static.gradients(first.sum(), variable)
        found = static.Executor().run(feed={"x": x}, fetch_list=[out, first, second])
    expected = np.clip(x, bounds.get("min"), bounds.get("max"))
    for got, want in zip(found, (expected, 2 * expected * inside, 2 * inside), strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip((y, dx, ddx), found, strict=True):
        assert got.numpy().tobytes() == want.tobytes()


def test_clip_gives_new_memory_where_there_is_no_bound():
    x = np.zeros(4)
    assert not np.shares_memory(elementary.clip(x), x)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_clip_of_integers_takes_whole_bounds(dtype):
    made = elementary.clip(np.arange(5).astype(dtype), min=1.0, max=3)
    np.testing.assert_array_equal(made, [1, 1, 2, 3, 3])
    assert made.dtype == dtype


@pytest.mark.parametrize("bounds", [{"min": 1.7}, {"max": 3.2}, {"min": np.nan}, {"max": 2.0**60}])
def test_clip_of_integers_refuses_a_bound_that_is_not_exactly_one_of_them(bounds):
    with pytest.raises(AttributeValueError, match=r"clip': m.. expected a whole number below 2\*\*53 beside"):
        elementary.clip(np.arange(5), **bounds)


def test_clip_of_integers_looks_at_the_bounds_of_every_call():
    elementary.clip(np.arange(5), max=3.0)
    with pytest.raises(AttributeValueError, match=r"max expected a whole number below 2\*\*53 beside int64, got 3.2"):
        elementary.clip(np.arange(5), max=3.2)


def test_a_bound_that_integers_cannot_pass_holds_nothing_back():
    x = np.array([-128, 0, 127], np.int8)
    np.testing.assert_array_equal(elementary.clip(x, min=-1000.0, max=np.inf), x)
    with pytest.raises(AttributeValueError, match=r"min expected a bound that int8 reaches, from -128 to 127, got"):
        elementary.clip(x, min=300.0)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_clip_needs_numbers_with_an_order(dtype):
    with pytest.raises(DTypeError, match=r"op 'opsdk::clip': x expected numbers with an order, got"):
        elementary.clip(np.ones(3, dtype), min=0.0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_abs_of_complex_numbers_is_real(dtype):
    x = np.array([3 + 4j, -5j, 0], dtype)
    for made in (elementary.abs(x), elementary.abs(opsdk.to_tensor(x)).numpy()):
        np.testing.assert_array_equal(made, np.array([5, 5, 0], np.abs(x).dtype), strict=True)
    with static.program_guard(static.Program(), static.Program()):
        assert elementary.abs(static.data("x", [None, 3], dtype)).dtype == np.abs(x).dtype


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "tanh", "sigmoid"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_a_function_of_whole_numbers_is_one_of_floats(name, dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    made = getattr(opsdk, name)(x)
    np.testing.assert_array_equal(made, getattr(opsdk, name)(x.astype(np.float64)).astype(np.float32), strict=True)


def test_the_sign_of_bools_is_refused():
    with pytest.raises(DTypeError, match="op 'opsdk::sign': x expected numbers, got bool; cast it first"):
        opsdk.sign(np.array([True]))


@pytest.mark.parametrize("op", [opsdk.relu, opsdk.square])
def test_relu_and_square_are_of_numbers(op):
    assert op(np.array([-2, 3], np.int8)).dtype == np.int8
    with pytest.raises(DTypeError, match="x expected numbers, got bool; cast it"):
        op(np.array([True, False]))
