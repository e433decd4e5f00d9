"""learned_step: values by hand, gradients beside the pseudo-code of LSQ, scaled as in the paper."""

import numpy as np
import pytest

import opsdk
from contrib_ops import learned_step
from tests.contrib_ops.quantization.test_fake_quantize import lsq

CASES = [(8, True, ()), (2, True, (3, 1)), (3, False, ()), (4, False, (4,))]


@pytest.mark.parametrize(("bits", "signed", "shape"), CASES)
def test_values_and_gradients_are_those_of_the_paper(bits, signed, shape, rng):
    torch = pytest.importorskip("torch")
    values, dy, steps = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4)), rng.uniform(0.2, 0.5, shape)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    x, step = opsdk.to_tensor(values, stop_gradient=False), opsdk.to_tensor(steps, stop_gradient=False)
    y = learned_step(x, step, bits=bits, signed=signed)
    y.backward(opsdk.to_tensor(dy))
    tx, tstep = (torch.tensor(array, requires_grad=True) for array in (values, steps))
    wanted = lsq(torch, tx, tstep, low, high, (24 / steps.size * high) ** -0.5)
    wanted.backward(torch.tensor(dy))
    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-15)
    np.testing.assert_allclose(step.grad.numpy(), tstep.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_the_gradient_of_a_step_by_hand():
    x = opsdk.to_tensor(np.array([-9.0, -0.75, 0.3, 9.0]), stop_gradient=False)
    step = opsdk.to_tensor(np.array(1.0), stop_gradient=False)
    y = learned_step(x, step, bits=2)
    y.sum().backward()
    assert y.numpy().tolist() == [-2.0, -1.0, 0.0, 1.0]
    assert x.grad.numpy().tolist() == [0.0, 1.0, 1.0, 0.0]
    assert float(step.grad.numpy()) == pytest.approx((-2.0 - 0.25 - 0.3 + 1.0) / 2)  # 4 elements, Q_P = 1


@pytest.mark.parametrize("bits", [1, 17, 0])
def test_another_number_of_bits_is_refused(bits):
    with pytest.raises(ValueError, match=rf"'bits' expected 2 <= int <= 16, got {bits}; write bits="):
        learned_step(np.ones(3), np.array(1.0), bits=bits)
