import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, InPlaceError, ShapeError

X, Y = [0.5, -1.0, 2.0], [2.0, 3.0, 0.25]
# By method: its arguments besides x, what it gives, and its derivative in x.
METHODS = {
    "add_": ([Y], np.add(X, Y), np.ones(3)),
    "subtract_": ([Y], np.subtract(X, Y), np.ones(3)),
    "multiply_": ([Y], np.multiply(X, Y), np.array(Y)),
    "divide_": ([Y], np.divide(X, Y), 1 / np.array(Y)),
    "pow_": ([2.0], np.square(X), 2 * np.array(X)),
    "neg_": ([], np.negative(X), -np.ones(3)),
    "clip_": ([-0.75, 1.0], np.clip(X, -0.75, 1.0), np.array([1.0, 0.0, 0.0])),
    "abs_": ([], np.abs(X), np.sign(X)),
    "cos_": ([], np.cos(X), -np.sin(X)),
    "exp_": ([], np.exp(X), np.exp(X)),
    "reciprocal_": ([], np.reciprocal(X), -1 / np.square(X)),
    "relu_": ([], np.maximum(X, 0), np.array([1.0, 0.0, 1.0])),
    "sigmoid_": ([], 1 / (1 + np.exp(np.negative(X))), np.exp(X) / (1 + np.exp(X)) ** 2),
    "sin_": ([], np.sin(X), np.cos(X)),
    "square_": ([], np.square(X), 2 * np.array(X)),
    "tanh_": ([], np.tanh(X), 1 / np.cosh(X) ** 2),
    "erf_": (
        [],
        [0.5204998778130465, -0.8427007929497149, 0.9953222650189527],
        2 / np.sqrt(np.pi) * np.exp(-np.square(X)),
    ),
}
POSITIVE = {
    "log_": ([], np.log(Y), 1 / np.array(Y)),
    "sqrt_": ([], np.sqrt(Y), 0.5 / np.sqrt(Y)),
    "rsqrt_": ([], 1 / np.sqrt(Y), -0.5 * np.array(Y) ** -1.5),
}


@pytest.mark.parametrize("name", [*METHODS, *POSITIVE])
def test_a_method_sets_the_tensor_to_what_its_function_gives_with_its_gradient(name):
    args, value, slope = (METHODS | POSITIVE)[name]
    leaf = opsdk.to_tensor(np.array(Y if name in POSITIVE else X), stop_gradient=False)
    x = leaf * 1.0
    memory = x._array
    made = getattr(x, name)(*[opsdk.to_tensor(np.array(a)) if isinstance(a, list) else a for a in args])
    assert made is x
    assert x._array is memory
    np.testing.assert_allclose(x.numpy(), value, rtol=1e-15, atol=0)
    assert x.inplace_version == 1
    x.sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), slope, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    "name, same", [("sub_", "subtract_"), ("mul_", "multiply_"), ("div_", "divide_"), ("clamp_", "clip_")]
)
def test_pytorchs_name_is_the_same_method(name, same):
    assert getattr(opsdk.Tensor, name) is getattr(opsdk.Tensor, same)


def test_a_gradient_that_needs_the_old_values_has_them():
    leaf = opsdk.to_tensor([3.0, 5.0], stop_gradient=False)
    factor = opsdk.to_tensor([2.0, 4.0], stop_gradient=False)
    x = leaf * 1.0
    x.multiply_(factor)
    x.multiply_(x)
    x.sum().backward()  # (w f)²
    assert leaf.grad.numpy().tolist() == [2 * 3.0 * 4.0, 2 * 5.0 * 16.0]
    assert factor.grad.numpy().tolist() == [2 * 2.0 * 9.0, 2 * 4.0 * 25.0]


def test_without_recording_a_leaf_takes_a_step():
    leaf = opsdk.to_tensor([3.0, 5.0], stop_gradient=False)
    with opsdk.no_grad():
        leaf.subtract_(opsdk.to_tensor([1.0, 1.0])).mul_(2.0)
    assert leaf.numpy().tolist() == [4.0, 8.0]
    assert (leaf.stop_gradient, leaf.is_leaf) == (False, True)


