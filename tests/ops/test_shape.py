import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, InputValueError, ShapeError
from opsdk.ops import shape

X = np.arange(24.0).reshape(2, 3, 4)
OPEN = opsdk.TensorSpec([None, 3], "float32")


def inferred(op, spec, **attrs):
    """The spec that an op's infer rule gives."""
    return op.opdef.infer(op.opdef.schema, [spec], attrs)[0]


def test_cast_converts_towards_zero_and_without_warnings():
    np.testing.assert_array_equal(shape.cast(np.array([1.9, -1.9]), dtype="int64"), [1, -1])
    np.testing.assert_array_equal(shape.cast(np.array([1e300]), dtype="float32"), [np.inf])
    np.testing.assert_array_equal(shape.cast(np.array([300, -1]), dtype="uint8"), [44, 255])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 300.0, -129.0])
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_cast_refuses_floats_that_an_integer_dtype_does_not_hold(value, kind):
    x = np.array([1.0, value], kind)
    with pytest.raises(InputValueError, match=r"op 'opsdk::cast', input 'x': expected whole numbers that int8 holds"):
        shape.cast(x, dtype="int8")
    with pytest.raises(InputValueError, match=r"replace such values first, with opsdk\.where or opsdk\.clip"):
        opsdk.to_tensor(x).astype("int8")
    assert shape.cast(np.array([127.9, -128.9], kind), dtype="int8").tolist() in ([127, -128], [-128, -128])


def test_the_gradient_of_cast_comes_back_in_the_dtype_of_x():
    x = opsdk.to_tensor(np.ones(2, np.float32), stop_gradient=False)
    (dx,) = opsdk.grad(shape.cast(x, dtype="float64"), x)
    assert dx.dtype == np.float32


def test_assign_is_a_copy():
    copy = shape.assign(X)
    np.testing.assert_array_equal(copy, X)
    assert not np.shares_memory(copy, X)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([4, 6], (4, 6)), ([-1, 8], (3, 8)), ([0, 12], (2, 12)), ([0, -1], (2, 12)), ([0, 0, 2, 2], (2, 3, 2, 2))],
)
def test_reshape_keeps_the_order_of_the_elements(sizes, expected):
    result = shape.reshape(X, shape=sizes)
    assert result.shape == expected
    np.testing.assert_array_equal(result.ravel(), X.ravel())
    assert inferred(shape.reshape, opsdk.TensorSpec.of(X), shape=sizes).shape == expected


def test_reshape_of_empty_arrays_takes_zero_for_zero():
    assert shape.reshape(np.zeros((0, 4)), shape=[4, 0]).shape == (4, 0)
    assert shape.reshape(np.zeros((0, 4)), shape=[0, 7]).shape == (0, 7)


def test_reshape_between_zero_d_and_one_element():
    assert shape.reshape(np.array(1.0), shape=[1]).shape == (1,)
    assert shape.reshape(np.array([[1.0]]), shape=[]).shape == ()


def test_reshape_with_open_sizes_leaves_open_what_follows():
    assert inferred(shape.reshape, OPEN, shape=[-1]).shape == (None,)
    assert inferred(shape.reshape, OPEN, shape=[0, 3]).shape == (None, 3)


def test_reshape_refuses_sizes_that_hold_another_number_of_elements():
    with pytest.raises(ShapeError, match=r"expected sizes that hold 24 elements as \(2, 3, 4\), got \(5, -1\)"):
        shape.reshape(X, shape=[5, -1])
    with pytest.raises(ShapeError, match="expected sizes that hold 24 elements"):
        shape.reshape(X, shape=[-1, -1])


def test_reshape_refuses_a_zero_beyond_the_axes_of_the_input():
    with pytest.raises(ShapeError, match="size 0 at position 3 stands for the input's own, which has 3"):
        shape.reshape(X, shape=[2, 3, 4, 0])


def test_reshape_is_a_view_and_reshape_like_a_copy():
    assert np.shares_memory(shape.reshape(X, shape=[-1]), X)
    copy = shape.reshape_like(X, np.zeros(24))
    assert copy.shape == (24,)
    assert not np.shares_memory(copy, X)


@pytest.mark.parametrize("perm", [[2, 0, 1], [0, 1, 2], [-1, 0, -2]])
def test_transpose_is_numpys_and_its_gradient_turns_back(perm, rng):
    np.testing.assert_array_equal(shape.transpose(X, perm=perm), np.transpose(X, perm))
    x = opsdk.to_tensor(X, stop_gradient=False)
    weight = opsdk.to_tensor(rng.normal(size=np.transpose(X, perm).shape))
    (dx,) = opsdk.grad(shape.transpose(x, perm=perm), x, weight)
    np.testing.assert_array_equal(np.transpose(dx.numpy(), perm), weight.numpy())


