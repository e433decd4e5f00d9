import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.ops.elements import indexing

X = np.arange(24.0).reshape(2, 3, 4)


def gradient(op, x, *others, **attrs):
    """The gradient of a call with respect to its first input, for a cotangent of ones."""
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    (found,) = opsdk.grad(op(tensor, *others, **attrs), tensor)
    return found.numpy()


INDICES = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(5, 1, -2),
    ...,
    None,
    (0, 1),
    (slice(None), 1, slice(0, 3, 2)),
    (..., 0),
    (None, 0, ..., None),
    (1, 2, 3),
    (),
    np.int64(1),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_getitem_is_numpys_through_the_integers_of_the_index(index):
    parts = indexing.encode_index(index)[0]
    np.testing.assert_array_equal(indexing.getitem(X, index=parts), X[index])
    np.testing.assert_array_equal(
        indexing.getitem(X, index=indexing.encode_index(indexing.decode_index(parts))[0]), X[index]
    )
    expected = np.zeros_like(X)
    expected[index] = 1
    np.testing.assert_array_equal(gradient(indexing.getitem, X, index=parts), expected)


def test_getitem_gives_a_view():
    assert np.shares_memory(indexing.getitem(X, index=indexing.encode_index(0)[0]), X)
    one = indexing.getitem(X, index=indexing.encode_index((0, 1, 2))[0])
    assert (one.shape, np.shares_memory(one, X)) == ((), True)


def test_getitem_carries_open_sizes_through_full_slices_only():
    infer, schema = indexing.getitem.opdef.infer, indexing.getitem.opdef.schema
    spec = opsdk.TensorSpec([None, 3, 4], "float32")
    cases = [
        ((slice(None), 1), (None, 4)),
        (slice(1, None), (None, 3, 4)),
        ((..., slice(None, None, 2)), (None, 3, 2)),
        ((None, 0), (1, 3, 4)),
    ]
    for index, expected in cases:
        assert infer(schema, [spec], {"index": indexing.encode_index(index)[0]})[0].shape == expected


def test_an_index_out_of_range_is_refused():
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        indexing.getitem(X, index=indexing.encode_index(2)[0])


@pytest.mark.parametrize("index", [1.5, "a", True, {0}])
def test_an_index_that_numpy_has_no_meaning_for_is_refused(index):
    text = r"indexing: expected integers, slices, '\.\.\.', None, or arrays of integers or bools, got"
    with pytest.raises(ShapeError, match=text):
        indexing.encode_index(index)


@pytest.mark.parametrize("index", [[0.5], np.array([1.0]), opsdk.to_tensor([1.0])], ids=["list", "array", "tensor"])
def test_an_index_of_floats_is_refused(index):
    with pytest.raises(DTypeError, match=r"indexing: an array expected integers or bools, got float\d\d; cast it"):
        opsdk.to_tensor(X)[index]


def test_a_mask_without_an_axis_is_refused():
    with pytest.raises(ShapeError, match="indexing: a mask expected at least one axis, got a 0-d array; write x"):
        opsdk.to_tensor(X)[opsdk.to_tensor(True)]


@pytest.mark.parametrize("parts", [[2], [0, 1, 0, 0], [-1, 0], [-17, 0, 0, 0], [-8, 0, 0, 0], [-1, 0, 0, 0, -1]])
def test_integers_that_no_index_was_written_as_are_refused(parts):
    with pytest.raises(ShapeError, match="op 'opsdk::getitem': index expected four integers for each entry, as x"):
        indexing.getitem(X, index=parts)


def test_indices_are_calls_of_one_kind():
    x = opsdk.to_tensor(np.arange(40_000.0), stop_gradient=False)
    a = x.numpy()
    op = indexing.getitem.opdef
    op.plans.clear()
    for i in range(0, 20_000, 7):
        assert (
            x[i : i + 3].numpy()[-1]
            == a[i + 2]
            == x[i + 2].numpy()
            == indexing.getitem(a, index=indexing.encode_index(i + 2)[0])
        )
    assert len(op.plans) <= 2


def test_a_fraction_bounds_no_slice():
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        indexing.encode_index(slice(0.5, 2))[0]


