import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, DTypeError, GraphError, InputValueError, ShapeError


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


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(0.1, "float64"), ([0.1, 2**0.5], "float64"), (16777217.0, "int64"), ([16777217.0], "int32"), (2**70, "float64"),
     ([2**70], "float32"), (2**63, "uint64"), (2**64 - 1, "uint64"), ([0.1 + 1j], "complex128"), (0.1j, "complex128")],
)  # fmt: skip
def test_numbers_reach_the_dtype_asked_for_without_another_between(value, dtype):
    np.testing.assert_array_equal(opsdk.to_tensor(value, dtype).numpy(), np.array(value, dtype), strict=True)


UNFIT = {
    "beyond": (300, "int8", "whole numbers? that int8 holds, from -128 to 127, got 300"),
    "float beyond": (300.5, "int8", r"got 300\.5"),
    "nan": (float("nan"), "int64", "got nan"),
    "infinite": (float("-inf"), "int64", "got -inf"),
    "beyond 64 bits": (2**70, "int64", f"got {2**70}"),
    "beyond float32": (1e300, "float32", r"numbers? that float32 holds, up to 3\.40282e\+38, got 1e\+300"),
    "beyond float64": (10**400, "float32", "numbers? that float32 holds"),
    "complex": (1j, "float32", "real numbers? for float32, got 1j; take the real part"),
}
CREATORS = {
    "to_tensor": opsdk.to_tensor,
    "to_tensor of a list": lambda value, dtype: opsdk.to_tensor([value], dtype),
    "to_tensor of an array": lambda value, dtype: opsdk.to_tensor(np.array([value]), dtype),
    "full": lambda value, dtype: opsdk.full([2], value, dtype),
    "full of a scalar": lambda value, dtype: opsdk.full([2], np.asarray(value)[()], dtype),
    "Parameter": lambda value, dtype: opsdk.nn.Parameter([value], False, dtype=dtype),
}


@pytest.mark.parametrize("create", CREATORS.values(), ids=CREATORS)
@pytest.mark.parametrize(("value", "dtype", "text"), UNFIT.values(), ids=UNFIT)
def test_a_dtype_that_does_not_hold_a_number_is_refused(create, value, dtype, text):
    if create is CREATORS["to_tensor of an array"] and np.asarray(value).dtype == object:
        text = "to_tensor: expected one of bool, int8"
    with pytest.raises(DTypeError, match=text):
        create(value, dtype)


def test_a_number_beyond_the_default_dtype_is_refused():
    for value in (1e39, [1.0, 1e39], 1e39j):
        with pytest.raises(DTypeError, match=r"to_tensor: expected .*numbers? that (float32|complex64) holds"):
            opsdk.to_tensor(value)
    for value in (2**70, [2**70], [2**63, -1]):
        with pytest.raises(DTypeError, match=r"to_tensor: expected .*whole numbers? that int64 holds"):
            opsdk.to_tensor(value)


def test_a_fraction_is_dropped_where_an_integer_dtype_is_asked_for():
    assert opsdk.to_tensor(-1.5, "int64").item() == -1
    assert opsdk.to_tensor(np.array([1.5]), "int8").item() == 1
    assert opsdk.full([1], 1.5, "int64").item() == 1


def test_python_complex_numbers_alone_and_in_lists_are_complex64():
    assert opsdk.to_tensor(1j).dtype == opsdk.to_tensor([1, 2.5, 1j]).dtype == np.complex64
    assert opsdk.full([1], 1 - 2j, "complex64").tolist() == [1 - 2j]


