"""Tests of opsdk.nn.layer.normalization."""

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, ShapeError


@pytest.mark.parametrize(
    ("layer", "text"),  # as Paddle 3.3.1 and PyTorch 2.14 print them
    [
        (nn.BatchNorm1D(4), "BatchNorm1D(num_features=4, momentum=0.9, epsilon=1e-05, data_format=NCL)"),
        (nn.BatchNorm2D(4), "BatchNorm2D(num_features=4, momentum=0.9, epsilon=1e-05)"),
        (nn.LayerNorm([3, 4]), "LayerNorm(normalized_shape=[3, 4], epsilon=1e-05)"),
        (nn.GroupNorm(2, 4), "GroupNorm(num_groups=2, num_channels=4, epsilon=1e-05)"),
        (nn.InstanceNorm2D(4), "InstanceNorm2D(num_features=4, epsilon=1e-05)"),
        (
            nn.BatchNorm2d(4),
            "BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ),
        (
            nn.InstanceNorm2d(4),
            "InstanceNorm2d(4, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)",
        ),
        (nn.RMSNorm(4), "RMSNorm((4,), eps=None, elementwise_affine=True)"),
    ],
)
def test_layers_print_as_in_their_library(layer, text):
    assert repr(layer) == text


def test_what_is_kept_has_the_names_of_its_library():
    layer = nn.BatchNorm2D(4)
    assert list(layer.state_dict()) == ["weight", "bias", "_mean", "_variance"]
    assert [p.stop_gradient for p in layer.parameters()] == [False, False, True, True]  # parameters, as in Paddle
    other = nn.BatchNorm2d(4)
    assert list(other.state_dict()) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]
    assert [name for name, _ in other.named_parameters()] == ["weight", "bias"]
    assert list(nn.InstanceNorm2D(4).state_dict()) == ["scale", "bias"]
    assert {name: list(p.shape) for name, p in nn.LayerNorm([3, 4]).state_dict().items()} == {
        "weight": [12],
        "bias": [12],
    }
    assert list(nn.BatchNorm1d(4, affine=False, track_running_stats=False).state_dict()) == []


def test_what_is_kept_goes_to_pytorch_and_back():
    net = nn.Sequential(nn.BatchNorm2D(2), nn.InstanceNorm2D(2), nn.LayerNorm([2, 3]))
    there = net.to_torch_state_dict(numpy=True)
    assert {name: array.shape for name, array in there.items()} == {
        **dict.fromkeys(("0.weight", "0.bias", "0.running_mean", "0.running_var"), (2,)),
        "0.num_batches_tracked": (),
        **dict.fromkeys(("1.weight", "1.bias"), (2,)),
        **dict.fromkeys(("2.weight", "2.bias"), (2, 3)),
    }
    there = {name: np.arange(array.size, dtype="float32").reshape(array.shape) for name, array in there.items()}
    net.from_torch_state_dict(there)
    assert net[0]._variance.tolist() == net[1].scale.tolist() == [0, 1]
    assert net[2].weight.tolist() == [0, 1, 2, 3, 4, 5]


def test_running_statistics_of_paddle_and_of_pytorch():
    x = opsdk.to_tensor([[1.0], [2.0], [4.0]])
    paddle, torch = nn.BatchNorm1D(1), nn.BatchNorm1d(1)
    paddle(x), torch(x)
    np.testing.assert_allclose((paddle._mean.item(), paddle._variance.item()), (0.23333338, 1.0555556), rtol=1e-6)
    np.testing.assert_allclose((torch.running_mean.item(), torch.running_var.item()), (0.2333333, 1.1333333), rtol=1e-6)
    assert torch.num_batches_tracked.item() == 1


def test_evaluation_takes_what_training_kept():
    x = opsdk.to_tensor([[1.0], [2.0], [4.0]])
    layer = nn.BatchNorm1d(1, momentum=1.0, eps=1e-12)
    layer(x)
    out = layer.eval()(opsdk.to_tensor([[7 / 3]]))
    assert abs(out.item()) < 1e-6
    assert layer.num_batches_tracked.item() == 1  # which evaluation leaves


def test_global_statistics_may_be_taken_in_training_or_never():
    x = opsdk.to_tensor([[1.0], [3.0]])
    np.testing.assert_allclose(nn.BatchNorm1D(1, use_global_stats=True)(x).numpy(), [[1], [3]], rtol=1e-4)
    np.testing.assert_allclose(nn.BatchNorm1D(1, use_global_stats=False).eval()(x).numpy(), [[-1], [1]], rtol=1e-4)


def test_statistics_of_paddle_are_not_trained():
    layer = nn.BatchNorm2D(2)
    optimizer = opsdk.optimizer.SGD(learning_rate=0.1, parameters=layer.parameters())
    (layer(opsdk.randn([4, 2, 3, 3])) ** 2.0).sum().backward()
    before = layer._mean.numpy().copy()
    optimizer.step()
    np.testing.assert_array_equal(layer._mean.numpy(), before)
    assert layer._mean.grad is None
    assert layer.weight.grad.shape == [2]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: nn.BatchNorm2D(4)(opsdk.ones([4, 4, 2])),
            ShapeError,
            r"BatchNorm2D: x expected 4 axes, got shape \(4, 4, 2\)",
        ),
        (
            lambda: nn.BatchNorm1d(4)(opsdk.ones([4, 4, 2, 2])),
            ShapeError,
            "BatchNorm1d: x expected 2 or 3 axes, got shape",
        ),
        (
            lambda: nn.BatchNorm2D(4)(opsdk.ones([1, 3, 2, 2])),
            ShapeError,
            "weight expected one element for each channel of x",
        ),
        (lambda: nn.BatchNorm2d(1)(opsdk.ones([1, 1, 1, 1])), ValueError, "x expected 2 values per channel or more"),
        (
            lambda: nn.BatchNorm2D(0),
            AttributeValueError,
            "BatchNorm2D: num_features expected a whole number ≥ 1, got 0",
        ),
        (
            lambda: nn.BatchNorm2D(4, data_format="NCL"),
            AttributeValueError,
            "data_format expected one of NCHW, NHWC, got 'NCL'",
        ),
        (lambda: nn.GroupNorm(3, 4), AttributeValueError, "num_groups expected to divide num_channels, got 3 and 4"),
        (
            lambda: nn.InstanceNorm2d(4, track_running_stats=True),
            AttributeValueError,
            "track_running_stats expected False, got True; statistics are those of each",
        ),
    ],
)
def test_misuse_is_refused_by_name(call, error, text):
    with pytest.raises(error, match=text):
        call()