def test_a_leaf_that_needs_a_gradient_is_not_changed_while_recording():
    leaf = opsdk.to_tensor([3.0, 5.0], stop_gradient=False)
    for change in (lambda: leaf.add_(1.0), lambda: leaf.copy_(1.0), lambda: leaf.__setitem__(0, 1.0)):
        with pytest.raises(InPlaceError, match=r"got a leaf that needs a gradient; change it inside opsdk.no_grad\(\)"):
            change()
    assert leaf.numpy().tolist() == [3.0, 5.0]


def test_a_result_of_another_shape_or_dtype_is_refused_before_anything_changes():
    x = opsdk.to_tensor(np.array([1, 2]))
    with pytest.raises(ShapeError, match=r"add_: expected a result of shape \(2,\) like the tensor, got \(3, 2\)"):
        x.add_(opsdk.to_tensor(np.ones((3, 2), np.int64)))
    with pytest.raises(DTypeError, match="multiply_: expected a result of int64, got float64; cast the tensor first"):
        x.multiply_(opsdk.to_tensor(np.array([0.5, 0.5])))
    assert x.numpy().tolist() == [1, 2]
    assert x.inplace_version == 0


def test_copied_values_are_broadcast_and_converted_where_the_dtype_holds_them():
    x = opsdk.zeros([2, 3])
    assert x.copy_(opsdk.to_tensor(np.array([1.0, 2.0, 3.0]))) is x  # float64 into float32
    assert x.numpy().tolist() == [[1.0, 2.0, 3.0]] * 2
    x.copy_(np.array([[4], [5]]))
    assert x.numpy().tolist() == [[4.0] * 3, [5.0] * 3]
    whole = opsdk.to_tensor(np.array([1, 2]))
    with pytest.raises(
        DTypeError, match="copy_: value expected a dtype that int64 holds, got float32; cast the tensor"
    ):
        whole.copy_(opsdk.ones([2]))
    with pytest.raises(DTypeError, match="copy_"):
        whole.copy_(0.5)
    with pytest.raises(ShapeError, match=r"copy_: value expected a shape that broadcasts to \(2, 3\), got \(2,\)"):
        x.copy_(opsdk.ones([2]))


def test_the_gradient_of_copied_values_is_summed_to_their_shape_and_cast_to_their_dtype():
    value = opsdk.to_tensor(np.array([[2.0], [3.0]]), stop_gradient=False)
    x = opsdk.zeros([2, 3])
    x.copy_(value)
    (x * x).sum().backward()
    assert value.grad.numpy().tolist() == [[12.0], [18.0]]
    assert value.grad.dtype == np.float64


@pytest.mark.parametrize(
    "index, value",
    [(0, 5.0), ((slice(None), 1), [7.0, 8.0]), ((..., slice(None, None, -2)), [[1.0, 2.0], [3.0, 4.0]]), ((), 1.0)],
)
def test_assigning_to_an_index_does_what_numpy_does(index, value):
    x, wanted = opsdk.to_tensor(np.zeros((2, 3))), np.zeros((2, 3))
    x[index] = np.array(value)
    wanted[index] = value
    assert x.numpy().tolist() == wanted.tolist()


def test_an_index_may_be_added_to():
    leaf = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    x = leaf * 1.0
    x[0] += 1.0
    x[1] *= 3.0
    assert x.numpy().tolist() == [2.0, 6.0]
    x.sum().backward()
    assert leaf.grad.numpy().tolist() == [1.0, 3.0]


def test_scale_takes_its_numbers_by_name():
    x = opsdk.ones([2])
    assert x.scale_(scale=3.0, bias=1.0).numpy().tolist() == [4.0, 4.0]


def test_an_empty_part_changes_nothing():
    x = opsdk.ones([3])
    x[3:] = 5.0
    x[1:1].fill_(2.0)
    assert x.numpy().tolist() == [1.0, 1.0, 1.0]