@pytest.mark.parametrize("value", [2**53 + 1, np.int64(2**53 + 1), -(2**63), 2**63 - 1, np.array(2**62 + 1)])
def test_full_holds_whole_numbers_exactly(value):
    assert opsdk.full([2], value, "int64").tolist() == [int(value)] * 2


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ("3", DTypeError, "full, fill_value: expected one of bool"),
        (None, DTypeError, r"full, fill_value: expected a tensor, array or number, got builtins\.NoneType"),
        (np.array([3]), ShapeError, r"full, fill_value: expected one number, got shape \(1,\)"),
    ],
)
def test_full_takes_one_number(value, error, text):
    with pytest.raises(error, match=text):
        opsdk.full([1], value)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([-1], r"full: shape expected known sizes of an array that memory holds, got \[-1\]"),
        ([None], "expected known sizes"),
        ([2**62, 2**62], "expected known sizes of an array that memory holds"),
        ([1.5], r"full: shape: dimension 0 expected a size ≥ 0"),
        ("ab", "full: shape expected sizes, got 'ab'"),
        (None, "full: shape expected sizes, got None"),
    ],
)
def test_a_shape_that_no_array_has_is_refused(shape, text):
    with pytest.raises(ShapeError, match=text):
        opsdk.full(shape, 1.0)


@pytest.mark.parametrize(
    "args", [(300, None, 1, "int8"), (-3, 3, 1, "uint8"), (70000, None, 1, "float16"), (2**70, 2**70 + 2)]
)
def test_a_range_that_its_dtype_does_not_hold_is_refused(args):
    with pytest.raises(DTypeError, match=r"arange: expected .*numbers that .* holds"):
        opsdk.arange(*args)


@pytest.mark.parametrize("args", [(0, 10, 0), (float("nan"),), (0, float("inf")), (0, 1, float("nan")), (1j,)])
def test_a_range_without_an_end_is_refused(args):
    with pytest.raises(AttributeValueError, match=r"arange: expected finite real numbers and step ≠ 0, got start="):
        opsdk.arange(*args)


def test_ranges_of_any_whole_numbers_are_exact():
    for end in (np.int32(3), opsdk.to_tensor(3), np.array(3)):
        made = opsdk.arange(end)
        assert (made.dtype, made.tolist()) == (np.int64, [0, 1, 2])
    for first in (2**53, 2**63, -(2**63)):
        made = opsdk.arange(first, first + 3, dtype="uint64" if first == 2**63 else "int64")
        assert made.tolist() == [first, first + 1, first + 2]
    assert opsdk.arange(3, 0, -1).tolist() == [3, 2, 1]
    assert opsdk.arange(0, 3, 0.5, dtype="int64").tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("draw", [opsdk.rand, opsdk.randn, opsdk.uniform])
@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64"])
def test_numbers_are_drawn_as_floats(draw, dtype):
    with pytest.raises(InputValueError, match=f"_random': dtype expected a float, got {dtype}; cast the numbers drawn"):
        draw([2], dtype)


@pytest.mark.parametrize("bounds", [(float("nan"), 1.0), (0.0, float("inf")), (2.0, 1.0), (-1e308, 1.7e308)])
def test_the_bounds_of_numbers_drawn_are_finite_and_in_order(bounds):
    low, high = bounds
    with pytest.raises(InputValueError, match="uniform_random': min and max expected finite numbers, min ≤ max, got"):
        opsdk.uniform([2], min=low, max=high)


@pytest.mark.parametrize("join", [lambda x: [x, x], lambda x: ([1.0, 2.0], x), lambda x: (x * 2.0, np.ones(2))])
def test_a_new_tensor_ends_no_gradient_of_a_list(join):
    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(GraphError, match=r"to_tensor: expected values in a list, got a tensor of shape \(2,\) that"):
        opsdk.to_tensor(join(x))
    with opsdk.no_grad():
        assert opsdk.to_tensor(join(x)).shape == [2, 2]
    assert opsdk.to_tensor(join(x.detach())).shape == [2, 2]


@pytest.mark.parametrize("like", [opsdk.zeros_like, opsdk.ones_like])
def test_something_like_an_array_has_its_shape_and_dtype(like):
    made = like(np.zeros((2, 3), "int8"))
    assert (made.shape, made.dtype) == ([2, 3], np.int8)
    for value in (None, 3, [1.0], "a"):
        with pytest.raises(DTypeError, match="s_like: expected a tensor or array, got"):
            like(value)
    with pytest.raises(DTypeError, match="full: expected one of bool"):
        like(made, np.ones(2))


