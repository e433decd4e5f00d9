import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, MissingDependencyError, ShapeError, StateDictError
from opsdk.nn.layer.torch_layout import TorchEntry, TorchLayout


class Renamed(nn.Layer):
    """What a normalisation layer has: names of its own, and a count that only PyTorch keeps."""

    torch_layout = TorchLayout({"_mean": TorchEntry("running_mean")}, {"num_batches_tracked": np.int64(0)})

    def __init__(self):
        super().__init__()
        self.register_buffer("_mean", opsdk.arange(3, dtype="float32"))
        self.later = self.create_tensor("later", persistable=True)


def test_the_weight_of_a_linear_is_transposed_also_a_square_one():
    fc = nn.Linear(2, 2)
    fc.weight.set_value([[1.0, 2.0], [3.0, 4.0]])
    state = fc.to_torch_state_dict(numpy=True)
    assert (state["weight"].tolist(), state["bias"].tolist()) == ([[1.0, 3.0], [2.0, 4.0]], [0.0, 0.0])
    state["weight"][0, 1] = 7.0  # memory of its own
    other = nn.Linear(2, 2)
    assert other.from_torch_state_dict(state) == ([], [])
    assert (other.weight.tolist(), fc.weight.tolist()) == ([[1.0, 2.0], [7.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]])


def test_names_go_by_each_layers_own_table():
    net = nn.Sequential(("fc", nn.Linear(3, 3)), ("norm", Renamed()))
    state = net.to_torch_state_dict(numpy=True)
    assert list(state) == ["fc.weight", "fc.bias", "norm.running_mean", "norm.num_batches_tracked"]
    assert state["norm.num_batches_tracked"].shape == ()
    state["norm.running_mean"] = [5, 6, 7]
    assert net.from_torch_state_dict(state) == ([], [])
    assert net.norm._mean.tolist() == [5.0, 6.0, 7.0]


def test_what_does_not_fit_is_told_in_this_layers_names():
    net = nn.Sequential(nn.Linear(2, 3))
    with pytest.raises(
        StateDictError, match=r"from_torch_state_dict: expected exactly the keys .* missing: 0\.bias; un"
    ):
        net.from_torch_state_dict({"0.weight": np.zeros((3, 2)), "0.running_mean": np.zeros(3)})
    with pytest.raises(ShapeError, match=r"'0\.weight': expected shape \(2, 3\), got \(3, 2\)"):
        net.from_torch_state_dict({"0.weight": np.zeros((2, 3)), "0.bias": np.zeros(3)})
    with pytest.raises(ShapeError, match=r"expected shape \(2, 3\), got \(6,\)"):
        net.from_torch_state_dict({"0.weight": np.zeros(6)}, strict=False)
    with pytest.raises(
        AttributeValueError, match="from_torch_state_dict: expected a mapping from names to tensors, got"
    ):
        net.from_torch_state_dict([1])


def test_without_pytorch_tensors_are_refused_by_name(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingDependencyError, match="to_torch_state_dict needs torch"):
        nn.Linear(1, 1).to_torch_state_dict()


def test_weights_cross_to_pytorch_and_back():
    torch = pytest.importorskip("torch")
    ours, theirs = (
        nn.Sequential(nn.Linear(3, 3), nn.Tanh()),
        torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()),
    )
    theirs.load_state_dict(ours.to_torch_state_dict())
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.allclose(ours(opsdk.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), atol=1e-6)
    half = torch.nn.Sequential(torch.nn.Linear(3, 3)).to(torch.bfloat16)
    assert nn.Sequential(nn.Linear(3, 3)).bfloat16().from_torch_state_dict(half.state_dict()) == ([], [])
    assert nn.Linear(2, 2).bfloat16().to_torch_state_dict()["weight"].dtype == torch.bfloat16
