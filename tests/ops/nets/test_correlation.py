"""Tests of opsdk.ops.nets.correlation."""

import numpy as np
import pytest

from opsdk.ops.nets.correlation import correlate, correlate_back, correlate_weight
from opsdk.ops.nets.geometry import Steps
from tests.ops.nets.loops import convolved

# x, weight, groups, stride, dilation, before, sizes of the result
CALLS = {
    "plain": ((2, 2, 4, 5), (3, 2, 2, 3), 1, (1, 1), (1, 1), (0, 0), (3, 3)),
    "a stride and a dilation with a common divisor": ((1, 1, 9, 7), (2, 1, 3, 2), 1, (4, 2), (2, 4), (1, 3), (2, 3)),
    "a stride beyond the kernel": ((1, 2, 8, 3), (1, 2, 2, 1), 1, (3, 4), (1, 1), (0, 0), (3, 1)),
    "a dilation beyond the stride": ((1, 1, 7), (1, 1, 3), 1, (2,), (3,), (2,), (3,)),
    "elements left out before": ((1, 1, 6, 6), (1, 1, 2, 2), 1, (1, 2), (1, 1), (-2, -1), (3, 2)),
    "groups of several channels": ((2, 4, 3, 3), (6, 2, 2, 2), 2, (1, 1), (1, 1), (1, 1), (4, 4)),
    "all of the kernel outside": ((1, 1, 2), (1, 1, 2), 1, (1,), (1,), (5,), (8,)),
    "three axes": ((1, 1, 3, 2, 4), (2, 1, 2, 1, 2), 1, (1, 1, 2), (1, 1, 1), (1, 0, 1), (4, 2, 3)),
    "many images in one product": ((40, 1, 3, 3), (1, 1, 2, 2), 1, (1, 1), (1, 1), (0, 0), (2, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_correlation_and_its_transposes_are_those_of_loops(rng, name):
    size, kernel, groups, stride, dilation, before, sizes = CALLS[name]
    x, weight = rng.normal(size=size), rng.normal(size=kernel)
    steps = Steps(stride, dilation, before)
    out = np.full((len(x), len(weight), *sizes), np.nan)
    correlate(x, weight, groups, steps, out)
    np.testing.assert_allclose(out, convolved(x, weight, stride, before, dilation, groups, sizes), atol=1e-12)

    dout, other, turned = rng.normal(size=out.shape), rng.normal(size=size), rng.normal(size=kernel)
    dx = np.full(size, np.nan)
    correlate_back(dout, weight, groups, steps, dx)
    by_other = convolved(other, weight, stride, before, dilation, groups, sizes)
    np.testing.assert_allclose((dx * other).sum(), (dout * by_other).sum())
    dweight = correlate_weight(x, dout, kernel[2:], groups, steps)
    by_turned = convolved(x, turned, stride, before, dilation, groups, sizes)
    np.testing.assert_allclose((dweight * turned).sum(), (dout * by_turned).sum())


def test_numbers_of_16_bits_are_added_in_float32():
    x, weight = np.full((1, 4096, 1), 1.0, np.float16), np.full((1, 4096, 1), 1.0, np.float16)
    out = np.empty((1, 1, 1), np.float16)
    correlate(x, weight, 1, Steps((1,), (1,), (0,)), out)
    assert out.item() == 4096  # float16 stands still at 2048