def test_assign_writes_to_tensors_only():
    with pytest.raises(AttributeValueError, match="assign: output expected a tensor or None, got ndarray"):
        opsdk.assign([1.0], np.zeros(1))


@pytest.mark.parametrize("args", [(2**60,), (1e300,), (0, -(2**70), -1), (0, 1, 1e-300)])
def test_a_range_longer_than_memory_is_refused(args):
    with pytest.raises(AttributeValueError, match=r"arange: expected fewer than 2\*\*48 numbers, got start="):
        opsdk.arange(*args)


def test_a_range_to_what_no_float_holds_is_refused():
    with pytest.raises(AttributeValueError, match="arange: expected finite real numbers"):
        opsdk.arange(10**400)


def test_whole_numbers_that_go_into_a_floating_dtype_are_rounded_to_the_nearest():
    number, near = 2**24 + 1, 2.0**24  # beside 2**24 and 2**24 + 2, of which the even mantissa is taken
    tensor = opsdk.zeros([1])
    tensor.fill_(number)
    made = [tensor.item(), opsdk.full([1], number, "float32").item(), opsdk.to_tensor(number, dtype="float32").item()]
    tensor.set_value(np.array([number]))
    assert [*made, tensor.item()] == [near] * 4


@pytest.mark.parametrize("create", [opsdk.zeros, opsdk.ones, opsdk.empty, opsdk.rand, opsdk.randn])
def test_shapes_are_given_in_the_form_of_paddle_and_of_pytorch(create):
    for made in (create([2, 3]), create(2, 3), create((2, 3)), create(shape=[2, 3]), create(np.array([2, 3]))):
        assert (made.shape, made.dtype) == ([2, 3], np.float32)
    for made in (create([4], "float64"), create(4, "float64"), create(4, dtype="float64")):
        assert (made.shape, made.dtype) == ([4], np.float64)
    assert create([]).shape == []


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        ((), {}, r"zeros: expected one shape, got \[\] and shape=None; write zeros\(\[2, 3\]\)"),
        ((2,), {"shape": [2]}, r"zeros: expected one shape, got \[2\] and shape=\[2\]"),
        (([2], "int8"), {"dtype": "int8"}, r"zeros: expected a shape and one dtype, got \[2\], .int8. and dtype="),
    ],
)
def test_one_shape_and_one_dtype_are_wanted(given, options, text):
    with pytest.raises((ShapeError, DTypeError), match=text):
        opsdk.zeros(*given, **options)


def test_matrices_and_ranges_are_numpys():
    np.testing.assert_array_equal(opsdk.eye(2, 3).numpy(), np.eye(2, 3, dtype=np.float32))
    np.testing.assert_array_equal(opsdk.eye(2, dtype="int64").numpy(), np.eye(2, dtype=np.int64))
    np.testing.assert_array_equal(opsdk.linspace(0, 1, 5, "float64").numpy(), np.linspace(0, 1, 5))
    assert opsdk.empty_like(np.zeros((2, 1), np.int8)).dtype == np.int8


def test_whole_numbers_and_orders_are_drawn():
    opsdk.seed(3)
    drawn = opsdk.randint(2, 5, [400])
    assert set(drawn.tolist()) == {2, 3, 4}
    assert opsdk.randint(5, (2, 3)).shape == [2, 3]
    assert opsdk.randint(5).shape == [1]
    assert sorted(opsdk.randperm(50).tolist()) == list(range(50))
    opsdk.seed(3)
    assert opsdk.randint(2, 5, [400]).tolist() == drawn.tolist()
    made = opsdk.normal(3.0, 0.5, [4000], "float64").numpy()
    assert abs(made.mean() - 3) < 0.05
    assert abs(made.std() - 0.5) < 0.05
    with pytest.raises(AttributeValueError, match=r"randint: expected low < high, got \[5, 5\); no number is there"):
        opsdk.randint(5, 5)