def test_transpose_refuses_a_wrong_number_of_axes():
    with pytest.raises(ShapeError, match=r"transpose: perm expected 3 axes, got \(0, 1\)"):
        shape.transpose(X, perm=[0, 1])


@pytest.mark.parametrize(("axis", "expected"), [([0], (1, 5)), ([-1], (5, 1)), ([0, 2], (1, 5, 1)), ([], (5,))])
def test_unsqueeze_puts_axes_in(axis, expected):
    assert shape.unsqueeze(np.zeros(5), axis=axis).shape == expected


@pytest.mark.parametrize(("axis", "expected"), [(None, (3,)), ([0], (3, 1)), ([-1], (1, 3)), ([1], (1, 3, 1))])
def test_squeeze_takes_axes_of_size_one_out(axis, expected):
    assert shape.squeeze(np.zeros((1, 3, 1)), axis=axis).shape == expected


def test_squeeze_of_an_open_size_is_refused_since_its_rank_would_be_open():
    with pytest.raises(ShapeError, match="squeeze: expected axes of known size, got"):
        inferred(shape.squeeze, OPEN, axis=None)
    spec = opsdk.TensorSpec([None, 1], "float32")
    assert inferred(shape.squeeze, spec, axis=(1,)).shape == (None,)


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [(0, -1, (24,)), (1, -1, (2, 12)), (0, 1, (6, 4)), (1, 1, (2, 3, 4)), (-2, -1, (2, 12))],
)
def test_flatten_joins_a_range_of_axes(start, stop, expected):
    assert shape.flatten(X, start_axis=start, stop_axis=stop).shape == expected


def test_flatten_of_zero_d_and_empty():
    assert shape.flatten(np.array(1.0)).shape == (1,)
    assert shape.flatten(np.zeros((0, 4, 2)), start_axis=1).shape == (0, 8)


def test_flatten_refuses_a_range_that_runs_backwards():
    with pytest.raises(ShapeError, match="flatten: expected start_axis ≤ stop_axis, got 2 and 1"):
        shape.flatten(X, start_axis=2, stop_axis=1)


@pytest.mark.parametrize("have", [(0, 3), (2, 0)])
def test_a_size_that_could_be_any_is_not_chosen(have):
    for call in (lambda x: shape.reshape(x, shape=[0, -1]), lambda x: opsdk.to_tensor(x).reshape([0, -1])):
        with pytest.raises(ShapeError, match=r"reshape: .* 0 elements as .*, got \(0, -1\); -1 beside a size 0"):
            call(np.zeros(have))
    assert shape.reshape(np.zeros(have), shape=[-1, 3]).shape == (0, 3)


def test_what_is_no_list_of_sizes_is_refused():
    with pytest.raises(ShapeError, match=r"reshape: expected sizes, got 1\.5"):
        opsdk.reshape(np.zeros(6), shape=1.5)


@pytest.mark.parametrize("sizes", [[-2, -3], [-6, -1], [2, 2, -2]])
def test_negative_sizes_are_refused(sizes):
    with pytest.raises(ShapeError, match=r"reshape: expected sizes ≥ 0, or -1 once, got \("):
        shape.reshape(np.zeros(6), shape=sizes)


def test_the_count_of_huge_sizes_does_not_wrap():
    with pytest.raises(ShapeError, match="expected sizes that hold 0 elements"):
        shape.reshape(np.zeros(0), shape=[2**32, 2**32])


@pytest.mark.parametrize("sizes", [np.array([3, 2]), (3, np.int8(2)), [np.array(3), 2]])
def test_sizes_may_be_of_numpy(sizes):
    for call in (lambda x: x.reshape(sizes), lambda x: opsdk.reshape(x, sizes)):
        assert call(opsdk.ones([6])).shape == [3, 2]


@pytest.mark.parametrize("sizes", [None, 1.5, "ab", {2, 3}])
def test_what_is_no_sizes_is_refused(sizes):
    with pytest.raises((ShapeError, AttributeValueError), match=r"reshape.*expected"):
        opsdk.reshape(opsdk.ones([6]), sizes)


@pytest.mark.parametrize("axis", [(), [], None])
def test_a_squeeze_that_names_no_axis_drops_all_of_size_1_as_in_paddle(axis):
    x = opsdk.to_tensor(np.ones((1, 3, 1)))
    assert tuple(opsdk.squeeze(x, axis).shape) == tuple(x.squeeze(axis).shape) == (3,)  # of paddle.squeeze(x, [])
    assert tuple(np.squeeze(x, ()).shape) == np.squeeze(np.ones((1, 3, 1)), ()).shape
