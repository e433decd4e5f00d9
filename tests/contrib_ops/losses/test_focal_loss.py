"""focal_loss: beside torchvision's formula in PyTorch's float64, and far out beside mpmath."""

import mpmath
import numpy as np
import pytest

import opsdk
from contrib_ops import focal_loss

SETTINGS = [(0.25, 2.0), (-1.0, 2.0), (0.5, 0.0), (0.9, 0.5), (1.0, 5.0)]


def formula(torch, x, t, alpha, gamma, reduction="none"):
    """What torchvision.ops.sigmoid_focal_loss computes, by its documentation."""
    p = torch.sigmoid(x)
    p_t = p * t + (1 - p) * (1 - t)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x, t, reduction="none") * (1 - p_t) ** gamma
    if alpha >= 0:
        loss = (alpha * t + (1 - alpha) * (1 - t)) * loss
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum}[reduction]()


@pytest.mark.parametrize("targets", ["hard", "soft"])
@pytest.mark.parametrize(("alpha", "gamma"), SETTINGS)
def test_values_and_gradients_are_those_of_the_formula(alpha, gamma, targets, rng):
    torch = pytest.importorskip("torch")
    values, dy = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    labels = rng.integers(0, 2, (4, 5)).astype(float) if targets == "hard" else rng.uniform(size=(4, 5))
    x, t = (opsdk.to_tensor(array, stop_gradient=False) for array in (values, labels))
    loss = focal_loss(x, t, alpha=alpha, gamma=gamma)
    loss.backward(opsdk.to_tensor(dy))
    tx, tt = (torch.tensor(array, requires_grad=True) for array in (values, labels))
    wanted = formula(torch, tx, tt, alpha, gamma)
    wanted.backward(torch.tensor(dy))
    np.testing.assert_allclose(loss.numpy(), wanted.detach().numpy(), rtol=1e-11)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(t.grad.numpy(), tt.grad.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_reductions_give_a_scalar_and_its_second_derivative(reduction, rng):
    torch = pytest.importorskip("torch")
    values, labels = rng.normal(size=6), rng.integers(0, 2, 6).astype(float)
    x = opsdk.to_tensor(values, stop_gradient=False)
    loss = focal_loss(x, opsdk.to_tensor(labels), reduction=reduction)
    (first,) = opsdk.grad(loss, x, create_graph=True)
    (second,) = opsdk.grad((first * first).sum(), x)
    tx = torch.tensor(values, requires_grad=True)
    wanted = formula(torch, tx, torch.tensor(labels), 0.25, 2.0, reduction)
    (tfirst,) = torch.autograd.grad(wanted, tx, create_graph=True)
    (tsecond,) = torch.autograd.grad((tfirst * tfirst).sum(), tx)
    assert loss.shape == []
    np.testing.assert_allclose(loss.numpy(), wanted.item(), rtol=1e-13)
    np.testing.assert_allclose(second.numpy(), tsecond.numpy(), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_nothing_is_lost_far_out(gamma):
    values = np.array([-700.0, -100.0, -30.0, 30.0, 100.0, 700.0] * 2)
    labels = np.repeat([0.0, 1.0], 6)
    x = opsdk.to_tensor(values, stop_gradient=False)
    loss = focal_loss(x, opsdk.to_tensor(labels), gamma=gamma)
    loss.sum().backward()

    def exact(value, label):
        sign = mpmath.mpf(1 if label else -1)
        weight = mpmath.mpf("0.25") if label else mpmath.mpf("0.75")
        return lambda v: weight * mpmath.log1p(mpmath.exp(-sign * v)) / (1 + mpmath.exp(sign * v)) ** gamma

    with mpmath.workdps(700):
        functions = [
            (exact(value, label), mpmath.mpf(float(value))) for value, label in zip(values, labels, strict=True)
        ]
        wanted = [float(function(at)) for function, at in functions]
        slopes = [float(mpmath.diff(function, at, h=mpmath.mpf("1e-300"))) for function, at in functions]
    np.testing.assert_allclose(loss.numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_stay_finite_where_probabilities_vanish(gamma, dtype):
    values = np.array([-1e4, -800.0, -104.0, -89.0, 89.0, 104.0, 800.0, 1e4] * 2, dtype)
    x = opsdk.to_tensor(values, stop_gradient=False)
    labels = opsdk.to_tensor(np.repeat([0.0, 1.0], 8).astype(dtype))
    focal_loss(x, labels, gamma=gamma, reduction="sum").backward()
    gradient = x.grad.numpy()
    assert gradient.dtype == dtype
    np.testing.assert_allclose(
        gradient[4:8], 0.75, rtol=1e-3 if gamma else 1e-6, atol=gamma
    )  # predicted wrong: about 1
    np.testing.assert_allclose(gradient[:4], 0, atol=1e-30)  # predicted right
    np.testing.assert_allclose(gradient[12:], 0, atol=1e-30)


def test_no_elements_have_the_sum_0_and_the_mean_nan():
    nothing = np.zeros((0, 3))
    assert focal_loss(nothing, nothing, reduction="sum") == 0
    with np.errstate(all="ignore"):
        assert np.isnan(focal_loss(nothing, nothing, reduction="mean"))
    assert focal_loss(nothing, nothing).shape == (0, 3)


@pytest.mark.parametrize("runtime", ["arrays", "tape"])
def test_another_reduction_is_refused(runtime):
    x = np.ones(3) if runtime == "arrays" else opsdk.to_tensor(np.ones(3), stop_gradient=False)
    with pytest.raises(ValueError, match=r"'reduction' expected 'none' \| 'mean' \| 'sum', got 'batch'; write"):
        focal_loss(x, np.ones(3), reduction="batch")
