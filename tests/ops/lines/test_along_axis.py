import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.ops.lines import along_axis

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
INDEX = np.array([[2, 0, 2, -1], [1, 1, 0, 0]])


def gradients(made, weights, *values):
    return [found.numpy().tolist() for found in opsdk.grad((made * weights).sum(), values)]


def test_what_is_taken_several_times_gets_the_sum_of_its_gradients():
    x = opsdk.to_tensor(X, stop_gradient=False)
    made = opsdk.take_along_axis(x, INDEX)
    assert made.numpy().tolist() == [[3.0, 1.0, 3.0, 3.0], [5.0, 5.0, 4.0, 4.0]]
    weights = np.array([[1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 128.0]])
    assert gradients(made, weights, x) == [[[2.0, 0.0, 13.0], [192.0, 48.0, 0.0]]]
    made = opsdk.take_along_axis(x, INDEX)
    second = opsdk.grad(opsdk.sum(opsdk.grad((made * made * weights).sum(), x, create_graph=True)[0]), x)[0]
    assert second.numpy().tolist() == [[4.0, 0.0, 26.0], [384.0, 96.0, 0.0]]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape, taken", [((3, 4), (3, 4)), ((3, 4), (1, 2)), ((1, 4), (3, 4)), ((3, 1), (3, 5))])
def test_it_is_numpys_with_sizes_that_broadcast(axis, shape, taken):
    rng = np.random.default_rng(3)
    taken = [size if i in (axis, axis % 2) or shape[i] in (1, size) else 1 for i, size in enumerate(taken)]
    x, index = rng.normal(size=shape), rng.integers(0, shape[axis], taken)
    assert opsdk.take_along_axis(x, index, axis).tolist() == np.take_along_axis(x, index, axis).tolist()
    wanted = x.copy()
    values = rng.normal(size=np.broadcast_shapes(np.take_along_axis(x, index, axis).shape))
    grid = [np.arange(n).reshape([-1 if i == j else 1 for j in range(2)]) for i, n in enumerate(shape)]
    grid[axis] = index
    np.add.at(wanted, tuple(grid), values)
    np.testing.assert_allclose(opsdk.scatter_add(x, index, values, axis), wanted, rtol=1e-14)


def test_sums_have_the_gradient_of_what_was_there_and_of_each_value():
    x, values = (opsdk.to_tensor(array, stop_gradient=False) for array in (X, np.array([[10.0, 20, 30, 40]] * 2)))
    made = opsdk.scatter_add(x, INDEX, values)
    assert made.numpy().tolist() == [[21.0, 2.0, 83.0], [74.0, 35.0, 6.0]]  # torch.scatter_add, with 2 for -1
    assert x.numpy().tolist() == X.tolist()
    assert gradients(made, X, x, values) == [X.tolist(), [[3.0, 1.0, 3.0, 3.0], [5.0, 5.0, 4.0, 4.0]]]


def test_a_value_for_a_line_gets_the_sum_of_the_gradients_of_its_places():
    value = opsdk.to_tensor(np.array([[10.0], [100.0]]), stop_gradient=False)
    made = opsdk.scatter_add(X, np.array([[0, 0, 1]]), value)
    assert made.numpy().tolist() == [[21.0, 12.0, 3.0], [204.0, 105.0, 6.0]]
    assert gradients(made, X, value) == [[[4.0], [13.0]]]


def test_of_several_values_for_one_place_the_last_stays_and_has_the_gradient():
    x, values = (opsdk.to_tensor(array, stop_gradient=False) for array in (X, np.array([[10.0, 20, 30, 40]] * 2)))
    made = opsdk.put_along_axis(x, INDEX, values)
    assert made.numpy().tolist() == [[20.0, 2.0, 40.0], [40.0, 20.0, 6.0]]
    assert gradients(made, X, x, values) == [
        [[0.0, 2.0, 0.0], [0.0, 0.0, 6.0]],
        [[0.0, 1.0, 0.0, 3.0], [0.0, 5.0, 0.0, 4.0]],
    ]


