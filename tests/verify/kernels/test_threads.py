"""Threads that write to one element are found, whether they meet or not where steps of a loop can be told apart."""

import os
import subprocess
import sys

import numpy as np
import pytest

import opsdk

numba = pytest.importorskip("numba")


def summed(define, kernel):
    op = define(lambda x: x.sum(axis=0), infer=lambda x: opsdk.TensorSpec(x.shape[1:], x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 5)), reason="rows")])
    op.kernel("cpu", kernel, language="numba", parallel=True, contiguous=True)
    return op


@pytest.mark.parametrize(("rows", "sample"), [(1, "(float64(3, 5)) rows"), (8, "(float64(19, 5)) lengths 19 for 3")])
def test_rows_that_are_added_to_one_sum_by_several_threads_are_one_race_at_every_seed(define, rows, sample):
    def kernel(x, y):
        for j in range(x.shape[1]):
            y[j] = 0
        for block in numba.prange((x.shape[0] + rows - 1) // rows):  # of 8 rows there is one step at the sample
            for i in range(rows * block, min(rows * block + rows, x.shape[0])):
                for j in range(x.shape[1]):
                    y[j] += x[i, j]

    op = summed(define, kernel)
    for seed in range(3):
        report = opsdk.verify(op, seed=seed)
        (finding,) = report.findings
        assert (finding.id, finding.sample) == ("planted::f[cpu,float64,numba]::race", sample)
        assert finding.at.endswith(f"test_threads.py:{kernel.__code__.co_firstlineno + 3}, kernel")
        assert "planted::f: kernel numba (cpu, *) not judged further, as its threads meet" in report.coverage.skipped


def test_a_race_of_a_gradient_leaves_the_reference_judged(define):
    def kernel(x, dy, dx):
        kept = np.zeros(1)
        for i in numba.prange(x.shape[0]):
            kept[0] = i  # which nobody reads, so that the numbers are right
            for j in range(x.shape[1]):
                dx[i, j] = dy[j]

    op = define(lambda x: x.sum(axis=0), lambda x, dy: 1.001 * dy + 0 * x)
    op.infer(lambda x: opsdk.TensorSpec(x.shape[1:], x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 5)), reason="rows")])
    op.grad.kernel("cpu", kernel, language="numba", parallel=True, contiguous=True)
    race, wrong = opsdk.verify(op).findings
    assert (race.id, wrong.id) == ("planted::f_grad[cpu,float64,numba]::race", "planted::f[cpu,float64,numpy]::vjp.x")
    assert [finding.check for finding in opsdk.verify(op, level="quick").findings] == ["vjp.x"]


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


def test_a_race_that_showed_as_a_wrong_value_before_is_told_as_a_race(define):
    state = np.zeros(1)

    def kernel(x):
        state[0] += x.size > 5000
        return x.sum(axis=0) + 1 + state[0]  # of few elements the same each time, and not what the reference gives

    op = define(lambda x: x.sum(axis=0), infer=lambda x: opsdk.TensorSpec(x.shape[1:], x.dtype))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 5)), reason="rows")])
    op.kernel("cpu", kernel, language="numpy", dtype="float64", parallel=True)
    (finding,) = opsdk.verify(op).findings
    assert finding.check == "repeats.y"


SIMULATED = """
import numpy as np
import opsdk
from numba import cuda
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.kernels.threads import check_blocks
from opsdk.verify.session import Session


@opsdk.op("t::halve(Tensor x) -> Tensor y")
def halve(x):
    return x / 2


halve.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), reason="rows")])


def kernel(steps, options):
    def half(x, y):
        row = cuda.blockIdx.x
        for i in range(cuda.threadIdx.x, x.shape[1], steps * cuda.blockDim.x):
            y[row, i] = x[row, i] / 2

    halve.kernel("cuda", half, language="numba", launch=lambda x: (x.shape[0], 4), **options)
    session = Session(halve.opdef, calls_of(halve.opdef, None, 0), 0, 1500)
    check_blocks(session)
    return [finding.id for finding in session.findings.values()]


print(kernel(1, {}), kernel(2, {"replace": True}))
"""


def test_a_cuda_kernel_is_tried_on_more_than_a_block_has_threads():
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "[] ['t::halve[cuda,float64,numba]::value.y']\n")
