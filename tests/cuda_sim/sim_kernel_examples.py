"""The CUDA kernels of examples/kernels on the simulated device."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda.runtime import is_simulated
from tests.examples.references import EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_cuda_row_gives_what_a_plain_loop_gives_both_ways(example, on_device, rng):
    assert is_simulated()
    inputs, dy, y, gradients = example.call(rng)
    op = getattr(example.load(), example.name)
    tensors = [on_device(array, stop_gradient=False) for array in inputs]
    made = op(*tensors, **example.attrs)
    assert made.place == opsdk.CUDAPlace(0)
    np.testing.assert_allclose(made.numpy(), y, rtol=0, atol=1e-8)
    made.backward(on_device(dy))
    for tensor, wanted in zip(tensors, gradients, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), wanted, rtol=0, atol=1e-7)