def test_slices_are_added_at_positions_of_an_axis():
    x, values = (
        opsdk.to_tensor(a, stop_gradient=False) for a in (np.zeros((2, 3)), np.array([[1.0, 2, 4], [8, 16, 32]]))
    )
    made = opsdk.index_add(x, np.array([1, 1, 2]), 1, values)
    assert made.numpy().tolist() == [[0.0, 3.0, 4.0], [0.0, 24.0, 32.0]]  # torch.index_add
    assert gradients(made, X, values) == [[[2.0, 2.0, 3.0], [5.0, 5.0, 6.0]]]
    with pytest.raises(ShapeError, match=r"index_add: index expected one axis, got shape \(1, 2\); scatter_add takes"):
        opsdk.index_add(x, np.array([[0, 1]]), 1, values)
    with pytest.raises(DTypeError, match="axis expected a whole number, got ndarray; the order is x, index, axis, val"):
        opsdk.index_add(x, np.array([0, 1]), np.ones((2, 4)), 1)


def test_many_small_numbers_are_added_in_float32_and_rounded_once():
    values = np.full((1, 4096), 1.0, np.float16)
    made = opsdk.scatter_add(np.zeros((1, 2), np.float16), np.zeros((1, 4096), int), values)
    assert made.tolist() == [[4096.0, 0.0]]  # one by one they stop at 2048


def test_a_program_gives_the_same_with_open_sizes():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, values = (static.data(name, [None, None], "float64") for name in ("x", "values"))
        index = static.data("index", [None, None], "int64")
        x.stop_gradient = values.stop_gradient = False
        taken, added = opsdk.take_along_axis(x, index), opsdk.scatter_add(x, index, values)
        put = opsdk.put_along_axis(x, index, values)
        assert (taken.shape, put.shape) == ((-1, -1), (-1, -1))
        first = static.gradients([taken * taken + values * values], [x])
        second = static.gradients(
            [opsdk.sum(first[0] * first[0]) + opsdk.sum(added * added) + opsdk.sum(put)], [x, values]
        )
    feed = {"x": X, "index": INDEX, "values": np.array([[10.0, 20, 30, 40]] * 2)}
    made = static.Executor().run(main, feed=feed, fetch_list=[taken, *second])
    count = np.array([[1, 0, 3], [2, 2, 0]])  # of Σ (2 count x)² + (x + added)² + put
    sums, there = np.array([[21.0, 2, 83], [74, 35, 6]]), np.array([[0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(made[0], np.take_along_axis(X, INDEX, 1))
    np.testing.assert_array_equal(made[1], 8 * count**2 * X + 2 * sums + there)
    np.testing.assert_array_equal(made[2], 2 * np.take_along_axis(sums, INDEX, 1) + [[0, 1, 0, 1], [0, 1, 0, 1]])


@pytest.mark.parametrize("name", ["take_along_axis", "scatter_add", "put_along_axis"])
def test_positions_outside_and_shapes_that_do_not_fit_are_refused(name):
    op, values = getattr(along_axis, name), [] if name == "take_along_axis" else [np.ones((2, 1))]
    with pytest.raises(InputValueError, match=rf"{name}': index expected in \[-3, 3\), got 0 to 3"):
        op(X, np.array([[0, 3]]), *values)
    with pytest.raises(ShapeError, match=rf"op 'opsdk::{name}': index expected 2 axes like x, got \(2,\); it has a"):
        op(X, np.array([0, 1]), *values)
    with pytest.raises(ShapeError, match=rf"{name}': index expected sizes that broadcast with those of x"):
        op(X, np.zeros((3, 1), int), *values)
    if values:
        with pytest.raises(ShapeError, match=rf"{name}': values expected a shape that broadcasts to what"):
            op(X, np.array([[0, 1]]), np.ones((2, 3)))
        with pytest.raises(DTypeError, match=rf"{name}': values expected float64 like x, got float32; cast them"):
            op(X, np.array([[0, 1]]), np.ones((2, 2), np.float32))
