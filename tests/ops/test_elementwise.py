import numpy as np
import pytest

import opsdk
from opsdk.ops import elementwise as ew


def gradients(op, x, y):
    """The gradients of one binary call, through the tape, for a cotangent of ones."""
    tensors = [opsdk.to_tensor(value, stop_gradient=False) for value in (x, y)]
    return [found.numpy() for found in opsdk.grad(op(*tensors), tensors)]


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (ew.elementwise_add, np.add),
        (ew.elementwise_sub, np.subtract),
        (ew.elementwise_mul, np.multiply),
        (ew.elementwise_div, np.divide),
        (ew.elementwise_max, np.maximum),
        (ew.elementwise_min, np.minimum),
        (ew.elementwise_pow, np.power),
    ],
)
@pytest.mark.parametrize(
    "shapes",
    [((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5)), ((), (4,)), ((), ()), ((0, 4), (4,)), ((2, 0), (1, 1))],
)
def test_values_and_shapes_are_numpys(op, function, shapes, rng):
    x, y = (rng.uniform(0.5, 2, shape) for shape in shapes)
    result = op(x, y)
    np.testing.assert_array_equal(result, function(x, y))
    assert result.shape == np.broadcast_shapes(*shapes)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="broadcast"):  # opsdk's own sentence at the first call, NumPy's after it
        ew.elementwise_add(np.zeros(3), np.zeros(4))


def test_dtypes_are_promoted_and_each_gradient_has_its_own():
    x, y = np.ones(3, np.float32), np.full((2, 3), 2.0)
    assert ew.elementwise_mul(x, y).dtype == np.float64
    dx, dy = gradients(ew.elementwise_mul, x, y)
    assert (dx.dtype, dx.shape) == (np.float32, (3,))
    assert (dy.dtype, dy.shape) == (np.float64, (2, 3))
    np.testing.assert_array_equal(dx, [4, 4, 4])


def test_gradients_are_summed_over_what_was_broadcast():
    dx, dy = gradients(ew.elementwise_sub, np.zeros((2, 3)), np.zeros((2, 1)))
    np.testing.assert_array_equal(dx, np.ones((2, 3)))
    np.testing.assert_array_equal(dy, [[-3], [-3]])


def test_division_by_zero_gives_inf_or_nan_without_a_warning():
    np.testing.assert_array_equal(
        ew.elementwise_div(np.array([1.0, -1.0, 0.0]), np.zeros(3)), [np.inf, -np.inf, np.nan]
    )


def test_integers_divide_to_floats():
    np.testing.assert_array_equal(ew.elementwise_div(np.array([1, 3]), np.array([2, 2])), [0.5, 1.5])


def test_where_two_tie_the_first_takes_the_gradient():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    np.testing.assert_array_equal(gradients(ew.elementwise_max, x, y), [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(gradients(ew.elementwise_min, x, y), [[1, 1, 0], [0, 0, 1]])


def test_pow_at_its_edges_without_a_warning():
    x, y = np.array([0.0, -8.0, 1e300, 0.0]), np.array([0.0, 1 / 3, 2.0, -1.0])
    np.testing.assert_array_equal(ew.elementwise_pow(x, y), [1, np.nan, np.inf, np.inf])


def test_the_gradient_of_pow_is_finite_where_the_derivative_is():
    dx, dy = gradients(ew.elementwise_pow, np.array([0.0, 0.0, 2.0]), np.array([2.0, 1.0, 0.0]))
    np.testing.assert_allclose(dx, [0, 1, 0])
    np.testing.assert_allclose(dy, [0, 0, np.log(2)])


def test_the_gradient_of_zero_to_the_zero_is_zero_in_the_base():
    dx, _ = gradients(ew.elementwise_pow, np.array([0.0]), np.array([0.0]))
    np.testing.assert_array_equal(dx, [0])


def test_a_gradient_that_nobody_asks_for_is_not_computed():
    x, y = opsdk.to_tensor([-1.0], stop_gradient=False), opsdk.to_tensor([2.0])
    (dx,) = opsdk.grad(ew.elementwise_pow(x, y), x)  # the other one would be the logarithm of -1
    np.testing.assert_array_equal(dx.numpy(), [-2])


def test_scale_multiplies_and_adds_in_the_dtype_of_x():
    x = np.array([1.0, -2.0], np.float32)
    result = ew.scale(x, scale=2.0, bias=1.0)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [3, -3])
