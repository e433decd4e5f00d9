import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1.0, 2.0], "float32"),
        (1.5, "float32"),
        ([1, 2], "int64"),
        (True, "bool"),
        (np.zeros(2), "float64"),
        (np.float16(1), "float16"),
        (1j, "complex64"),
    ],
)
def test_to_tensor_takes_the_dtype_of_arrays_and_float32_for_python_floats(data, dtype):
    assert opsdk.to_tensor(data).dtype == dtype


def test_to_tensor_copies():
    array = np.zeros(2)
    t = opsdk.to_tensor(array)
    array[0] = 5
    assert t.tolist() == [0.0, 0.0]


def test_to_tensor_converts_when_asked():
    assert opsdk.to_tensor([1.7, 2.2], dtype="int32").tolist() == [1, 2]


def test_to_tensor_joins_tensors_in_a_list():
    parts = [opsdk.to_tensor([1.0, 2.0]), opsdk.to_tensor([3.0, 4.0])]
    assert opsdk.to_tensor(parts).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_to_tensor_of_a_tensor_is_a_leaf_in_memory_of_its_own():
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    twin = opsdk.to_tensor(x * 2.0)
    assert twin.is_leaf
    assert twin.stop_gradient
    assert twin.tolist() == [2.0]


def test_to_tensor_refuses_what_is_not_numeric():
    with pytest.raises(DTypeError, match=r"to_tensor: expected a tensor, array or number, got builtins\.str"):
        opsdk.to_tensor("text")


def test_to_tensor_refuses_uneven_lists():
    with pytest.raises(DTypeError, match="to_tensor: expected nested lists of equal lengths"):
        opsdk.to_tensor([[1.0], [1.0, 2.0]])


def test_constants():
    assert opsdk.full([2], 7.0).tolist() == [7.0, 7.0]
    assert opsdk.zeros([1, 2]).tolist() == [[0.0, 0.0]]
    assert opsdk.ones(3, "int64").tolist() == [1, 1, 1]
    x = opsdk.to_tensor(np.array([[1.0, 2.0]]))
    assert opsdk.zeros_like(x).dtype == np.float64
    assert opsdk.ones_like(x, "float32").dtype == np.float32


def test_arange_has_whole_numbers_for_whole_arguments():
    assert opsdk.arange(3).tolist() == [0, 1, 2]
    assert opsdk.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert (opsdk.arange(3).dtype, opsdk.arange(0.0, 1.0).dtype) == (np.int64, np.float32)


def test_random_numbers_repeat_with_the_seed():
    opsdk.seed(7)
    first = [opsdk.rand([3]).tolist(), opsdk.randn([3]).tolist(), opsdk.uniform([3]).tolist()]
    opsdk.seed(7)
    assert [opsdk.rand([3]).tolist(), opsdk.randn([3]).tolist(), opsdk.uniform([3]).tolist()] == first


def test_random_numbers_lie_where_they_should():
    values = opsdk.uniform([1000], min=2.0, max=3.0, seed=1).numpy()
    assert values.min() >= 2.0
    assert values.max() < 3.0
    assert opsdk.uniform([5], seed=3).tolist() == opsdk.uniform([5], seed=3).tolist()


def test_a_seed_is_a_non_negative_integer():
    with pytest.raises(AttributeValueError, match="seed: expected an integer ≥ 0, got -1"):
        opsdk.seed(-1)


def test_assign_copies_and_lets_gradients_through():
    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    (opsdk.assign(x) * 3.0).backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_assign_copies_into_an_output():
    target = opsdk.zeros([2])
    assert opsdk.assign(np.array([1.0, 2.0]), target) is target
    assert target.tolist() == [1.0, 2.0]


def test_assign_into_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"set_value: expected shape \(3,\), got \(2,\)"):
        opsdk.assign([1.0, 2.0], opsdk.zeros([3]))


def test_a_tensor_of_data_that_is_not_small_is_aligned_for_vector_loads(rng):
    wide = rng.normal(size=(301, 200))
    for data in (wide, wide.astype("float32"), wide.T, wide[:, ::2]):
        held = opsdk.to_tensor(data)._array  # `numpy()` is a copy
        assert held.ctypes.data % 64 == 0
        assert held.flags.c_contiguous
        np.testing.assert_array_equal(held, data)
    assert opsdk.to_tensor(wide, dtype="int64").numpy().tolist() == wide.astype("int64").tolist()


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "c8", "c16", "i4", "u8"])
def test_whatever_the_byte_order_of_an_array_tensors_have_that_of_the_machine(kind):
    swapped = np.arange(4).astype(np.dtype(kind).newbyteorder("S" if np.dtype(kind).isnative else "="))
    tensor = opsdk.to_tensor(swapped)
    assert tensor.numpy().dtype.isnative
    assert tensor.dtype == np.dtype(kind)
    np.testing.assert_array_equal(tensor.numpy(), np.arange(4).astype(kind))


def test_an_array_of_the_other_byte_order_makes_a_tensor_that_is_differentiated():
    swapped = np.array([-1.0, 2.0]).astype(np.dtype("f8").newbyteorder("S"))
    x = opsdk.to_tensor(swapped, stop_gradient=False)
    opsdk.nn.functional.relu(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 1.0])


def test_a_constant_of_the_other_byte_order_beside_a_tensor_is_one_of_this_machine():
    seen = []

    @opsdk.op
    def first_times(c, x):
        seen.append(c.dtype.isnative)
        return c * x

    @first_times.backward
    def first_times_grad(c, x, dy):
        return dy * x, dy * c

    swapped = np.array([3.0, 4.0]).astype(np.dtype("f8").newbyteorder("S"))
    x = opsdk.to_tensor(np.ones(2), stop_gradient=False)
    first_times(swapped, x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 4.0])
    (swapped * x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 8.0])
    assert all(seen)
