import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.define.kernel.kernel import REFERENCE
from opsdk.ops import activation

EDGE = np.array([-np.inf, -800.0, -1.0, -0.0, 0.0, 1.0, 800.0, np.inf, np.nan])


def gradient(op, x, *cotangent, **attrs):
    """The gradient of one call on one array, through the tape."""
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    (found,) = opsdk.grad(op(tensor, **attrs), tensor, *(opsdk.to_tensor(c) for c in cotangent))
    return found.numpy()


def test_relu_keeps_what_is_above_zero_and_hands_on_nan():
    np.testing.assert_array_equal(activation.relu(EDGE), [0, 0, 0, 0, 0, 1, 800, np.inf, np.nan])


def test_relu_has_gradient_zero_at_the_kink():
    np.testing.assert_array_equal(gradient(activation.relu, np.array([-2.0, 0.0, 3.0])), [0, 0, 1])


def test_sqrt_below_zero_is_nan_without_a_warning():
    np.testing.assert_array_equal(activation.sqrt(np.array([4.0, 0.0, -1.0])), [2, 0, np.nan])


def test_square_and_abs():
    x = np.array([-3.0, 0.0, 2.0])
    np.testing.assert_array_equal(activation.square(x), [9, 0, 4])
    np.testing.assert_array_equal(activation.abs(x), [3, 0, 2])
    np.testing.assert_array_equal(gradient(activation.abs, x), [-1, 0, 1])


def test_sign_is_minus_one_zero_or_one():
    np.testing.assert_array_equal(activation.sign(np.array([-5.0, 0.0, 0.1])), [-1, 0, 1])


def test_tanh_saturates_and_its_gradient_vanishes():
    np.testing.assert_array_equal(activation.tanh(np.array([-800.0, 0.0, 800.0])), [-1, 0, 1])
    np.testing.assert_array_equal(gradient(activation.tanh, np.array([-800.0, 0.0])), [0, 1])


def test_sigmoid_neither_overflows_nor_loses_its_tail():
    with np.errstate(all="raise", under="ignore"):
        y = activation.sigmoid(EDGE[:-1])
    np.testing.assert_array_equal(y[[0, 1, -2, -1]], [0, 0, 1, 1])
    assert activation.sigmoid(np.array(-700.0)) == pytest.approx(np.exp(-700.0), rel=1e-12)


def test_sigmoid_of_minus_x_is_the_rest():
    x = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(activation.sigmoid(x) + activation.sigmoid(-x), 1, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [activation.relu, activation.sqrt, activation.tanh, activation.sigmoid])
def test_the_dtype_stays(op, dtype):
    assert op(np.array([0.5], dtype)).dtype == dtype


