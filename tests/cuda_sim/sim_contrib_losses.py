"""The CUDA kernels of contrib_ops/losses on the simulated device."""

import numpy as np
import pytest

import opsdk
from contrib_ops.losses.ctc_loss import ctc_terms
from contrib_ops.losses.soft_dtw import soft_dtw


def both_ways(op, inputs, dy, place, **attrs):
    """Value and gradient of the first input, on the device and by the reference kernels on the host."""
    with opsdk.no_grad():
        wanted = op.opdef.kernels.reference().source(*inputs, **attrs)
        grad = op.grad.opdef.kernels.reference().source(*inputs, dy, **attrs)
    x = place(inputs[0], stop_gradient=False)
    y = op(x, *map(place, inputs[1:]), **attrs)
    y.backward(place(dy))
    return (y.numpy(), wanted), (x.grad.numpy(), grad)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 3), (1, 66, 1), (1, 1, 1), (0, 2, 2)])
@pytest.mark.parametrize("gamma", [0.1, 2.0])
def test_soft_dtw_gives_what_the_reference_gives_both_ways(shape, gamma, on_device, rng):
    inputs, dy = (rng.normal(size=shape),), rng.normal(size=shape[:1])
    for got, wanted in both_ways(soft_dtw, inputs, dy, on_device, gamma=gamma):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("flat", [False, True])
def test_ctc_gives_what_the_reference_gives_both_ways(flat, on_device, rng):
    log_probs = rng.normal(size=(6, 4, 5))
    log_probs[rng.random(log_probs.shape) < 0.1] = -np.inf
    targets, inputs, sizes = rng.integers(1, 5, (4, 3)), np.array([6, 4, 0, 2]), np.array([3, 2, 0, 3])
    targets[3] = 1  # 1 1 1 takes 5 steps
    if flat:
        targets = np.concatenate([row[:size] for row, size in zip(targets, sizes, strict=True)])
    with np.errstate(all="ignore"):
        pairs = both_ways(ctc_terms, (log_probs, targets, inputs, sizes), rng.normal(size=4), on_device, blank=0)
    for got, wanted in pairs:
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-13)


def test_nan_stays_where_it_counts_and_no_sequence_is_no_loss(on_device):
    log_probs = np.full((2, 2, 3), -1.0)
    log_probs[0, 1, 1] = np.nan
    lengths = on_device(np.array([2, 2])), on_device(np.array([1, 1]))
    loss = ctc_terms(on_device(log_probs), on_device(np.array([[1], [1]])), *lengths).numpy()
    np.testing.assert_allclose(loss[0], -np.log(3 * np.exp(-2.0)))  # 1_ _1 11
    assert np.isnan(loss[1])
    none = on_device(np.zeros(0, int))
    empty = ctc_terms(on_device(np.zeros((2, 0, 3))), on_device(np.zeros((0, 1), int)), none, none)
    assert empty.numpy().shape == (0,)
