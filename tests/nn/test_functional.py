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


def test_gelu_takes_paddles_bool_and_its_layer_too():
    x, functional = opsdk.to_tensor(np.array([-1.0, 0.5])), opsdk.nn.functional
    usual = 0.5 * x.numpy() * (1 + np.tanh(np.sqrt(2 / np.pi) * (x.numpy() + 0.044715 * x.numpy() ** 3)))
    for made in (functional.gelu(x, True), functional.gelu(x, approximate="tanh"), opsdk.nn.GELU(approximate=True)(x)):
        np.testing.assert_allclose(made.numpy(), usual, rtol=1e-12)
    assert functional.gelu(x, False).tolist() == functional.gelu(x).tolist()


def test_softplus_is_a_line_above_a_threshold():
    x = opsdk.to_tensor(np.array([-1.0, 2.0, 3.0]), stop_gradient=False)
    made = opsdk.nn.functional.softplus(x, 2.0, 5.0)
    made.sum().backward()
    np.testing.assert_allclose(made.numpy(), [np.log1p(np.exp(-2.0)) / 2, np.log1p(np.exp(4.0)) / 2, 3.0], rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), [1 / (1 + np.exp(2.0)), 1 / (1 + np.exp(-4.0)), 1.0], rtol=1e-12)


def test_pooling_takes_pytorchs_words():
    x, functional = opsdk.to_tensor(np.arange(8.0).reshape(1, 1, 8)), opsdk.nn.functional
    assert functional.avg_pool1d(x, 3, 2, 1, count_include_pad=True).tolist() == [[[1 / 3, 2, 4, 6]]]
    assert functional.avg_pool1d(x, 3, 2, 1, count_include_pad=False).tolist() == [[[0.5, 2, 4, 6]]]
    assert functional.max_pool1d(x, 2, return_indices=True)[1].tolist() == [[[1, 3, 5, 7]]]


def test_one_hot_counts_the_classes_where_nobody_says():
    assert opsdk.nn.functional.one_hot(opsdk.to_tensor([2, 0])).tolist() == [[0, 0, 1], [1, 0, 0]]
