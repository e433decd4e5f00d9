"""Numba kernels that are compiled with their indices checked."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import NotWatchedError

numba = pytest.importorskip("numba")
from opsdk.backends.numba.watched import watched  # noqa: E402


@numba.njit
def following(x, i):
    return x[i + 1]


def copied(**options):
    @opsdk.op("t::copied(Tensor x) -> Tensor y")
    def copied(x):
        return x + 0

    @copied.kernel("cpu", language="numba", **options)
    def copied_numba(x, y):
        for i in numba.prange(x.size):
            y[i] = x[i] + 0 * (following(x, i) > 1.5)

    return copied, [*copied.opdef.kernels][-1]


def test_an_index_beyond_an_array_is_told_by_the_line_of_the_text():
    made, kernel = copied(parallel=True)
    (fault,) = watched(made.opdef, kernel, [([np.ones(5000)], {}), ([np.ones(6000)], {})])
    assert (fault.call, fault.kind) == (0, "bounds")
    assert fault.message == "index 5000 is out of bounds for axis 0 with size 5000"
    assert (
        fault.at == f"tests/backends/numba/test_watched.py:{following.py_func.__code__.co_firstlineno + 2}, following"
    )


def test_a_kernel_that_does_not_run_so_is_not_taken_for_a_right_one():
    @opsdk.op("t::never(Tensor x) -> Tensor y")
    def never(x):
        return x

    @never.kernel("cpu", language="numba")
    def never_numba(x, y):
        raise ValueError("never")

    with pytest.raises(NotWatchedError, match="it does not run with its indices checked, ValueError: never"):
        list(watched(never.opdef, [*never.opdef.kernels][-1], [([np.ones(2)], {})]))


def test_in_debug_mode_an_index_beyond_an_array_raises():
    made, _ = copied()
    x = np.ones(3)
    assert made(x).tolist() == [1, 1, 1]  # whatever lies behind
    opsdk.set_flags(debug=True)
    try:
        with pytest.raises(IndexError, match="index is out of bounds"):
            made(x)
    finally:
        opsdk.set_flags(debug=False)
