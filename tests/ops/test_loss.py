import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.ops import loss


def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def test_softmax_with_cross_entropy_is_minus_the_log_of_the_probability(rng):
    logits, label = rng.normal(size=(4, 3)), np.array([[0], [2], [1], [1]])
    probabilities, value = loss.softmax_with_cross_entropy(logits, label)
    np.testing.assert_allclose(probabilities, softmax(logits), rtol=1e-15)
    np.testing.assert_allclose(value[:, 0], -np.log(softmax(logits))[np.arange(4), label[:, 0]], rtol=1e-13)
    assert value.shape == (4, 1)


def test_it_stays_finite_where_the_probability_underflows():
    _, value = loss.softmax_with_cross_entropy(np.array([[0.0, 2000.0]]), np.array([0]))
    np.testing.assert_array_equal(value, [[2000]])


def test_the_gradient_is_the_distance_from_the_label():
    x = opsdk.to_tensor(np.zeros((2, 4)), stop_gradient=False)
    _, value = loss.softmax_with_cross_entropy(x, opsdk.to_tensor(np.array([1, 3])))
    (dx,) = opsdk.grad(value, x)
    np.testing.assert_array_equal(dx.numpy(), [[0.25, -0.75, 0.25, 0.25], [0.25, 0.25, 0.25, -0.75]])


def test_ignored_rows_have_neither_loss_nor_gradient():
    x = opsdk.to_tensor(np.ones((2, 3)), stop_gradient=False)
    _, value = loss.softmax_with_cross_entropy(x, opsdk.to_tensor(np.array([-100, 1])))
    (dx,) = opsdk.grad(value, x)
    assert value.numpy()[0, 0] == 0
    np.testing.assert_array_equal(dx.numpy()[0], [0, 0, 0])


def test_no_rows_give_no_losses():
    probabilities, value = loss.softmax_with_cross_entropy(np.zeros((0, 3)), np.zeros((0, 1), np.int64))
    assert (probabilities.shape, value.shape) == ((0, 3), (0, 1))
    assert loss.cross_entropy(np.zeros((0, 3)), np.zeros((0,), np.int64)).shape == (0, 1)


def test_the_dtype_stays():
    for value in loss.softmax_with_cross_entropy(np.zeros((1, 2), np.float32), np.array([0])):
        assert value.dtype == np.float32
    assert loss.cross_entropy(np.ones((1, 2), np.float32), np.array([0])).dtype == np.float32


@pytest.mark.parametrize("op", [loss.softmax_with_cross_entropy, loss.cross_entropy])
def test_labels_outside_the_classes_are_refused(op):
    with pytest.raises(AttributeValueError, match=rf"{op.__name__}', row_take: position expected in \[0, 3\), got 3"):
        op(np.ones((2, 3)), np.array([0, 3]))
    with pytest.raises(AttributeValueError, match=r"row_take: position expected in \[0, 3\), got -2"):
        op(np.ones((2, 3)), np.array([-1, -2]), ignore_index=-1)


@pytest.mark.parametrize("op", [loss.softmax_with_cross_entropy, loss.cross_entropy])
def test_another_number_of_labels_than_rows_is_refused(op):
    with pytest.raises(ShapeError, match=r"input 'label' expected shape \(2, 1\) beside \w+ \(2, 3\), got \(3,\)"):
        op(np.ones((2, 3)), np.array([0, 1, 2]))


@pytest.mark.parametrize("op", [loss.softmax_with_cross_entropy, loss.cross_entropy])
def test_labels_that_are_no_integers_are_refused(op):
    with pytest.raises(DTypeError, match="label expected integers, got float64; cast it to int64"):
        op(np.ones((2, 3)), np.array([0.0, 1.0]))


def test_cross_entropy_of_certainty_is_zero_and_of_the_impossible_infinite():
    value = loss.cross_entropy(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1]))
    np.testing.assert_array_equal(value, [[0], [np.inf]])


def test_the_gradient_of_cross_entropy_is_minus_one_over_the_probability():
    x = opsdk.to_tensor(np.array([[0.5, 0.5], [0.25, 0.75]]), stop_gradient=False)
    (dx,) = opsdk.grad(loss.cross_entropy(x, opsdk.to_tensor(np.array([[1], [0]]))), x)
    np.testing.assert_array_equal(dx.numpy(), [[0, -2], [-4, 0]])


def test_accuracy_counts_rows_whose_label_is_among_the_best():
    scores = np.array([[0.1, 0.9, 0.0], [0.8, 0.1, 0.2], [0.3, 0.4, 0.5]])
    assert loss.accuracy(scores, np.array([1, 0, 0])) == np.float32(2 / 3)
    assert loss.accuracy(scores, np.array([[1], [2], [1]]), k=2) == 1
    assert loss.accuracy(scores, np.array([1, 0, 0]), k=99) == 1


def test_accuracy_of_nothing_is_nan_without_a_warning():
    assert np.isnan(loss.accuracy(np.zeros((0, 3)), np.zeros((0, 1), np.int64)))


def test_accuracy_refuses_another_number_of_labels():
    with pytest.raises(ShapeError, match=r"op 'opsdk::accuracy': label expected 3 rows like x, got shape \(2,\)"):
        loss.accuracy(np.zeros((3, 2)), np.array([0, 1]))
