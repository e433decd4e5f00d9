import ctypes
import sys
from types import SimpleNamespace

import pytest

from opsdk.backends.cuda import runtime as cuda_runtime
from opsdk.backends.cuda.runtime import can_run, cupy, is_simulated, missing_device, numba_cuda
from opsdk.core.errors import MissingDependencyError, PlaceError


@pytest.fixture(autouse=True)
def forget():
    missing_device.cache_clear()
    yield
    missing_device.cache_clear()


def driver(init=0, count_status=0, count=1):
    def put(pointer):
        pointer._obj.value = count
        return count_status

    return lambda name: SimpleNamespace(cuInit=lambda flags: init, cuDeviceGetCount=put)


@pytest.mark.parametrize(("value", "simulated"), [(None, False), ("0", False), ("", False), ("1", True)])
def test_before_numba_is_imported_the_environment_says_whether_it_simulates(monkeypatch, value, simulated):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    if value is not None:
        monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", value)
    assert is_simulated() is simulated


def test_after_that_numba_says_it(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")  # too late
    assert is_simulated() is False


def test_without_a_driver_there_is_no_device(monkeypatch):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert missing_device().startswith("found no driver (")
    assert can_run() is False


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (driver(), ""),
        (driver(count=0), "its driver finds none"),
        (driver(init=100), "its driver answers with error 100"),
        (driver(count_status=3), "its driver answers with error 3"),
    ],
)
def test_a_driver_says_whether_it_has_a_device(monkeypatch, found, reason):
    monkeypatch.setattr(ctypes, "CDLL", found)
    assert missing_device() == reason
    assert can_run() is not bool(reason)


def test_cupy_is_asked_for_only_where_there_is_a_device(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(cuda_runtime, "missing_device", lambda: "its driver finds none")
    with pytest.raises(PlaceError, match="to_tensor: expected a CUDA device, its driver finds none; run where"):
        cupy("to_tensor")
    monkeypatch.setattr(cuda_runtime, "missing_device", lambda: "")
    with pytest.raises(MissingDependencyError, match=r"to_tensor needs cupy, .*pip install \"opsdk\[cuda\]\""):
        cupy("to_tensor")


def test_without_numba_a_cuda_row_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    with pytest.raises(MissingDependencyError, match=r"op 'f', CUDA kernel needs numba, which cannot be imported"):
        numba_cuda("op 'f', CUDA kernel")
