"""The CUDA kernels of contrib_ops/segments on the simulated device."""

import numpy as np
import pytest

from contrib_ops import segment_sum
from opsdk.core.errors import InputValueError

IDS = np.array([2, 0, 2, 2, 4, 0])


@pytest.mark.parametrize("shape", [(6,), (6, 3), (6, 2, 2), (6, 0)])
def test_segment_sum_gives_what_the_reference_gives_both_ways(shape, on_device, rng):
    data = rng.normal(size=shape)
    x = on_device(data, stop_gradient=False)
    y = segment_sum(x, on_device(IDS), 5)
    wanted = np.zeros((5, *shape[1:]))
    np.add.at(wanted, IDS, data)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-14)
    dy = rng.normal(size=wanted.shape)
    y.backward(on_device(dy))
    np.testing.assert_array_equal(x.grad.numpy(), dy[IDS])


def test_ids_outside_are_refused_before_the_kernel_runs(on_device):
    with pytest.raises(InputValueError, match=r"segment_ids expected in \[0, 4\), got 0 to 4"):
        segment_sum(on_device(np.ones(6)), on_device(IDS), 4)
