import numpy as np
import pytest

import opsdk
from opsdk.core.errors import KernelNotFoundError
from opsdk.ship.demo import kernels
from opsdk.ship.demo.device import OnDevice
from opsdk.ship.demo.kernels import only, row_that_runs


@pytest.fixture
def op(monkeypatch):
    """An op whose forward and backward are called with what they should be; a million elements are ten."""
    monkeypatch.setattr(kernels, "SIZE", 10)
    monkeypatch.setattr(kernels, "_BUDGET", 0.0)

    @opsdk.op(namespace="timed")
    def clamp(x):
        assert (x.size, x.dtype) == (10, np.float32)
        return np.maximum(x, 0)

    @clamp.backward
    def clamp_grad(x, y, dy):
        assert np.array_equal(y, np.maximum(x, 0))
        assert np.array_equal(dy, np.ones(10))
        return dy * (y > 0)

    clamp.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"))
    return clamp


@pytest.mark.parametrize(
    ("on_device", "told"),
    [
        (None, ("not run", "not run", "–")),
        (OnDevice(True, problem="it died"), ("not run", "not run", "–")),
        (OnDevice(True, 10, (("timed::clamp", True),)), ("right, simulated", "right, simulated", "–")),
        (OnDevice(False, 10, (("timed::clamp", False),)), ("wrong, on the GPU", "wrong, on the GPU", "–")),
    ],
)
def test_cpu_rows_are_timed_and_cuda_rows_are_told(op, on_device, told):
    first, second = kernels.table([op], on_device)
    assert first[:2] == ("clamp", "numpy (cpu, *)")
    assert [cell[-2:] for cell in first[2:4]] == ["ms", "ms"]
    assert first[4] == "1.0×"
    assert second == ("clamp", "numba (cuda, *)", *told)


def test_the_fastest_of_at_least_five_calls_counts_and_the_first_does_not(monkeypatch):
    ticks = iter([0, 10, 13, 20, 22, 30, 31, 40, 44, 50, 55, 99])  # the end, five calls from to, past the end
    monkeypatch.setattr(kernels.time, "perf_counter", lambda: next(ticks))
    calls = []
    assert kernels.fastest(lambda: calls.append(None)) == 1
    assert len(calls) == 6


@pytest.fixture
def two_rows():
    @opsdk.op(namespace="rowtest")
    def twice(x):
        return 2 * x

    @twice.backward
    def twice_grad(dy):
        return 2 * dy

    @twice.kernel("cpu", language="numba")
    def other(x):
        return 3 * x

    return twice


def test_an_op_is_held_to_one_language(two_rows):
    two_rows.grad.kernel("cpu", lambda dy: 3 * dy, language="numba")
    held = only(two_rows, "numpy")
    assert row_that_runs(held) == "numpy"
    assert row_that_runs(two_rows) == "numba"
    x = opsdk.to_tensor(np.array([1.0]), stop_gradient=False)
    y = held(x)
    y.backward()
    assert (y.item(), x.grad.item()) == (2.0, 2.0)


def test_a_row_that_is_missing_on_one_side_is_an_error(two_rows):
    with pytest.raises(
        KernelNotFoundError, match="op 'rowtest::twice_grad': expected a numba kernel, got kernels in numpy"
    ):
        only(two_rows, "numba")


def test_a_row_of_one_dtype_is_the_one_that_a_float32_call_runs(two_rows):
    two_rows.kernel("cpu", lambda x: 4 * x, language="numba", dtype="float32")
    two_rows.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"))
    assert row_that_runs(only(two_rows.grad, "numpy")) == "numpy"
    assert row_that_runs(two_rows) == "numba"