ADVANCED = [
    np.array([1, 0, 1]),
    [0, -1],
    [],
    np.array(1),
    (slice(None), [2, 0]),
    ([0, 1], [2, 2]),
    ([[0], [1]], slice(None), [1, 3]),
    (np.array([0, 1]), ..., [3, 3]),
    (None, [1, 1], 0),
    X > 11.0,
    X[:, :, 0] > 4.0,
    (1, X[0, :, 0] > 0.0),
    ([1, 0], slice(None, None, -1), np.array([True, False, True, False])),
    np.zeros((2, 3), bool),
]


@pytest.mark.parametrize("at", ADVANCED, ids=lambda at: str(at)[:40].replace("\n", " "))
def test_an_index_with_arrays_is_numpys_with_the_sum_of_its_gradients(at):
    x = opsdk.to_tensor(X, stop_gradient=False)
    taken = x[at]
    wanted = X[at]
    assert taken.numpy().tolist() == wanted.tolist()
    weights = np.arange(1.0, wanted.size + 1).reshape(wanted.shape)
    (taken * weights).sum().backward()
    expected = np.zeros_like(X)
    np.add.at(expected, at, weights)
    assert x.grad.numpy().tolist() == expected.tolist()


def test_tensors_are_indices_as_arrays_are():
    x = opsdk.to_tensor(X)
    rows, columns = opsdk.to_tensor(np.array([0, 1])), opsdk.to_tensor(np.array([2, 0]))
    assert x[rows, columns].numpy().tolist() == X[[0, 1], [2, 0]].tolist()
    assert x[x > 20.0].numpy().tolist() == [21.0, 22.0, 23.0]
    assert x[opsdk.to_tensor(np.array(1))].numpy().tolist() == X[1].tolist()


def test_an_index_with_arrays_gives_memory_of_its_own():
    x = opsdk.to_tensor(X)
    x[[0, 1]].fill_(0.0)
    assert x.numpy().tolist() == X.tolist()


def test_positions_outside_and_arrays_without_a_common_shape_are_numpys_errors():
    x = opsdk.to_tensor(X)
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        x[[0, 2]]
    with pytest.raises(IndexError, match="shape mismatch: indexing arrays could not be broadcast"):
        x[[0, 1], [0, 1, 2]]


SIZES = [
    ((None, 3, 4), (slice(None), [0, 1]), (None, 2, 4)),
    ((None, 3, 4), [0, 1], (2, 3, 4)),
    ((2, 3, 4), np.zeros(2, bool), (None, 3, 4)),
    ((2, 3, 4), np.zeros((2, 3), bool), (None, 4)),
    ((2, 3, 4), (slice(None, 1), np.zeros(3, bool), [0, 1, 2]), (1, 3)),
    ((None, 3), (slice(1, 3), 0), (None,)),
]


@pytest.mark.parametrize("shape, at, wanted", SIZES)
def test_sizes_that_only_a_run_can_tell_are_open(shape, at, wanted):
    code, arrays = indexing.encode_index(at)
    op = indexing.index if arrays else indexing.getitem
    given = [opsdk.TensorSpec(shape, "float64"), *([[opsdk.TensorSpec.of(a) for a in arrays]] if arrays else [])]
    (spec,) = op.opdef.infer(op.opdef.schema, given, {"index": code})
    assert spec.shape == wanted


def test_an_index_that_no_size_fits_is_refused_where_a_program_is_built():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 3], "float64")
        with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 3"):
            x[:, 5]
        with pytest.raises(IndexError, match="too many indices for array"):
            x[0, 0, x > 0.0]


def test_a_program_indexes_with_arrays_and_masks():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 3], "float64")
        x.stop_gradient = False
        rows = static.data("rows", [None], "int64")
        mask = static.data("mask", [None, 3], "bool")
        taken, kept = x[rows, [0]], x[mask]
        assert (taken.shape, kept.shape) == ((-1,), (-1,))
        (dx,) = static.gradients([(taken * 2.0).sum() + kept.sum()], [x])
    feed = {"x": X[0].T, "rows": np.array([2, 2]), "mask": X[0].T > 9.0}
    made = static.Executor(opsdk.CPUPlace()).run(main, feed=feed, fetch_list=[taken, kept, dx])
    assert made[0].tolist() == [2.0, 2.0]
    assert made[1].tolist() == [10.0, 11.0]
    assert made[2].tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [4.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
