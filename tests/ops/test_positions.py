import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, InputValueError, ProgramError, ShapeError
from opsdk.ops import positions


@opsdk.op("test_positions::picked(Tensor x, Tensor<int> index) -> Tensor y")
def picked(x, index):
    return x[index] ** 2


picked.infer(lambda x, index: opsdk.TensorSpec([*index.shape, *x.shape[1:]], x.dtype))


@picked.backward(composite=True)
def picked_grad(x, index, dy):
    return opsdk.sum_at(2 * x[index] * dy, index, x.shape[0])


@pytest.mark.parametrize("shape", [(3, 2), (None, 2), (None, None)])
def test_a_composite_backward_sums_by_position_to_any_order_in_both_runtimes(shape):
    x, index = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[2, 0], [2, 2]])
    count = np.array([[1.0], [0.0], [3.0]])
    leaf = opsdk.to_tensor(x, stop_gradient=False)
    (first,) = opsdk.grad(picked(leaf, index).sum(), leaf, create_graph=True)
    (second,) = opsdk.grad((first * first).sum(), leaf)
    main = static.Program()
    with static.program_guard(main, static.Program()):
        entry, at = static.data("x", shape, "float64"), static.data("at", [None, 2], "int64")
        entry.stop_gradient = False
        found = static.gradients([picked(entry, at)], [entry])
        found += static.gradients([found[0] * found[0]], [entry])
    made = static.Executor().run(main, feed={"x": x, "at": index}, fetch_list=found)
    for got in ([first.numpy(), second.numpy()], made):
        np.testing.assert_array_equal(got[0], 2 * x * count)
        np.testing.assert_array_equal(got[1], 8 * x * count**2)


def test_arrays_are_summed_as_they_are_and_lists_too():
    assert type(opsdk.sum_at([1.0, 2.0, 4.0], [0, 2, 0], 3)) is np.ndarray
    made = opsdk.sum_at(opsdk.to_tensor([1.0, 2.0, 4.0]), [0, 2, 0], 3)
    assert made.numpy().tolist() == [5.0, 0.0, 2.0]


def test_what_does_not_fit_is_refused():
    values = opsdk.to_tensor(np.ones((3, 2)))
    with pytest.raises(ShapeError, match=r"values expected shape \(2, …\) like index, got \(3, 2\)"):
        opsdk.sum_at(values, np.array([0, 1]), 3)
    with pytest.raises(InputValueError, match=r"sum_at: index expected in \[0, 2\), got 0 to 2"):
        opsdk.sum_at(values, np.array([0, 1, 2]), 2)
    with pytest.raises(ShapeError, match=r"sum_at: size expected a whole number ≥ 0, got 2.5"):
        opsdk.sum_at(values, np.array([0, 1, 1]), 2.5)
    with pytest.raises(ShapeError, match="expected a size ≥ 0, or one value that gives it, got -1, 0 values"):
        positions.sum_at(np.ones(1), np.array([0]), [], size=-1)


def test_one_hot_is_one_at_the_class():
    assert opsdk.one_hot(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert opsdk.one_hot(np.array([[1], [0]]), 2).shape == (2, 1, 2)
    assert opsdk.one_hot(np.array(1), 2).dtype == np.float32
    assert opsdk.one_hot(np.zeros((0,), np.int64), 2, "int64").shape == (0, 2)
    assert opsdk.one_hot(opsdk.to_tensor(np.array([1])), 2, dtype="float64").numpy().tolist() == [[0.0, 1.0]]


def test_one_hot_refuses_a_class_outside_and_what_is_none():
    with pytest.raises(ShapeError, match=r"op 'opsdk::one_hot': x expected in \[0, 2\), got 0 to 2"):
        opsdk.one_hot(np.array([0, 2]), 2)
    with pytest.raises(DTypeError, match="op 'opsdk::one_hot': x expected integers or bools, got float64; cast it"):
        opsdk.one_hot(np.array([0.5, np.nan]), 2)
    with pytest.raises(ShapeError, match="one_hot: num_classes expected a whole number ≥ 0, got -1"):
        opsdk.one_hot(np.array([0]), -1)


def test_as_many_classes_as_an_open_size_has():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        scores, target = static.data("scores", [None, None]), static.data("target", [None], "int64")
        made = opsdk.one_hot(target, scores.shape[1], scores.dtype)
        assert made.shape == (-1, -1)
    feed = {"scores": np.zeros((2, 3), np.float32), "target": np.array([2, 0])}
    assert static.Executor().run(main, feed=feed, fetch_list=[made])[0].tolist() == [[0, 0, 1], [1, 0, 0]]


def test_sums_to_a_shape_are_recorded():
    x = opsdk.to_tensor(np.arange(6.0).reshape(2, 3), stop_gradient=False)
    for shape, weights in (((3,), [1.0, 2.0, 4.0]), ((2, 1), [[1.0], [2.0]]), ((), 3.0), ((2, 3), np.ones((2, 3)))):
        made = opsdk.sum_to(x, shape)
        assert made.numpy().tolist() == opsdk.sum_to(x.numpy(), shape).tolist()
        (got,) = opsdk.grad((made * np.array(weights)).sum(), x)
        assert got.numpy().tolist() == np.broadcast_to(weights, (2, 3)).tolist()
    with pytest.raises(ShapeError, match=r"sum_to: expected a shape that broadcasts to \(2, 3\), got \(2,\)"):
        opsdk.sum_to(x, (2,))


def test_sums_to_the_open_shape_of_a_variable():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, row = static.data("x", [None, None], "float64"), static.data("row", [1, None], "float64")
        made, flat = opsdk.sum_to(x, row.shape), opsdk.sum_to(x, (1, 1))
        with pytest.raises(ProgramError, match="size 1 of 'row': expected a number for sum_to"):
            opsdk.sum_to(x, [row.shape[1]])
    feed = {"x": np.arange(6.0).reshape(2, 3), "row": np.zeros((1, 3))}
    got = static.Executor().run(main, feed=feed, fetch_list=[made, flat])
    assert (got[0].tolist(), got[1].tolist()) == ([[3.0, 5.0, 7.0]], [[15.0]])


def test_sizes_are_values_to_compute_with_in_every_runtime():
    def share(x):
        return x / opsdk.shape(x)[0].astype(x.dtype)

    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(share(opsdk.to_tensor(x)).numpy(), x / 3)
    assert opsdk.shape(x).tolist() == [3, 2]
    assert (opsdk.numel(x).item(), opsdk.numel(opsdk.zeros([])).item()) == (6, 1)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        variable = static.data("x", [None, 2], "float64")
        variable.stop_gradient = False
        made = share(variable)
        (gradient,) = static.gradients([made], [variable])
    found = static.Executor().run(program, feed={"x": x}, fetch_list=[made, gradient])
    np.testing.assert_allclose(found[0], x / 3)
    np.testing.assert_allclose(found[1], np.full((3, 2), 1 / 3))
