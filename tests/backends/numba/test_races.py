"""Parallel loops of Numba kernels, two steps of which are at one element."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import NotWatchedError

numba = pytest.importorskip("numba")
from numba import prange  # noqa: E402

from opsdk.backends.numba.races import races  # noqa: E402


def found(kernel, x=None, reference=lambda x: x + 0):
    made = opsdk.op("t::f(Tensor x) -> Tensor y", infer=lambda x: x)(reference)
    made.kernel("cpu", kernel, language="numba", parallel=True)
    x = np.arange(1.0, 9) if x is None else x
    return [*races(made.opdef, [*made.opdef.kernels][-1], [([x], {})])]


def test_two_steps_that_add_to_one_element_race():
    def kernel(x, y):
        y[:] = 0
        for i in numba.prange(x.size):
            y[i // 3] += x[i]

    (fault,) = found(kernel)
    assert (fault.call, fault.kind) == (0, "race")
    assert fault.message == "steps 0 and 1 of the parallel loop both write y[0], of shape (8,)"
    assert fault.at == f"tests/backends/numba/test_races.py:{kernel.__code__.co_firstlineno + 2}, kernel"


def test_a_step_that_reads_what_another_writes_races():
    def kernel(x, y):
        y[:] = x
        for i in prange(1, x.size):
            y[i] += y[i - 1]

    (fault,) = found(kernel)
    assert fault.message == "a step of the parallel loop reads what another one writes, which shows in 'y'"


def test_an_array_of_the_kernels_own_that_all_steps_use_races():
    def kernel(x, y):
        kept = np.zeros(2)
        for i in prange(x.size):
            kept[1] = x[i]
            y[i] = kept[1]

    assert "both write kept[1], of shape (2,)" in found(kernel)[0].message


@pytest.mark.parametrize("size", [8, 0, 1])
def test_loops_that_share_nothing_but_sums_are_right(size):
    def kernel(x, y):
        total, column = 0.0, np.zeros(3)
        found = np.zeros(1)
        for i in prange(x.size):
            own = np.zeros(3)
            for j in prange(3):
                own[j] = x[i] * j
            total += x[i]
            column += own
            found[0] = 1.0  # all write the same
            y[i] = own[2]
        for i in prange(x.size):
            y[i] += total + column[1]

    assert found(kernel, np.arange(1.0, size + 1)) == []


def test_a_kernel_that_goes_by_threads_is_not_looked_at():
    def kernel(x, y):
        kept = np.zeros(64)
        for i in prange(x.size):
            kept[numba.get_thread_id()] += x[i]
        y[:] = kept.sum()

    with pytest.raises(
        NotWatchedError, match="its loops go by the number of a thread, which there is none of in Python"
    ):
        found(kernel)


def test_a_text_that_does_not_run_is_not_taken_for_a_right_one():
    def kernel(x, y):
        raise ValueError("never")

    with pytest.raises(NotWatchedError, match="its Python text does not run, ValueError: never"):
        found(kernel)


@pytest.mark.parametrize(("size", "is_found"), [(4096, True), (4097, False)])
def test_loops_are_looked_at_up_to_some_thousands_of_elements(size, is_found):
    def kernel(x, y):
        y[:] = 0
        for i in prange(8):
            y[i // 2] += x[-1 - i]

    assert bool(found(kernel, np.arange(float(size)))) == is_found
