import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError
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


def test_softmax_of_equal_numbers_is_uniform():
    np.testing.assert_allclose(activation.softmax(np.zeros((2, 4))), 0.25, rtol=0)


def test_softmax_does_not_change_when_a_number_is_added():
    x = np.array([[1.0, 2.0, 4.0]])
    np.testing.assert_allclose(activation.softmax(x + 1000), activation.softmax(x), rtol=1e-12)
    np.testing.assert_allclose(activation.softmax(x), np.exp(x) / np.exp(x).sum(), rtol=1e-15)


def test_softmax_sums_to_one_along_its_axis(rng):
    np.testing.assert_allclose(activation.softmax(rng.normal(size=(3, 4, 2)), axis=1).sum(axis=1), 1, rtol=1e-15)


def test_log_softmax_is_the_logarithm_also_where_softmax_is_zero(rng):
    x = rng.normal(size=(3, 4))
    np.testing.assert_allclose(activation.log_softmax(x), np.log(activation.softmax(x)), rtol=1e-12)
    np.testing.assert_array_equal(activation.log_softmax(np.array([0.0, -2000.0])), [0, -2000])


@pytest.mark.parametrize("op", [activation.softmax, activation.log_softmax])
def test_nothing_along_the_axis_gives_nothing(op):
    assert op(np.zeros((3, 0))).shape == (3, 0)
    assert op(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("op", [activation.softmax, activation.log_softmax])
def test_a_row_of_minus_infinity_is_nan_without_a_warning(op):
    assert np.isnan(op(np.full((1, 3), -np.inf))).all()


@pytest.mark.parametrize("op", [activation.softmax, activation.log_softmax])
def test_an_axis_that_is_not_there_is_refused(op):
    with pytest.raises(ShapeError, match=r"softmax': axis expected in \[-2, 2\), got 2"):
        op(np.zeros((2, 2)), axis=2)
    with pytest.raises(ShapeError, match=r"softmax': axis expected in \[0, 0\), got -1"):
        op(np.array(1.0))


def test_clip_holds_values_inside_and_a_missing_bound_is_none():
    x = np.array([-2.0, 0.5, 2.0, np.nan])
    np.testing.assert_array_equal(activation.clip(x, min=-1.0, max=1.0), [-1, 0.5, 1, np.nan])
    np.testing.assert_array_equal(activation.clip(x, min=0.0), [0, 0.5, 2, np.nan])
    np.testing.assert_array_equal(activation.clip(x), x)


def test_the_bounds_of_clip_count_as_inside():
    x = np.array([-1.5, -1.0, 0.0, 1.0, 1.5])
    np.testing.assert_array_equal(gradient(activation.clip, x, min=-1.0, max=1.0), [0, 1, 1, 1, 0])
