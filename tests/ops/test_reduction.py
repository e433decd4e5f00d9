import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, ShapeError
from opsdk.ops import reduction
from opsdk.ops import reduction as module
from opsdk.ops.reduction import sum_to

AXES = [None, [0], [1, -1], [], [-3]]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("op", "function"),
    [
        (reduction.reduce_sum, np.sum),
        (reduction.reduce_mean, np.mean),
        (reduction.reduce_max, np.max),
        (reduction.reduce_min, np.min),
    ],
)
def test_values_and_shapes_are_numpys(op, function, axis, keepdim, rng):
    x = rng.normal(size=(2, 3, 4))
    expected = function(x, axis=tuple(axis) if axis else None, keepdims=keepdim)
    result = op(x, axis=axis, keepdim=keepdim)
    np.testing.assert_allclose(result, expected, rtol=1e-15)
    assert result.shape == np.shape(expected)


def test_a_sum_of_nothing_is_zero_and_a_mean_of_nothing_nan_without_a_warning():
    assert reduction.reduce_sum(np.zeros((0, 4))) == 0
    assert np.isnan(reduction.reduce_mean(np.zeros((0, 4)), axis=[0])).all()


def test_bools_are_counted():
    assert opsdk.sum(np.array([True, False, True])) == 2
    assert opsdk.mean(np.array([True, False, True, True])) == 0.75


def test_short_integers_add_up_without_wrapping():
    total = reduction.reduce_sum(np.full(4, 100, np.int8))
    assert (int(total), total.dtype) == (400, np.int64)


def test_a_float_dtype_stays():
    assert reduction.reduce_sum(np.ones(3, np.float32)).dtype == np.float32
    assert reduction.reduce_mean(np.ones(3, np.float32)).dtype == np.float32


def test_nan_is_the_greatest_and_the_least():
    x = np.array([1.0, np.nan, 3.0])
    assert np.isnan(reduction.reduce_max(x))
    assert np.isnan(reduction.reduce_min(x))


@pytest.mark.parametrize("op", [reduction.reduce_max, reduction.reduce_min])
def test_ties_share_the_gradient(op):
    x = opsdk.to_tensor(np.array([2.0, 2.0, 2.0, 2.0]), stop_gradient=False)
    (dx,) = opsdk.grad(op(x), x)
    np.testing.assert_array_equal(dx.numpy(), [0.25] * 4)


@pytest.mark.parametrize(("op", "at"), [(reduction.reduce_max, 2), (reduction.reduce_min, 0)])
def test_an_infinite_cotangent_goes_to_the_extreme_alone(op, at):
    x = opsdk.to_tensor(np.array([[1.0, 2.0, 3.0], [np.nan, 2.0, 3.0]]), stop_gradient=False)
    op(x, axis=[1]).backward(opsdk.to_tensor(np.array([np.inf, 1.0])))
    expected = [np.inf if i == at else 0.0 for i in range(3)]
    np.testing.assert_array_equal(x.grad.numpy(), [expected, [np.nan] * 3])


@pytest.mark.parametrize("op", [reduction.reduce_max, reduction.reduce_min])
def test_there_is_no_extreme_of_nothing(op):
    with pytest.raises(ShapeError, match=r"expected at least one element to compare, got shape \(0, 4\)"):
        op(np.zeros((0, 4)))
    assert op(np.zeros((0, 4)), axis=[1]).shape == (0,)


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(ShapeError, match=r"op 'opsdk::reduce_sum': axis expected in \[-2, 2\), got 2"):
        reduction.reduce_sum(np.zeros((2, 2)), axis=[2])


def test_an_axis_twice_is_refused():
    with pytest.raises(ShapeError, match=r"axis expected each dimension once, got \(0, -2\)"):
        reduction.reduce_sum(np.zeros((2, 2)), axis=[0, -2])


def test_argmax_is_the_first_of_the_greatest():
    x = np.array([[1.0, 3.0, 3.0], [5.0, 4.0, 5.0]])
    np.testing.assert_array_equal(reduction.argmax(x, axis=-1), [1, 0])
    np.testing.assert_array_equal(reduction.argmax(x, axis=0, keepdim=True), [[1, 1, 1]])
    assert reduction.argmax(x).dtype == np.int64


