"""CUDA kernels of the surrogate ops of contrib_ops, and rotary_embedding's reference, on the simulated device."""

import numpy as np
import pytest

import opsdk
from contrib_ops import fake_quantize, rotary_embedding, topk_straight_through


@pytest.mark.parametrize("k", [0, 1, 3, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_topk_keeps_what_a_sort_keeps_with_ties_and_nan(k, dtype, on_device):
    rows = [[1.0, 2.0, 2.0, 0.0, 2.0], [3.0] * 5, [np.nan, 1.0, np.nan, np.inf, -1.0]]
    first = [[1, 2, 4, 0, 3], [0, 1, 2, 3, 4], [0, 2, 3, 1, 4]]  # positions from the greatest, the earlier first
    wanted = [[v if j in order[:k] else 0.0 for j, v in enumerate(row)] for row, order in zip(rows, first, strict=True)]
    x = on_device(np.array(rows, dtype), stop_gradient=False)
    y = topk_straight_through(x, k=k)
    assert y.place == opsdk.CUDAPlace(0)
    np.testing.assert_array_equal(y.numpy(), wanted)
    y.sum().backward()
    assert x.grad.numpy().tolist() == [[1.0] * 5] * 3


def test_topk_has_more_entries_in_a_row_than_threads_in_a_block(on_device, rng):
    x = rng.normal(size=(1, 130))
    np.testing.assert_array_equal(
        topk_straight_through(on_device(x), k=40).numpy(), np.where(x >= np.sort(x[0])[-40], x, 0)
    )


def test_fake_quantize_and_its_gradients_are_the_papers_equation(on_device):
    x = on_device([-9.0, -0.75, 0.3, 9.0], stop_gradient=False)
    scale = on_device([1.0], stop_gradient=False)
    y = fake_quantize(x, scale, quant_min=-2, quant_max=1)
    y.sum().backward()
    assert y.numpy().tolist() == [-2.0, -1.0, 0.0, 1.0]
    assert x.grad.numpy().tolist() == [0.0, 1.0, 1.0, 0.0]
    np.testing.assert_allclose(scale.grad.numpy(), [-2.0 - 0.25 - 0.3 + 1.0], rtol=1e-14)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding_turns_there_and_back(interleaved, on_device, rng):
    x, angles = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 2))
    cos, sin = on_device(np.cos(angles)), on_device(np.sin(angles))
    tensor = on_device(x, stop_gradient=False)
    y = rotary_embedding(tensor, cos, sin, interleaved=interleaved)
    y.backward(y.detach())
    assert y.place == opsdk.CUDAPlace(0)
    np.testing.assert_allclose(y.numpy(), rotary_embedding(x, np.cos(angles), np.sin(angles), interleaved=interleaved))
    np.testing.assert_allclose(tensor.grad.numpy(), x, rtol=1e-13)
