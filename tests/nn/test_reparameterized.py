import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError
from opsdk.nn.utils import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

X = np.sin(np.arange(6.0)).reshape(2, 3)


def linear():
    layer = nn.Linear(3, 4).double()
    layer.weight.set_value(np.cos(np.arange(12.0)).reshape(3, 4))
    return layer


@pytest.mark.parametrize(("dim", "axis"), [(0, 1), (1, 0), (None, None)])
def test_a_weight_is_its_lengths_times_its_direction(dim, axis):
    layer = linear()
    before, w = layer(opsdk.to_tensor(X)).numpy(), layer.weight.numpy()
    assert weight_norm(layer, dim=dim) is layer
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"]
    lengths = np.sqrt((w**2).sum(axis)).reshape(-1)
    assert layer.weight_g.tolist() == pytest.approx(lengths)  # of Paddle's shape
    assert layer(opsdk.to_tensor(X)).numpy() == pytest.approx(before)
    layer.weight_g.set_value(lengths * 2)
    (layer(opsdk.to_tensor(X)) - layer.bias).sum().backward()
    # Σ x w grows with each length by what it is per length
    per_slice = (X.sum(0)[:, None] * w).sum(axis).reshape(-1)
    assert layer.weight_g.grad.tolist() == pytest.approx(per_slice / lengths)
    remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    assert layer.weight.numpy() == pytest.approx(2 * w)
    assert layer(opsdk.to_tensor(X)).numpy() == pytest.approx(2 * before - layer.bias.numpy())


def test_a_spectral_norm_divides_by_the_greatest_singular_value():
    layer = linear()
    w = layer.weight.numpy()
    spectral_norm(layer, n_power_iterations=50)
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert (layer.weight_u.shape, layer.weight_v.shape) == ([4], [3])  # outputs lie at axis 1 of a Linear
    found = layer(opsdk.to_tensor(X)) - layer.bias
    expected = X @ w / np.linalg.svd(w, compute_uv=False)[0]
    assert found.numpy() == pytest.approx(expected, rel=1e-9)
    found.sum().backward()
    layer.eval()
    u = layer.weight_u.numpy()
    layer(opsdk.to_tensor(X))
    assert layer.weight_u.tolist() == u.tolist()
    remove_spectral_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert np.linalg.norm(layer.weight.numpy(), 2) == pytest.approx(1.0)


def test_a_spectral_norm_goes_one_step_each_call_and_differentiates_the_quotient():
    layer = nn.Conv2d(1, 2, 1, bias=False).double()
    layer.weight.set_value(np.array([3.0, 4.0]).reshape(2, 1, 1, 1))
    spectral_norm(layer)
    out = layer(opsdk.ones([1, 1, 1, 1], dtype="float64"))
    assert out.numpy().ravel() == pytest.approx([0.6, 0.8])  # w / 5, whose derivative along w is 0
    (out * opsdk.to_tensor(np.array([1.0, 0.0]).reshape(1, 2, 1, 1))).sum().backward()
    assert layer.weight_orig.grad.numpy().ravel() == pytest.approx([0.2 * (1 - 0.36), -0.2 * 0.48])


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda layer: weight_norm(layer, "kernel"),
            r"weight_norm: name expected a parameter of Linear \(weight, bias\)",
        ),
        (lambda layer: weight_norm(layer, dim=2), r"weight_norm: dim expected an axis of the weight \[3, 4\], got 2"),
        (lambda layer: spectral_norm(layer, n_power_iterations=0), "n_power_iterations expected an integer ≥ 1, got 0"),
        (
            lambda layer: remove_weight_norm(layer),
            "expected a weight that weight_norm or spectral_norm computes, got 'w",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused(make, match):
    layer = linear()
    with pytest.raises(AttributeValueError, match=match):
        make(layer)
    assert list(layer.state_dict()) == ["weight", "bias"]
