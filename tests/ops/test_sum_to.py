import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, ShapeError
from opsdk.ops import sum_to as module
from opsdk.ops.sum_to import sum_to


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
