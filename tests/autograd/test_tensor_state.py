"""The state of tensors: copies and pickles."""

import copy
import pickle

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import GraphError


def leaf(values):
    return opsdk.to_tensor(values, "float64", stop_gradient=False)


def test_a_deep_copy_of_a_leaf_has_values_and_gradient_of_its_own():
    x = leaf([1.0])
    (x * 2.0).backward()
    twin = copy.deepcopy(x)
    with opsdk.no_grad():
        x.fill_(9.0)
    x.clear_gradient()
    assert (twin.tolist(), twin.grad.tolist(), twin.stop_gradient, twin.inplace_version) == ([1.0], [2.0], False, 0)


def test_a_deep_copy_of_an_interior_tensor_is_refused():
    with pytest.raises(GraphError, match="deepcopy: expected a leaf, got a tensor that an op made"):
        copy.deepcopy(leaf([1.0]) * 2.0)


def test_a_leaf_is_pickled_with_values_and_gradient_and_without_hooks():
    x = opsdk.to_tensor([1.0, -2.0], stop_gradient=False)
    x.register_hook(lambda gradient: gradient)
    (x * x).sum().backward()
    again = pickle.loads(pickle.dumps(x))
    assert (again.tolist(), again.grad.tolist(), again.stop_gradient) == ([1.0, -2.0], [2.0, -4.0], False)
    (again * again).sum().backward()
    assert again.grad.tolist() == [4.0, -8.0]
    assert x.grad.tolist() == [2.0, -4.0]
    assert again.dtype == np.float32


@pytest.mark.parametrize("make", [lambda x: x, opsdk.nn.Parameter, lambda x: x.T], ids=["leaf", "parameter", "T"])
def test_what_is_loaded_beside_buffers_has_memory_of_its_own(make):
    """As dask, joblib and queues of shared memory pickle: the buffers are those of what was pickled."""
    w = opsdk.to_tensor(make(np.array([[1.0, 2.0, 3.0]])), stop_gradient=False)
    (w * w).sum().backward()
    loss = (w * w).sum()
    buffers = []
    data = pickle.dumps(w, protocol=5, buffer_callback=buffers.append)
    again, other = (pickle.loads(data, buffers=buffers) for _ in range(2))
    with opsdk.no_grad():
        again.fill_(9.0)
        again.grad.fill_(9.0)
    assert sorted(w.numpy().ravel().tolist()) == sorted(other.numpy().ravel().tolist()) == [1.0, 2.0, 3.0]
    loss.backward()
    assert sorted(w.grad.numpy().ravel().tolist()) == [4.0, 8.0, 12.0]
    assert sorted(other.grad.numpy().ravel().tolist()) == [2.0, 4.0, 6.0]
    again = pickle.loads(data, buffers=[bytes(each) for each in buffers])  # of read-only memory
    with opsdk.no_grad():
        again.fill_(9.0)


def test_a_tensor_with_a_graph_is_not_pickled():
    x = opsdk.to_tensor([1.0, -2.0], stop_gradient=False)
    with pytest.raises(GraphError, match=r"pickle: expected a leaf, got a tensor that an op made; use detach\(\)"):
        pickle.dumps({"y": x * 2.0})
    assert pickle.loads(pickle.dumps((x * 2.0).detach())).tolist() == [2.0, -4.0]


def test_a_shallow_copy_is_in_the_same_graph():
    x = opsdk.to_tensor([1.0, -2.0], stop_gradient=False)
    copy.copy(x * 2.0).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_cleared_gradient_is_zeros_in_copies_and_pickles():
    x = leaf([1.0, -2.0])
    (x * x).sum().backward()
    x.clear_grad()
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again.grad.tolist() == [0.0, 0.0]
        (again * 3.0).sum().backward()
        assert again.grad.tolist() == [3.0, 3.0]


def test_copies_of_a_tensor_and_of_its_view_have_memory_of_their_own():
    x = opsdk.to_tensor([1.0, 2.0])
    view = x.reshape([2, 1])
    for base, other in (copy.deepcopy((x, view)), pickle.loads(pickle.dumps((x, view)))):
        base.fill_(7.0)
        assert other.numpy().tolist() == [[1.0], [2.0]]
    x.fill_(3.0)
    assert view.numpy().tolist() == [[3.0], [3.0]]