def test_argmax_without_an_axis_is_the_position_in_the_flattened_array():
    x = np.array([[1.0, 5.0], [7.0, 2.0]])
    for made in (opsdk.argmax(x), opsdk.to_tensor(x).argmax().numpy()):
        assert made.shape == ()
        assert made == 2
    assert opsdk.argmax(x, keepdim=True).tolist() == [[2]]
    assert opsdk.argmax(np.array(3.0)) == 0
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        at = opsdk.argmax(opsdk.static.data("x", [None, 2], "float64"))
    assert at.shape == ()
    assert opsdk.static.Executor().run(main, feed={"x": x}, fetch_list=[at])[0] == 2


def test_argmax_of_nothing_is_refused():
    with pytest.raises(ShapeError, match=r"expected at least one element along axis -1, got shape \(3, 0\)"):
        reduction.argmax(np.zeros((3, 0)), axis=-1)
    with pytest.raises(ShapeError, match=r"expected at least one element, got shape \(3, 0\)"):
        reduction.argmax(np.zeros((3, 0)))
    with pytest.raises(ShapeError, match=r"op 'opsdk::argmax': axis expected in \[0, 0\), got -1"):
        reduction.argmax(np.array(1.0), axis=-1)


def test_the_second_derivative_of_a_mean_of_squares_is_constant():
    x = opsdk.to_tensor(np.array([1.0, 2.0, 3.0, 4.0]), stop_gradient=False)
    (dx,) = opsdk.grad(opsdk.mean(x * x), x, create_graph=True)
    (ddx,) = opsdk.grad(dx.sum(), x)
    np.testing.assert_array_equal(dx.numpy(), [0.5, 1, 1.5, 2])
    np.testing.assert_array_equal(ddx.numpy(), [0.5] * 4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((90_000,), None), ((90_000, 3), 0), ((3, 90_000), 1), ((2, 70_000, 3), 1)]
)
def test_a_mean_of_many_is_right_on_tensors_and_its_gradient_too(dtype, shape, axis):
    x = opsdk.to_tensor(np.full(shape, 0.1), dtype, stop_gradient=False)
    number = float(x.numpy().flat[0])
    made = opsdk.mean(x, axis)
    np.testing.assert_allclose(made.numpy().astype(np.float64), number, rtol=1e-6)
    made.sum().backward()
    share = np.asarray(1 / (np.prod(shape) / made.numpy().size)).astype(x.dtype)
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(share, shape))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", [reduction.reduce_max, reduction.reduce_min])
def test_more_ties_than_sixteen_bits_count_share_the_gradient(dtype, op):
    x = opsdk.to_tensor(np.full(100_000, 2.0), dtype, stop_gradient=False)
    (dx,) = opsdk.grad(op(x), x)
    np.testing.assert_array_equal(dx.numpy(), np.asarray(1e-5).astype(x.dtype))
    assert dx.dtype == x.dtype


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4), (4,), (), (1, 4), (3, 1), (2, 1, 4), (1, 1, 1)])
def test_sum_to_undoes_broadcasting(shape, rng):
    x = rng.normal(size=shape)
    cotangent = rng.normal(size=(2, 3, 4))
    total = sum_to(cotangent, shape)
    assert total.shape == shape
    # <broadcast(x), c> = <x, sum_to(c)>: the one is the transpose of the other
    np.testing.assert_allclose((np.broadcast_to(x, (2, 3, 4)) * cotangent).sum(), (x * total).sum(), rtol=1e-12)


def test_sum_to_keeps_the_dtype_and_hands_on_what_fits_already():
    x = np.ones((2, 3), np.float32)
    assert sum_to(x, (3,)).dtype == np.float32
    assert sum_to(x, (2, 3)) is x


def test_a_sum_of_nothing_is_zero():
    np.testing.assert_array_equal(sum_to(np.zeros((0, 3)), (3,)), [0, 0, 0])


