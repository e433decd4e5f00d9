import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AxisError, ShapeError
from opsdk.ops.lines import sorting

X = np.array([[2.0, 1.0, 2.0, 3.0], [0.5, np.nan, -np.inf, 0.5]])


@pytest.mark.parametrize(
    "descending, values, order",
    [  # torch.sort(stable=True)
        (False, [[1, 2, 2, 3], [-np.inf, 0.5, 0.5, np.nan]], [[1, 0, 2, 3], [2, 0, 3, 1]]),
        (True, [[3, 2, 2, 1], [np.nan, 0.5, 0.5, -np.inf]], [[3, 0, 2, 1], [1, 0, 3, 2]]),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_equal_ones_stay_in_their_order_and_nan_is_the_greatest(descending, values, order, dtype):
    x = X.astype(dtype)
    np.testing.assert_array_equal(opsdk.sort(x, descending=descending), np.array(values, dtype), strict=True)
    np.testing.assert_array_equal(opsdk.argsort(x, descending=descending), np.array(order), strict=True)
    columns = opsdk.argsort(np.ascontiguousarray(x.T), axis=0, descending=descending)
    np.testing.assert_array_equal(columns, np.array(order).T)


def test_each_cotangent_goes_back_to_where_its_element_was_to_any_order():
    x = opsdk.to_tensor(np.array([3.0, 1.0, 2.0]), stop_gradient=False)
    weights = np.array([1.0, 10.0, 100.0])
    for descending, first in ((False, [100.0, 1.0, 10.0]), (True, [1.0, 100.0, 10.0])):
        made = opsdk.sort(x, descending=descending)
        (got,) = opsdk.grad((made * made * made * weights).sum(), x, create_graph=True)
        assert got.numpy().tolist() == [27 * first[0], 3 * first[1], 12 * first[2]]
        assert opsdk.grad(got.sum(), x)[0].numpy().tolist() == [18 * first[0], 6 * first[1], 12 * first[2]]


def test_the_greatest_come_with_their_positions_and_gradients():
    x = opsdk.to_tensor(np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 5.0]]), stop_gradient=False)
    values, index = opsdk.topk(x, 2)
    assert (values.numpy().tolist(), index.numpy().tolist()) == ([[3.0, 2.0], [5.0, 5.0]], [[1, 2], [0, 2]])
    values.sum().backward()
    assert x.grad.numpy().tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
    least, at = opsdk.topk(x.numpy(), 1, axis=0, largest=False)
    assert (least.tolist(), at.tolist()) == ([[1.0, 3.0, 2.0]], [[0, 0, 0]])
    with pytest.raises(ShapeError, match=r"topk: k expected in \[0, 3\], got 4"):
        opsdk.topk(x, 4)


def test_a_program_sorts_an_axis_of_open_size():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, None], "float64")
        x.stop_gradient = False
        made = x.sort(descending=True)
        (first,) = static.gradients([made * made * made * np.array([1.0, 10.0, 100.0])], [x])
        (second,) = static.gradients([first], [x])
        best, at = opsdk.topk(x, 1)
    fetched = [made, first, second, best, at]
    got = static.Executor().run(main, feed={"x": np.array([[3.0, 1.0, 2.0]])}, fetch_list=fetched)
    wanted = [[[3, 2, 1]], [[27, 300, 120]], [[18, 600, 120]], [[3]], [[0]]]
    for one, want in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, want)


def test_a_number_is_in_order_and_an_op_asks_for_an_axis():
    assert opsdk.sort(np.array(1.5)).tolist() == 1.5
    assert opsdk.argsort(np.array(1.5), descending=True).tolist() == 0
    for op in (sorting.sort, sorting.argsort):
        with pytest.raises(AxisError, match=rf"op 'opsdk::{op.__name__}': axis expected in \[0, 0\), got -1"):
            op(np.array(1.0))
