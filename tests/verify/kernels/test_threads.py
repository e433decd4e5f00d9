"""Threads that write to one element are found, where there are threads and enough elements for them to meet."""

import os

import numpy as np
import pytest

import opsdk

numba = pytest.importorskip("numba")


def summed(define, kernel):
    op = define(lambda x: x.sum(axis=0), infer=lambda x: opsdk.TensorSpec(x.shape[1:], x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 5)), reason="rows")])
    op.kernel("cpu", kernel, language="numba", parallel=True, contiguous=True)
    return op


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core, on which no threads meet")
def test_rows_that_are_added_to_one_sum_by_several_threads_are_found(define):
    def kernel(x, y):
        for j in range(x.shape[1]):
            y[j] = 0
        for i in numba.prange(x.shape[0]):
            for j in range(x.shape[1]):
                y[j] += x[i, j]

    (finding,) = opsdk.verify(summed(define, kernel)).findings
    assert finding.check == "repeats.y"


def test_columns_that_threads_share_give_the_same_bits_each_time(define):
    def kernel(x, y):
        for j in numba.prange(x.shape[1]):
            total = 0.0
            for i in range(x.shape[0]):
                total += x[i, j]
            y[j] = total

    report = opsdk.verify(summed(define, kernel))
    assert report.verdict == "pass", str(report)


def test_what_comes_out_otherwise_only_of_many_elements_is_told_as_such(define):
    state = np.zeros(1)

    def kernel(x):
        state[0] += x.size > 5000  # as a race would, at every seed and on one core
        return x.sum(axis=0) + state[0]

    op = define(lambda x: x.sum(axis=0), infer=lambda x: opsdk.TensorSpec(x.shape[1:], x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 5)), reason="rows")])
    op.kernel("cpu", kernel, language="numpy", dtype="float64", parallel=True)
    (finding,) = opsdk.verify(op).findings
    assert finding.message.startswith(
        "op 'planted::f', output 'y': expected the same bits from the same inputs, got others in another run of many "
        "elements; let no two threads write to one element"
    )
