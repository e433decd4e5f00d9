"""Runs of kernels, as `verify` makes them."""

import numpy as np

import opsdk
from opsdk.verify.kernels.launch import launch


def test_a_row_that_is_added_between_two_runs_serves_the_second():
    @opsdk.op("t::twice(Tensor x) -> Tensor y")
    def twice(x):
        return x * 2

    x = np.ones(3)
    assert launch(twice.opdef, None, [x], {})[0].tolist() == [2.0] * 3

    @twice.kernel("cpu", language="numba")
    def twice_numba(x):
        return x * 3

    assert launch(twice.opdef, None, [x], {})[0].tolist() == [3.0] * 3
