"""fake_quantize: values beside torch.fake_quantize, gradients beside LSQ's pseudo-code with detached tensors."""

import numpy as np
import pytest

import opsdk
from contrib_ops import fake_quantize
from contrib_ops.quantization import fake_quantize as _op  # noqa: F401 - the family exports it too


def lsq(torch, x, scale, low, high, factor):
    """Appendix A of the paper: gradscale(s, g), then roundpass(clamp(x / s)) · s."""
    moved = scale * factor + (scale - scale * factor).detach()
    steps = (x / moved).clamp(low, high)
    return moved * (steps + (steps.round() - steps).detach())


@pytest.mark.parametrize(("low", "high"), [(-128, 127), (0, 255), (-2, 1)])
def test_values_are_those_of_torch(low, high, rng):
    torch = pytest.importorskip("torch")
    x = rng.normal(size=(8, 33)).astype("float32")
    y = fake_quantize(x, np.array(0.0625, "float32"), quant_min=low, quant_max=high)
    wanted = torch.fake_quantize_per_tensor_affine(torch.tensor(x), 0.0625, 0, low, high)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, wanted.numpy())


@pytest.mark.parametrize("shape", [(), (3, 1), (2, 3, 4)])
@pytest.mark.parametrize(("low", "high", "factor"), [(-128, 127, 1.0), (-2, 1, 0.25), (0, 3, 0.1)])
def test_gradients_are_those_of_the_paper(shape, low, high, factor, rng):
    torch = pytest.importorskip("torch")
    values, dy = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    steps = rng.uniform(0.2, 0.5, shape)
    x, scale = opsdk.to_tensor(values, stop_gradient=False), opsdk.to_tensor(steps, stop_gradient=False)
    y = fake_quantize(x, scale, quant_min=low, quant_max=high, grad_factor=factor)
    y.backward(opsdk.to_tensor(dy))
    tx, tscale = (torch.tensor(array, requires_grad=True) for array in (values, steps))
    wanted = lsq(torch, tx, tscale, low, high, factor)
    wanted.backward(torch.tensor(dy))
    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-15)
    np.testing.assert_allclose(scale.grad.numpy(), tscale.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_each_case_of_the_papers_equation_by_hand():
    x = opsdk.to_tensor(np.array([-9.0, -2.0, -0.75, 0.3, 1.0, 9.0]), stop_gradient=False)
    scale = opsdk.to_tensor(np.ones(6), stop_gradient=False)
    y = fake_quantize(x, scale, quant_min=-2, quant_max=1)
    y.sum().backward()
    assert y.numpy().tolist() == [-2.0, -2.0, -1.0, 0.0, 1.0, 1.0]
    assert x.grad.numpy().tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(scale.grad.numpy(), [-2.0, -2.0, -0.25, -0.3, 1.0, 1.0], rtol=1e-15)


def test_halves_go_to_the_even_level():
    assert fake_quantize(np.array([0.5, 1.5, 2.5, -0.5]), np.array(1.0)).tolist() == [0.0, 2.0, 2.0, 0.0]


def test_nan_is_handed_on_and_infinities_are_held():
    y = fake_quantize(np.array([np.nan, np.inf, -np.inf]), np.array(0.5), quant_min=-4, quant_max=3)
    np.testing.assert_array_equal(y, [np.nan, 1.5, -2.0])


def test_the_step_is_learned():
    x = np.linspace(-1, 1, 101)
    scale = opsdk.to_tensor(np.array(0.02), stop_gradient=False)
    errors = []
    for _ in range(60):
        y = fake_quantize(opsdk.to_tensor(x), scale, quant_min=-4, quant_max=3)
        error = ((y - opsdk.to_tensor(x)) ** 2.0).mean()
        (slope,) = opsdk.grad(error, scale)
        scale = opsdk.to_tensor(scale.numpy() - 0.02 * slope.numpy(), stop_gradient=False)
        errors.append(float(error.numpy()))
    assert errors[-1] < errors[0] / 20
    assert 0.2 < float(scale.numpy()) < 0.35  # 2/7 divides the interval evenly


@pytest.mark.parametrize("scale", [[0.0], [0.5, -0.25]])
def test_a_scale_that_is_not_above_0_is_refused(scale):
    message = rf"op 'contrib::fake_quantize': scale expected above 0, got {min(scale)}; learn its logarithm, or take"
    with pytest.raises(ValueError, match=message):
        fake_quantize(np.ones((3, len(scale))), np.array(scale))


def test_levels_on_the_other_side_of_0_are_refused():
    with pytest.raises(ValueError, match="'quant_min' expected int <= 0, got 3; write quant_min=0"):
        fake_quantize(np.ones(3), np.array(1.0), quant_min=3, quant_max=1)
