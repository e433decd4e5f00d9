import numpy as np
import pytest

import opsdk
from opsdk import errors

X = np.arange(12.0).reshape(3, 4)


def gradient(made, x):
    return opsdk.grad(made.sum(), x)[0].numpy().tolist()


def test_gather_nd_takes_elements_and_slices():
    x = opsdk.to_tensor(X, stop_gradient=False)
    made = opsdk.gather_nd(x, opsdk.to_tensor([[1, 2], [0, 0], [1, 2]]))
    assert made.tolist() == [6.0, 0.0, 6.0]
    assert gradient(made, x) == [[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]]
    assert opsdk.gather_nd(X, [[1], [-1]]).tolist() == [X[1].tolist(), X[2].tolist()]


def test_index_select_takes_slices_along_an_axis():
    assert opsdk.index_select(opsdk.to_tensor(X), opsdk.to_tensor([2, 0]), axis=1).tolist() == X[:, [2, 0]].tolist()


def test_index_sample_takes_elements_of_each_row():
    assert opsdk.index_sample(X, [[0, 1], [1, 2], [3, 3]]).tolist() == [[0, 1], [5, 6], [11, 11]]


# Paddle 3.3.1's.
@pytest.mark.parametrize(("overwrite", "row", "kept"), [(True, [2.0] * 4, [0, 1]), (False, [3.0] * 4, [1, 1])])
def test_scatter_replaces_rows_by_the_last_or_by_the_sum(overwrite, row, kept):
    x = opsdk.to_tensor(X, stop_gradient=False)
    updates = opsdk.to_tensor(np.array([[1.0] * 4, [2.0] * 4]), stop_gradient=False)
    made = opsdk.scatter(x, opsdk.to_tensor([1, 1]), updates, overwrite)
    assert made.tolist() == [X[0].tolist(), row, X[2].tolist()]
    assert x.tolist() == X.tolist()
    grads = opsdk.grad(made.sum(), [x, updates])
    assert grads[0].tolist() == [[1.0] * 4, [0.0] * 4, [1.0] * 4]
    assert grads[1].tolist() == [[float(one)] * 4 for one in kept]


WRONG = {
    "more positions than axes": (lambda: opsdk.gather_nd(X, [[1, 2, 3]]), errors.ShapeError, "1 to 2 positions"),
    "beyond the end": (lambda: opsdk.gather_nd(X, [[3, 0]]), IndexError, "out of bounds"),
    "two axes": (lambda: opsdk.index_select(X, [[2, 0]]), errors.ShapeError, "index_select: index expected one axis"),
    "one axis": (lambda: opsdk.index_sample(X[0], [[0]]), errors.ShapeError, "index_sample: x and index expected two"),
    "rows beyond": (lambda: opsdk.scatter(X, [3], X[:1]), IndexError, "out of bounds"),
    "rows of two axes": (lambda: opsdk.scatter(X, [[1]], X[:1]), errors.ShapeError, "scatter: index expected one axis"),
    "overwrite": (lambda: opsdk.scatter(X, [1], X[:1], 0), TypeError, "overwrite expected True or False, got 0"),
}


@pytest.mark.parametrize(("call", "kind", "text"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
