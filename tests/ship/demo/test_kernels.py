import numpy as np
import pytest

import opsdk
from opsdk.ship.demo import kernels
from opsdk.ship.demo.device import OnDevice


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
