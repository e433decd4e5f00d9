import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn import functional as F
from opsdk.ops.nets.embedding import embedding

TABLE = np.arange(8.0, dtype=np.float32).reshape(4, 2)


def test_the_gradient_adds_up_where_a_row_was_taken_twice_and_padding_has_none():
    weight = opsdk.to_tensor(TABLE, stop_gradient=False)
    y = F.embedding(opsdk.to_tensor([[1, 2], [2, 0]]), weight, padding_idx=-4)
    (y * opsdk.to_tensor([[[1.0], [2.0]], [[3.0], [4.0]]])).sum().backward()
    assert y.numpy().tolist() == [[[2.0, 3.0], [4.0, 5.0]], [[4.0, 5.0], [0.0, 0.0]]]
    assert weight.grad.numpy().tolist() == [[0.0, 0.0], [1.0, 1.0], [5.0, 5.0], [0.0, 0.0]]


def test_a_layer_has_zeros_in_the_row_for_padding_and_trains_the_others():
    layer = nn.Embedding(5, 4, padding_idx=-1)
    assert layer.weight.numpy()[4].tolist() == [0.0] * 4
    assert (layer.weight.numpy()[:4] != 0).all()
    assert abs(layer.weight.numpy()).max() <= np.sqrt(6 / 9)  # Xavier's limit for fans 5 and 4
    optimizer = opsdk.optimizer.SGD(learning_rate=1.0, parameters=layer.parameters())
    layer(opsdk.to_tensor([4, 1])).sum().backward()
    before = layer.weight.numpy().copy()
    optimizer.step()
    np.testing.assert_allclose(before - layer.weight.numpy(), [[0] * 4, [1] * 4, *[[0] * 4] * 3], atol=1e-6)


def test_layers_print_as_paddle_has_it():
    assert repr(nn.Embedding(5, 4)) == "Embedding(5, 4, sparse=False, scale_grad_by_freq=False)"
    assert repr(nn.Embedding(5, 4, 1)) == "Embedding(5, 4, padding_idx=1, sparse=False, scale_grad_by_freq=False)"


WRONG = {
    "beyond the table": (lambda: F.embedding([4], TABLE), errors.InputValueError, r"x expected numbers in \[0, 4\)"),
    "below 0": (lambda: F.embedding([-1], TABLE), ValueError, r"x expected numbers in \[0, 4\), got -1 to -1"),
    "floats": (lambda: F.embedding(np.array([1.5]), TABLE), TypeError, "x expected integers, got float64"),
    "padding": (lambda: F.embedding([1], TABLE, 9), ValueError, r"padding_idx expected a row in \[-4, 4\), got 9"),
    "padding of a layer": (
        lambda: nn.Embedding(5, 4, 7),
        ValueError,
        r"padding_idx expected a row in \[-5, 5\), got 7",
    ),
    "padding, a text": (lambda: nn.Embedding(5, 4, "a"), TypeError, "padding_idx expected a whole number or None"),
    "padding of the op": (lambda: embedding([1], TABLE, padding=4), ValueError, r"padding expected in \[0, 4\), or -1"),
    "no rows": (lambda: nn.Embedding(0, 4), ValueError, "Embedding: expected sizes ≥ 1, got 0 and 4"),
    "no weight": (lambda: nn.Embedding(5, 4, weight_attr=False), ValueError, "expected a weight, max_norm=None"),
    "by frequency": (
        lambda: F.embedding([1], TABLE, scale_grad_by_freq=True),
        ValueError,
        "expected max_norm=None and scale_grad_by_freq=False, the only ones served",
    ),
    "no table": (lambda: embedding([1], TABLE[0]), ValueError, r"weight expected shape \(rows, size\), got \(2,\)"),
}


@pytest.mark.parametrize(("call", "kind", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_padding_that_one_table_has_and_another_one_lacks_is_refused_there():
    assert embedding(np.array([5]), np.ones((6, 2)), padding=4).tolist() == [[1.0, 1.0]]
    with pytest.raises(errors.ShapeError, match=r"padding expected in \[0, 4\), or -1, got 4"):
        embedding(np.array([1]), np.ones((4, 2)), padding=4)
