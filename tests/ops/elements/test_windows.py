import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.ops.elements.windows import as_strided, as_strided_scatter, copy_

X = np.arange(12.0).reshape(3, 4)


def test_a_window_is_numpys_of_memory_in_c_order():
    wanted = np.lib.stride_tricks.as_strided(X.ravel()[1:], (2, 3), (32, 8))
    made = as_strided(X, size=[2, 3], stride=[4, 1], offset=1)
    assert made.tolist() == wanted.tolist() == [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    assert not np.shares_memory(made, X)
    assert as_strided(np.asfortranarray(X), size=[2, 3], stride=[4, 1], offset=1).tolist() == wanted.tolist()


def test_a_layout_says_where_the_elements_lie():
    turned = X.T  # in memory as X
    assert as_strided(turned, size=[4], stride=[1], layout=[1, 4]).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert as_strided(X[::-1], size=[2], stride=[-4], layout=[-4, 1], offset=0).tolist() == [8.0, 4.0]


def test_what_is_read_twice_gets_both_gradients():
    x = opsdk.to_tensor(np.arange(4.0), stop_gradient=False)
    windows = as_strided(x, size=[3, 2], stride=[1, 1])  # 01 12 23
    (windows * np.array([[1.0, 10.0], [100.0, 1000.0], [1e4, 1e5]])).sum().backward()
    assert x.grad.tolist() == [1.0, 110.0, 11000.0, 1e5]


def test_scattering_replaces_the_window_and_nothing_else():
    made = as_strided_scatter(X, np.full((2, 2), -1.0), size=[2, 2], stride=[8, 2], offset=1)
    wanted = X.copy()
    wanted.ravel()[[1, 3, 9, 11]] = -1.0
    assert made.tolist() == wanted.tolist()


def test_the_gradient_of_a_scatter_is_parted_between_the_whole_and_the_part():
    x = opsdk.to_tensor(np.arange(4.0), stop_gradient=False)
    part = opsdk.to_tensor(np.array([7.0, 8.0]), stop_gradient=False)
    made = as_strided_scatter(x, part, size=[2], stride=[2], offset=0)
    (made * np.array([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 0.0, 1000.0]
    assert part.grad.tolist() == [1.0, 100.0]


@pytest.mark.parametrize(
    "attrs, text",
    [
        ({"size": [5], "stride": [3]}, r"size \(5,\) with stride \(3,\) expected to lie within 12 elements, got .* 12"),
        (
            {"size": [2], "stride": [-1]},
            r"size \(2,\) with stride \(-1,\) expected to lie within 12 elements, got places -1 to 0",
        ),
        ({"size": [2], "stride": [1, 1]}, r"stride expected 1 steps, one per size, got \(1, 1\)"),
        ({"size": [2], "stride": [1], "layout": [1]}, r"layout expected 2 steps, one per axis of x, got \(1,\)"),
    ],
)
def test_a_window_beyond_its_memory_is_refused(attrs, text):
    with pytest.raises(ShapeError, match=f"as_strided: {text}"):
        as_strided(X, **attrs)


def test_a_scatter_to_one_place_twice_or_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match=r"as_strided_scatter: stride expected a place for each element of the window"):
        as_strided_scatter(X, np.zeros((2, 2)), size=[2, 2], stride=[0, 1])
    with pytest.raises(ShapeError, match=r"part expected shape \(2,\) like the window, got \(3,\)"):
        as_strided_scatter(X, np.zeros(3), size=[2], stride=[1])


def test_copying_changes_the_array_that_is_given():
    x = np.zeros((2, 3))
    assert copy_(x, np.array([1.0, 2.0, 3.0])) is x
    assert x.tolist() == [[1.0, 2.0, 3.0]] * 2


def test_copying_refuses_another_shape_or_dtype_before_anything_changes():
    x = np.zeros((2, 3))
    with pytest.raises(ShapeError, match=r"copy_: value expected a shape that broadcasts to \(2, 3\), got \(2,\)"):
        copy_(x, np.ones(2))
    with pytest.raises(ShapeError, match=r"copy_: value expected a shape that broadcasts to \(2, 3\), got \(1, 2, 3\)"):
        copy_(x, np.ones((1, 2, 3)))
    with pytest.raises(DTypeError, match="copy_: value expected float64 like x, got float32; cast it"):
        copy_(x, np.ones((2, 3), np.float32))
    assert x.tolist() == [[0.0] * 3] * 2
