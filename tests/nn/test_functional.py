import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError
from opsdk.nn import functional as F

LOGITS = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0]])
LABEL = np.array([1, 2, 0])


def log_softmax(x, axis=-1):
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


ROWS = -log_softmax(LOGITS)[np.arange(3), LABEL]


def test_functions_take_arrays_too():
    assert F.relu(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert F.linear(np.ones((1, 2)), np.ones((2, 1)), np.ones(1)).tolist() == [[3.0]]
    assert F.cross_entropy(LOGITS, LABEL) == pytest.approx(ROWS.mean(), rel=1e-12)
    assert F.square_error_cost(np.array([3.0]), np.array([1.0])).tolist() == [4.0]


def test_softmax_along_an_axis():
    found = F.softmax(opsdk.to_tensor(LOGITS), axis=0).numpy()
    assert found == pytest.approx(np.exp(LOGITS) / np.exp(LOGITS).sum(axis=0), rel=1e-12)
    assert F.log_softmax(opsdk.to_tensor(LOGITS)).numpy() == pytest.approx(log_softmax(LOGITS), rel=1e-12)


def test_one_hot():
    assert F.one_hot(opsdk.to_tensor([[2], [0]]), 3).tolist() == [[[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]]]
    with pytest.raises(ShapeError, match=r"op 'opsdk::one_hot': x expected in \[0, 3\), got -1 to 2"):
        F.one_hot(opsdk.to_tensor([2, -1]), 3)
