"""CUDA kernels: those that need a device or its simulator run in tests/cuda_sim, in a process of their own."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import language_of
from opsdk.backends.call.plan import make_plan
from opsdk.backends.cuda import runtime as cuda_runtime
from opsdk.backends.cuda.language import NumbaCUDA
from opsdk.core.errors import PlaceError
from tests.cuda_sim.simulator import FILES, OF_CONTRIB_OPS, OF_EXAMPLES, PLAIN, simulate

pytest.importorskip("numba")


def test_tensors_overlapping_arrays_and_layers_hold_in_the_simulator():
    assert simulate("sim_tensors.py", "sim_overlap.py", "sim_layers.py") >= 75


@pytest.mark.slow  # 5 minutes: every built-in op, which the simulator runs a thread at a time, and proofs of kernels
@pytest.mark.parametrize(("tests", "least"), [(PLAIN, 700), ([OF_CONTRIB_OPS], 6)], ids=["all but proofs", "contrib"])
def test_everything_holds_in_the_simulator(tests, least):
    assert simulate(*tests) >= least


def test_every_file_of_the_simulator_is_run_by_one_test():
    assert {*FILES} - {*PLAIN} == {OF_CONTRIB_OPS.partition("::")[0]} == {OF_EXAMPLES.partition("::")[0]}


@pytest.fixture
def op():
    made = opsdk.op(lambda x: x + 1, name="f", namespace="t")
    made.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"))
    return made


def test_a_cuda_row_has_a_language_of_its_own_and_cpu_calls_do_not_see_it(op):
    row = op.opdef.kernels.select("cuda", np.dtype("float64"))
    assert isinstance(language_of(row), NumbaCUDA)
    assert op(np.ones(2)).tolist() == [2.0, 2.0]
    assert op(opsdk.to_tensor([1.0])).tolist() == [2.0]


def test_a_cuda_row_without_a_device_is_refused_when_it_is_launched(op, monkeypatch):
    monkeypatch.setattr(cuda_runtime, "missing_device", lambda: "found no driver")
    plan = make_plan(op.opdef, [np.ones(2)], {}, row=op.opdef.kernels.select("cuda", np.dtype("float64")))
    with pytest.raises(PlaceError) as caught:
        plan.run([np.ones(2)], {})
    assert str(caught.value) == (
        "op 't::f', CUDA kernel, Place(cuda:0): expected a CUDA device, found no driver; run where there is one, or "
        "simulate one: set NUMBA_ENABLE_CUDASIM=1 before Numba is imported"
    )


def test_verify_says_that_a_cuda_row_was_not_run_without_a_device(op, monkeypatch):
    monkeypatch.setattr(cuda_runtime, "missing_device", lambda: "found no driver")
    report = opsdk.verify(op)
    assert [row.verdict for row in report.rows if row.row.startswith("cuda")] == ["skipped"]
    assert "t::f[cuda,*,numba]: no cuda device" in report.coverage.skipped


def test_lines_are_counted_in_the_simulator_alone(op):
    kernel = op.opdef.kernels.select("cuda", np.dtype("float64"))
    with pytest.raises(PlaceError) as caught:
        language_of(kernel).reached(op.opdef, kernel, [])
    assert str(caught.value) == (
        "op 't::f', CUDA kernel: expected the simulator, which counts lines, got a device; set NUMBA_ENABLE_CUDASIM=1 "
        "before Numba is imported"
    )
