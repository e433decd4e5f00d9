import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError


def test_linear_multiplies_and_adds():
    fc = nn.Linear(2, 3)
    fc.weight.set_value([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    fc.bias.set_value([10.0, 20.0, 30.0])
    x = opsdk.to_tensor([[1.0, 1.0]], stop_gradient=False)
    y = fc(x)
    assert y.tolist() == [[15.0, 27.0, 39.0]]
    y.backward()
    assert fc.weight.grad.tolist() == [[1.0] * 3, [1.0] * 3]
    assert fc.bias.grad.tolist() == [1.0, 1.0, 1.0]
    assert x.grad.tolist() == [[6.0, 15.0]]


def test_linear_keeps_leading_axes():
    assert nn.Linear(3, 2)(opsdk.ones([5, 4, 3])).shape == [5, 4, 2]


@pytest.mark.parametrize("fc", [nn.Linear(2, 2, bias_attr=False), nn.Linear(2, 2, bias=False)])
def test_linear_without_bias(fc):
    assert fc.bias is None
    assert len(fc.parameters()) == 1
    assert fc(opsdk.zeros([1, 2])).tolist() == [[0.0, 0.0]]


def test_linear_starts_from_xavier_values_and_zeros():
    opsdk.seed(3)
    fc = nn.Linear(100, 50)
    limit = np.sqrt(6 / 150)
    assert 0.98 * limit < np.abs(fc.weight.numpy()).max() <= limit
    assert not fc.bias.numpy().any()


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0), (-1, 1)])
def test_linear_needs_sizes(sizes):
    with pytest.raises(AttributeValueError, match=f"Linear: expected sizes ≥ 1, got {sizes[0]} and {sizes[1]}"):
        nn.Linear(*sizes)


def test_linear_needs_a_weight():
    with pytest.raises(
        AttributeValueError, match="Linear: weight_attr expected a weight, got False; for no bias, bias_a"
    ):
        nn.Linear(1, 1, weight_attr=False)


def test_the_same_seed_gives_the_same_layer():
    layers = []
    for _ in range(2):
        opsdk.seed(11)
        layers.append(nn.Linear(3, 3).weight.tolist())
    assert layers[0] == layers[1]


@pytest.mark.parametrize(
    ("layer", "expected", "text"),
    [
        (nn.ReLU(), [0.0, 0.0, 2.0], "ReLU()"),
        (nn.Tanh(), np.tanh([-1.0, 0.0, 2.0]), "Tanh()"),
        (nn.Sigmoid(), 1 / (1 + np.exp([1.0, 0.0, -2.0])), "Sigmoid()"),
        (nn.Softmax(), np.exp([-1.0, 0.0, 2.0]) / np.exp([-1.0, 0.0, 2.0]).sum(), "Softmax(axis=-1)"),
        (
            nn.LogSoftmax(0),
            np.array([-1.0, 0.0, 2.0]) - np.log(np.exp([-1.0, 0.0, 2.0]).sum()),
            "LogSoftmax(axis=0)",
        ),
    ],
)
def test_activations(layer, expected, text):
    values = np.array([-1.0, 0.0, 2.0])
    assert layer(opsdk.to_tensor(values)).numpy() == pytest.approx(np.array(expected), abs=1e-12)
    assert repr(layer) == text
    assert layer.parameters() == []


def test_flatten_joins_all_axes_but_the_first():
    x = opsdk.ones([2, 3, 4, 5])
    assert nn.Flatten()(x).shape == [2, 60]
    assert nn.Flatten(0, 1)(x).shape == [6, 4, 5]
    assert repr(nn.Flatten()) == "Flatten()"


def test_losses_are_layers():
    logits = opsdk.to_tensor(np.array([[1.0, 2.0], [3.0, 1.0]]), stop_gradient=False)
    label = opsdk.to_tensor([1, 0])
    rows = [np.log(1 + np.exp(-1.0)), np.log(1 + np.exp(-2.0))]
    assert nn.CrossEntropyLoss()(logits, label).item() == pytest.approx(np.mean(rows), rel=1e-12)
    assert nn.CrossEntropyLoss(reduction="sum")(logits, label).item() == pytest.approx(np.sum(rows), rel=1e-12)
    assert nn.MSELoss()(logits, logits + 2.0).item() == 4.0
    assert nn.MSELoss("none")(logits, logits + 2.0).tolist() == [[4.0, 4.0], [4.0, 4.0]]
