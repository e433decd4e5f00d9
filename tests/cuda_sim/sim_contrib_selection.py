"""The CUDA kernels of contrib_ops/selection on the simulated device."""

import numpy as np
import pytest

import opsdk
from contrib_ops import masked_select, nonzero


@pytest.mark.parametrize("shape", [(5, 7), (67,), (), (0, 3)], ids=str)
def test_masked_select_takes_elements_in_order_and_its_gradient_puts_them_back(shape, on_device, rng):
    x, mask = rng.normal(size=shape), rng.uniform(size=shape) < 0.4
    tensor = on_device(x, stop_gradient=False)
    y = masked_select(tensor, on_device(mask))
    assert y.place == opsdk.CUDAPlace(0)
    np.testing.assert_array_equal(y.numpy(), x[mask])
    dy = rng.normal(size=y.shape)
    (dx,) = opsdk.grad(y, tensor, grad_outputs=on_device(dy), create_graph=True)
    wanted = np.zeros(shape)
    wanted[mask] = dy
    np.testing.assert_array_equal(dx.numpy(), wanted)
    (second,) = opsdk.grad(opsdk.sum(masked_select(tensor * tensor, on_device(mask))), tensor)
    np.testing.assert_array_equal(second.numpy(), 2 * x * mask)


def test_the_mask_may_lie_in_another_order(on_device, rng):
    x, mask = rng.normal(size=(6, 4)), (rng.uniform(size=(4, 6)) < 0.5).T
    np.testing.assert_array_equal(masked_select(on_device(x), on_device(mask)).numpy(), x[mask])



def test_nonzero_runs_its_reference_on_the_device(on_device):
    x = np.array([[0.0, 2.0], [3.0, 0.0]])
    assert nonzero(on_device(x)).tolist() == [[0, 1], [1, 0]]