def test_clip_holds_values_inside_and_a_missing_bound_is_none():
    x = np.array([-2.0, 0.5, 2.0, np.nan])
    np.testing.assert_array_equal(activation.clip(x, min=-1.0, max=1.0), [-1, 0.5, 1, np.nan])
    np.testing.assert_array_equal(activation.clip(x, min=0.0), [0, 0.5, 2, np.nan])
    np.testing.assert_array_equal(activation.clip(x), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("low, high", [(None, None), (-1.0, None), (None, 1.0), (-1.0, 1.0), (1.0, -1.0)])
def test_the_reference_of_clip_keeps_every_floating_dtype(dtype, low, high):
    (row,) = [row for row in activation.clip.opdef.kernels if row.language == REFERENCE]
    x = np.array([-2.0, 0.5, 2.0, np.nan]).astype(as_dtype(dtype))
    made = row.source(x, min=low, max=high)
    assert made.dtype == x.dtype
    np.testing.assert_array_equal(made.astype("float64"), np.clip([-2.0, 0.5, 2.0, np.nan], low, high))


@pytest.mark.parametrize("place", [np.asarray, opsdk.to_tensor])
def test_a_bound_of_clip_beyond_the_dtype_is_infinite_without_a_warning(place):
    x = place(np.array([-np.inf, 1.0, np.inf], "float16"))
    assert np.asarray(activation.clip(x, min=-1e6, max=1e6)).tolist() == [-np.inf, 1.0, np.inf]


def test_the_bounds_of_clip_count_as_inside():
    x = np.array([-1.5, -1.0, 0.0, 1.0, 1.5])
    np.testing.assert_array_equal(gradient(activation.clip, x, min=-1.0, max=1.0), [0, 1, 1, 1, 0])


@pytest.mark.parametrize(
    "bounds", [{}, {"min": -0.5}, {"max": 0.5}, {"min": -0.5, "max": 0.5}, {"min": 0.5, "max": -0.5}]
)
def test_clip_and_its_gradients_in_both_runtimes_for_every_pattern_of_bounds(bounds):
    x = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    inside = np.ones(5)
    inside[x < bounds.get("min", -np.inf)] = 0
    inside[x > bounds.get("max", np.inf)] = 0
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    y = activation.clip(tensor, **bounds)
    (dx,) = opsdk.grad((y * y).sum(), tensor, create_graph=True)
    (ddx,) = opsdk.grad(dx.sum(), tensor)
    with static.program_guard(static.Program(), static.Program()):
        variable = static.data("x", [5], "float64")
        variable.stop_gradient = False
        out = activation.clip(variable, **bounds)
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
    assert not np.shares_memory(activation.clip(x), x)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_clip_of_integers_takes_whole_bounds(dtype):
    made = activation.clip(np.arange(5).astype(dtype), min=1.0, max=3)
    np.testing.assert_array_equal(made, [1, 1, 2, 3, 3])
    assert made.dtype == dtype


@pytest.mark.parametrize("bounds", [{"min": 1.7}, {"max": 3.2}, {"min": np.nan}, {"max": 2.0**60}])
def test_clip_of_integers_refuses_a_bound_that_is_not_exactly_one_of_them(bounds):
    with pytest.raises(AttributeValueError, match=r"clip': m.. expected a whole number below 2\*\*53 beside"):
        activation.clip(np.arange(5), **bounds)


def test_clip_of_integers_looks_at_the_bounds_of_every_call():
    activation.clip(np.arange(5), max=3.0)
    with pytest.raises(AttributeValueError, match=r"max expected a whole number below 2\*\*53 beside int64, got 3.2"):
        activation.clip(np.arange(5), max=3.2)


def test_a_bound_that_integers_cannot_pass_holds_nothing_back():
    x = np.array([-128, 0, 127], np.int8)
    np.testing.assert_array_equal(activation.clip(x, min=-1000.0, max=np.inf), x)
    with pytest.raises(AttributeValueError, match=r"min expected a bound that int8 reaches, from -128 to 127, got"):
        activation.clip(x, min=300.0)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_clip_needs_numbers_with_an_order(dtype):
    with pytest.raises(DTypeError, match=r"op 'opsdk::clip': x expected numbers with an order, got"):
        activation.clip(np.ones(3, dtype), min=0.0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_abs_of_complex_numbers_is_real(dtype):
    x = np.array([3 + 4j, -5j, 0], dtype)
    for made in (activation.abs(x), activation.abs(opsdk.to_tensor(x)).numpy()):
        np.testing.assert_array_equal(made, np.array([5, 5, 0], np.abs(x).dtype), strict=True)
    with static.program_guard(static.Program(), static.Program()):
        assert activation.abs(static.data("x", [None, 3], dtype)).dtype == np.abs(x).dtype


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "tanh", "sigmoid"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_a_function_of_whole_numbers_is_one_of_floats(name, dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    made = getattr(opsdk, name)(x)
    np.testing.assert_array_equal(made, getattr(opsdk, name)(x.astype(np.float64)), strict=True)


def test_relu_saves_its_output_and_the_gradient_of_its_gradient_asks_nothing_of_it():
    rule = activation.relu.opdef.grad
    assert (rule.saves("input"), rule.saves("output")) == ((), (0,))
    assert rule.op.opdef.traits.nondifferentiable == ("out",)


def test_the_sign_of_bools_is_refused():
    with pytest.raises(DTypeError, match="op 'opsdk::sign': x expected numbers, got bool; cast it first"):
        opsdk.sign(np.array([True]))


@pytest.mark.parametrize("op", [opsdk.relu, opsdk.square])
def test_relu_and_square_are_of_numbers(op):
    assert op(np.array([-2, 3], np.int8)).dtype == np.int8
    with pytest.raises(DTypeError, match="x expected numbers, got bool; cast it"):
        op(np.array([True, False]))