@pytest.mark.parametrize("shape", [(3,), (2, 2), (5, 2, 4), (0,)])
def test_a_shape_that_does_not_broadcast_is_refused(shape):
    with pytest.raises(ShapeError, match=r"sum_to: expected a shape that broadcasts to \(2, 4\), got"):
        sum_to(np.zeros((2, 4)), shape)


def test_sum_to_like_reads_only_the_shape_and_copies():
    x = np.ones((2, 3))
    np.testing.assert_array_equal(module.sum_to_like(x, np.full(3, np.nan)), [2, 2, 2])
    assert module.sum_to_like(x, x) is not x


def test_expand_as_and_sum_to_like_are_each_others_gradients():
    x, wide = opsdk.to_tensor(np.ones(3), stop_gradient=False), opsdk.to_tensor(np.ones((2, 3)))
    (dx,) = opsdk.grad(module.expand_as(x, wide), x)
    np.testing.assert_array_equal(dx.numpy(), [2, 2, 2])


def test_sum_adds_a_list_of_arrays():
    np.testing.assert_array_equal(module.sum([np.ones(2), np.full(2, 2.0), np.full(2, 4.0)]), [7, 7])
    only = np.ones(2)
    assert not np.shares_memory(module.sum([only]), only)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(4,), (3000, 1), ()])
def test_the_gradient_of_what_was_broadcast_does_not_stop_to_add_up(dtype, shape):
    bias = opsdk.to_tensor(np.zeros(shape), dtype, stop_gradient=False)
    (opsdk.to_tensor(np.ones((3000, 4)), dtype) + bias).sum().backward()
    exact = np.asarray(12_000 / bias.numpy().size).astype(bias.dtype)
    np.testing.assert_array_equal(bias.grad.numpy(), np.full(shape, exact))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_sum_of_many_arrays_is_rounded_once(dtype):
    x = np.ones(3).astype(opsdk.to_tensor(0.0, dtype).numpy().dtype)
    assert module.sum([x] * 1000).astype(np.float64).tolist() == [1000] * 3


def test_an_array_of_the_other_byte_order_is_summed():
    swapped = np.arange(6.0).reshape(2, 3).astype(np.dtype("f8").newbyteorder("S"))
    np.testing.assert_array_equal(opsdk.sum_to(swapped, (3,)), [3.0, 5.0, 7.0])


@pytest.mark.parametrize("other", [np.ones(2, "float64"), np.ones(3, "float32"), np.ones((1, 2), "float32")])
def test_a_sum_of_a_list_is_of_one_shape_and_dtype(other):
    assert module.sum([np.ones(2, "float32")] * 2).tolist() == [2.0, 2.0]  # a kind of call that is known
    with pytest.raises(ShapeError, match=r"sum: expected tensors of one shape and dtype, got "):
        module.sum([np.ones(2, "float32"), other])
    with pytest.raises(ShapeError, match=r"sum: expected tensors of one shape and dtype, got "):
        module.sum([opsdk.to_tensor(np.ones(2, "float32")), opsdk.to_tensor(other)])
    with pytest.raises(ArityError, match="sum: expected at least one tensor, got none"):
        module.sum([])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_cumsum_is_numpys(axis):
    x = np.arange(6.0).reshape(2, 3)
    tensor = opsdk.to_tensor(x)
    for got in (opsdk.cumsum(x, axis), tensor.cumsum(axis), np.cumsum(tensor, axis)):
        np.testing.assert_array_equal(np.asarray(got), np.cumsum(x, axis))


def test_cumsum_counts_bools_and_takes_a_dtype():
    assert opsdk.cumsum(np.array([True, False, True])).dtype == np.int64
    assert opsdk.cumsum(np.array([1, 2]), dtype="float32").dtype == np.float32
    assert np.cumsum(opsdk.to_tensor([1, 2]), dtype="float64").dtype == np.float64
    with pytest.raises(ShapeError, match=r"op 'opsdk::cumsum': axis expected in \[-1, 1\), got 1"):
        opsdk.cumsum(np.ones(2), 1)


def test_the_gradient_of_a_running_sum_runs_back():
    x = opsdk.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    (x.cumsum() * opsdk.to_tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [111.0, 110.0, 100.0]
