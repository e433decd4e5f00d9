import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.nn import functional as F

X = np.sin(1 + np.arange(24.0)).reshape(2, 3, 2, 2)
ROWS = X[:, :, 0, 0]


def test_slopes_are_trained():
    layer, x = nn.PReLU(3, init=0.1), opsdk.to_tensor(X.astype("float32"))
    layer(x).sum().backward()
    assert layer(x).numpy() == pytest.approx(np.where(X > 0, X, 0.1 * X), rel=1e-5)
    assert layer.weight.grad.numpy() == pytest.approx(np.minimum(X, 0).sum((0, 2, 3)), rel=1e-5)
    assert repr(layer) == "PReLU(num_parameters=3)"
    assert nn.PReLU().weight.tolist() == [0.25]


def test_a_bilinear_map_lies_as_in_pytorch_but_for_its_bias():
    layer = nn.Bilinear(3, 2, 4)
    a, b = opsdk.to_tensor(ROWS.astype("float32")), opsdk.to_tensor(ROWS[:, :2].astype("float32"))
    wanted = np.einsum("ni,oij,nj->no", a.numpy(), layer.weight.numpy(), b.numpy()) + layer.bias.numpy()
    assert layer(a, b).numpy() == pytest.approx(wanted, rel=1e-5)
    assert layer.bias.shape == [1, 4]
    there = layer.torch_layout.to_torch({name: each.numpy() for name, each in layer.named_parameters()})
    assert {name: tuple(each.shape) for name, each in there.items()} == {"weight": (4, 3, 2), "bias": (4,)}
    assert nn.Bilinear(3, 2, 4, bias=False).bias is None
    assert repr(layer) == "Bilinear(in1_features=3, in2_features=2, out_features=4)"


def test_bags_are_those_of_the_function():
    layer = nn.EmbeddingBag(5, 3, mode="sum", padding_idx=1)
    numbers = np.array([[0, 1], [4, 2]])
    wanted = F.embedding_bag(numbers, layer.weight.numpy(), mode="sum", padding_idx=1)
    assert layer(opsdk.to_tensor(numbers)).numpy() == pytest.approx(wanted, rel=1e-6)
    assert layer(numbers.reshape(-1), np.array([0, 3])).shape == [2, 3]
    assert layer.weight.numpy()[1].tolist() == [0.0] * 3
    assert repr(layer) == "EmbeddingBag(5, 3, mode='sum')"
    given = nn.EmbeddingBag(5, 3, _weight=np.ones((5, 3)))
    assert given(opsdk.to_tensor(numbers)).tolist() == [[1.0] * 3] * 2


def test_a_cell_in_pytorchs_words_gives_its_state_once():
    cell = nn.RNNCell(3, 2, nonlinearity="relu")
    x, h = opsdk.to_tensor(ROWS.astype("float32")), opsdk.to_tensor(ROWS[:, :2].astype("float32"))
    w, u, b, c = (getattr(cell, name).numpy() for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    assert cell(x, h).numpy() == pytest.approx(np.maximum(x.numpy() @ w.T + b + h.numpy() @ u.T + c, 0), abs=1e-6)
    assert cell(x).numpy() == pytest.approx(np.maximum(x.numpy() @ w.T + b + c, 0), abs=1e-6)
    assert nn.RNNCell(3, 2, bias=False).bias_ih is None
    assert [name for name, _ in cell.named_parameters()] == ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]


WRONG = {
    "slopes": (lambda: nn.PReLU(0), "PReLU: num_parameters expected a whole number ≥ 1, got 0"),
    "no slopes": (lambda: nn.PReLU(weight_attr=False), "PReLU: weight_attr expected slopes, got False"),
    "sizes": (lambda: nn.Bilinear(1, 0, 2), "Bilinear: in2_features expected a whole number ≥ 1, got 0"),
    "no weight": (lambda: nn.Bilinear(1, 1, 2, False), "Bilinear: weight_attr expected a weight, got False"),
    "rows": (lambda: nn.EmbeddingBag(0, 2), "EmbeddingBag: num_embeddings expected a whole number ≥ 1, got 0"),
    "cell": (lambda: nn.RNNCell(1, 1, nonlinearity="x"), "activation expected tanh or relu, got 'x'"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises(ValueError, match="expected") as caught:
        call()
    assert text in str(caught.value)