# By method: its arguments, what NumPy gives of X, and whether that is a truth, written as 1 or 0.
MORE = {
    "addcmul_": (lambda x: x.addcmul_(np.array(Y), np.array(Y), value=0.5), lambda: np.add(X, 0.5 * np.square(Y))),
    "addcdiv_": (lambda x: x.addcdiv_(np.array(Y), np.array(Y)), lambda: np.add(X, 1)),
    "add_, alpha": (lambda x: x.add_(opsdk.to_tensor(np.array(Y)), alpha=-2), lambda: np.subtract(X, 2 * np.array(Y))),
    "sub_, alpha": (lambda x: x.sub_(1.0, alpha=2), lambda: np.subtract(X, 2)),
    "lerp_": (lambda x: x.lerp_(np.array(Y), 0.5), lambda: (np.array(X) + Y) / 2),
    "masked_fill_": (lambda x: x.masked_fill_(x > 0, 7.0), lambda: [7.0, -1.0, 7.0]),
    "floor_": (lambda x: x.floor_(), lambda: np.floor(X)),
    "trunc_": (lambda x: x.trunc_(), lambda: np.trunc(X)),
    "remainder_": (lambda x: x.remainder_(0.75), lambda: np.remainder(X, 0.75)),
    "fmod_": (lambda x: x.fmod_(0.75), lambda: np.fmod(X, 0.75)),
    "cumsum_": (lambda x: x.cumsum_(0), lambda: np.cumsum(X)),
    "clamp_min_": (lambda x: x.clamp_min_(0.0), lambda: np.maximum(X, 0)),
    "expm1_": (lambda x: x.expm1_(), lambda: np.expm1(X)),
    "scatter_": (lambda x: x.scatter_(np.array([1]), np.array([5.0])), lambda: [0.5, 5.0, 2.0]),
    "index_fill_": (lambda x: x.index_fill_(np.array([0]), 0, 3.0), lambda: [3.0, -1.0, 2.0]),
    "div_, floor": (lambda x: x.div_(0.75, rounding_mode="floor"), lambda: np.floor_divide(X, 0.75)),
    "gt_": (lambda x: x.gt_(0.0), lambda: [1.0, 0.0, 1.0]),
    "logical_not_": (lambda x: x.logical_not_(), lambda: [0.0, 0.0, 0.0]),
    "nan_to_num_": (lambda x: x.nan_to_num_(), lambda: X),
    "tril_": (lambda x: x.view(1, 3).tril_(), lambda: [0.5, 0.0, 0.0]),
}


@pytest.mark.parametrize("name", MORE)
def test_every_function_that_keeps_the_shape_has_a_method_in_place(name):
    change, wanted = MORE[name]
    x = opsdk.to_tensor(np.array(X))
    memory = x._array
    change(x)
    assert x._array is memory
    assert x.inplace_version == 1
    np.testing.assert_allclose(x.numpy(), wanted(), rtol=1e-15)


def test_a_method_in_place_tells_the_graph():
    leaf = opsdk.to_tensor(np.array(X), stop_gradient=False)
    factor = opsdk.to_tensor(np.array(Y), stop_gradient=False)
    x = leaf * 1.0
    x.addcmul_(factor, factor, value=0.5).masked_fill_(opsdk.to_tensor([False, True, False]), 0.0)
    x.sum().backward()
    assert leaf.grad.tolist() == [1, 0, 1]
    assert factor.grad.tolist() == [2.0, 0.0, 0.25]
    with pytest.raises(InPlaceError, match="masked_fill_: expected a tensor without stop_gradient=False"):
        leaf.masked_fill_(leaf > 0, 0.0)


def test_what_a_wider_float_gives_is_rounded_to_the_tensors_dtype_and_differentiated():
    x = opsdk.to_tensor(np.array([1.0, 2.0], np.float32), stop_gradient=False)
    shift = opsdk.to_tensor(np.array([0.1, 3.0]), stop_gradient=False)
    y = x * 2.0
    y.add_(shift)
    assert (y.dtype, y.tolist()) == (np.float32, [np.float32(2.1), 7.0])
    y.sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (np.float32, [2.0, 2.0])
    assert (shift.grad.dtype, shift.grad.tolist()) == (np.float64, [1.0, 1.0])


def test_in_place_functions_of_several_steps_have_their_gradient():
    x = opsdk.to_tensor(np.array([0.3, 0.4]), stop_gradient=False)
    (x * 1.0).logit_().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 / (np.array([0.3, 0.4]) * np.array([0.7, 0.6])), rtol=1e-12)


def test_tests_in_place_take_the_other_by_name():
    x = opsdk.to_tensor(np.array([1.0, 2.0]))
    assert x.equal_(y=opsdk.to_tensor(np.array([1.0, 3.0]))).tolist() == [1, 0]
