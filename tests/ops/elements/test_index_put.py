import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, InPlaceError, ShapeError
from tests.ops.elements.test_indexing import ADVANCED, X


@pytest.mark.parametrize("at", ADVANCED, ids=lambda at: str(at)[:40].replace("\n", " "))
def test_assigning_to_an_index_with_arrays_is_numpys_and_of_several_values_the_last_has_the_gradient(at):
    old = opsdk.to_tensor(X, stop_gradient=False)
    new = opsdk.to_tensor(-1.0 - np.arange(X[at].size, dtype=float).reshape(X[at].shape), stop_gradient=False)
    x = old * 1.0
    x[at] = new
    wanted = X.copy()
    wanted[at] = new.numpy()
    assert x.numpy().tolist() == wanted.tolist()
    weights = np.arange(1.0, 25.0).reshape(X.shape)
    (x * weights).sum().backward()
    assert old.grad.numpy().tolist() == np.where(wanted < 0, 0.0, weights).tolist()
    stayed = dict(zip(wanted.ravel(), weights.ravel(), strict=True))
    assert new.grad.numpy().ravel().tolist() == [stayed.get(value, 0.0) for value in new.numpy().ravel()]


def test_one_number_goes_to_every_place_and_its_gradient_is_the_sum():
    number = opsdk.to_tensor(np.array([5.0]), stop_gradient=False)
    x = opsdk.to_tensor(X)
    x[x > 20.0] = number
    assert x.numpy()[1, 2].tolist() == [20.0, 5.0, 5.0, 5.0]
    (x * x).sum().backward()
    assert number.grad.numpy().tolist() == [30.0]
    x[[0, 1], 0, 0] = 7.0
    assert x.numpy()[:, 0, 0].tolist() == [7.0, 7.0]


def test_an_assignment_is_differentiated_twice():
    old = opsdk.to_tensor(np.array([1.0, 2.0, 3.0]), stop_gradient=False)
    new = opsdk.to_tensor(np.array([4.0, 5.0]), stop_gradient=False)
    x = old * 1.0
    x[[2, 2]] = new * new
    first = opsdk.grad((x * x * x).sum(), [old, new], create_graph=True)  # of 25³ = n1⁶
    assert first[0].numpy().tolist() == [3.0, 12.0, 0.0]
    assert first[1].numpy().tolist() == [0.0, 6 * 5.0**5]
    second = opsdk.grad(first[0].sum() + first[1].sum(), [old, new])
    assert second[0].numpy().tolist() == [6.0, 12.0, 0.0]
    assert second[1].numpy().tolist() == [0.0, 30 * 5.0**4]


def test_a_view_of_the_tensor_follows():
    leaf = opsdk.to_tensor(np.array([1.0, 2.0, 3.0]), stop_gradient=False)
    x = leaf * 1.0
    tail = x[1:]
    x[[0, 2]] = leaf[:2] * 10.0
    assert tail.numpy().tolist() == [2.0, 20.0]
    tail.sum().backward()
    assert leaf.grad.numpy().tolist() == [0.0, 11.0, 0.0]


def test_what_does_not_fit_is_refused_before_anything_changes():
    x = opsdk.to_tensor(X)
    with pytest.raises(ShapeError, match=r"x\[index\] = value: value expected a shape that broadcasts to"):
        x[[0, 1]] = np.ones((2, 2))
    with pytest.raises(DTypeError, match=r"x\[index\] = value: value expected a dtype that int64 holds, got float64"):
        opsdk.to_tensor(np.array([1, 2]))[[0]] = opsdk.to_tensor(np.array([0.5]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        x[[0, 9]] = 1.0
    with pytest.raises(InPlaceError, match="got a leaf that needs a gradient"):
        opsdk.to_tensor(X, stop_gradient=False)[[0]] = 1.0
    assert x.numpy().tolist() == X.tolist()
