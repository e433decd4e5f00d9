import sys

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda import runtime as cuda_runtime
from opsdk.backends.memory import device
from opsdk.backends.memory.device import HOST, check_places, is_device_array, memory_at, memory_of, place_of
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import MissingDependencyError, PlaceError
from opsdk.core.place import CPU, CUDAPlace, Place

X = np.array([[1.0, 2.0], [3.0, 4.0]])
THERE = SimulatedArray(X)


def test_the_class_of_an_array_tells_its_place():
    assert [place_of(value) for value in (X, X[0, 0], 1.0, None, THERE)] == [CPU, CPU, CPU, CPU, CUDAPlace(0)]
    assert [is_device_array(value) for value in (X, 1.0, opsdk.to_tensor(X), THERE)] == [False, False, False, True]
    assert (memory_of(X).place, memory_of(THERE).place) == (CPU, CUDAPlace(0))


def test_asking_for_a_place_imports_nothing():
    assert "cupy" not in sys.modules or sys.modules["cupy"] is not None
    before = set(sys.modules)
    place_of(X)
    assert set(sys.modules) == before


@pytest.mark.parametrize("memory", [memory_of(X), memory_of(THERE)])
def test_a_memory_makes_and_copies_arrays(memory):
    made = memory.from_host(X.T)
    assert (place_of(made), made.strides, made.tolist()) == (memory.place, (16, 8), X.T.tolist())
    back = memory.to_host(made)
    back[:] = 0
    assert (type(back), made.tolist()) == (np.ndarray, X.T.tolist())
    empty = memory.empty((2, 3), np.dtype("int8"))
    assert (place_of(empty), empty.shape, empty.dtype) == (memory.place, (2, 3), np.int8)
    assert memory.broadcast(made, (3, 2), (0, 16)).tolist() == [[1.0, 2.0]] * 3
    with memory.active():
        pass


def test_a_device_has_no_read_only_views_and_what_a_kernel_gives_there_is_always_looked_at():
    assert (HOST.has_views, HOST.is_new(np.ones(2), (X,)), HOST.is_new(X, (X,))) == (True, True, False)
    memory = memory_of(THERE)
    assert (memory.has_views, memory.is_new(SimulatedArray(np.ones(2)), (THERE,))) == (False, False)


def test_the_host_has_a_memory_too():
    assert memory_at(CPU, "t") is HOST
    assert HOST.zeros((2,), np.dtype("int8")).tolist() == [0, 0]


def test_places_that_nothing_serves_are_refused():
    with pytest.raises(PlaceError, match=r"^t: place expected CPUPlace\(\) or CUDAPlace\(index\), got Place\(tpu:1\)"):
        memory_at(Place("tpu", 1), "t")


def test_a_place_without_a_device_is_refused(monkeypatch):
    monkeypatch.setattr(cuda_runtime, "missing_device", lambda: "found no driver (libcuda.so.1)")
    with pytest.raises(PlaceError) as caught:
        opsdk.to_tensor([1.0], place=opsdk.CUDAPlace(0))
    assert str(caught.value) == (
        "to_tensor, Place(cuda:0): expected a CUDA device, found no driver (libcuda.so.1); run where there is one, or "
        "simulate one: set NUMBA_ENABLE_CUDASIM=1 before Numba is imported"
    )


def test_a_device_without_cupy_is_refused(monkeypatch):
    monkeypatch.setattr(cuda_runtime, "missing_device", lambda: "")
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingDependencyError, match=r"to_tensor, Place\(cuda:0\) needs cupy, which cannot be"):
        opsdk.to_tensor([1.0], place=opsdk.CUDAPlace(0))


@pytest.mark.parametrize("index", [2, -1])
def test_a_device_that_does_not_exist_is_refused(monkeypatch, index):
    class Module:
        class cuda:
            class runtime:
                getDeviceCount = staticmethod(lambda: 2)

    monkeypatch.setattr(device, "cupy", lambda subject: Module)
    with pytest.raises(PlaceError) as caught:
        memory_at(CUDAPlace(index), "t")
    assert str(caught.value) == f"t: expected one of 2 CUDA devices, counted from 0, got Place(cuda:{index})"


def test_a_call_has_one_place():
    opdef = opsdk.op("t::f(Tensor x, Tensor? b, Tensor[] xs) -> Tensor y")(lambda x, b, xs: x).opdef
    assert check_places(opdef, [X, None, [X, X]]) is CPU
    assert check_places(opdef, [THERE, None, []]) == CUDAPlace(0)
    assert check_places(opdef, [None, None, []]) is CPU
    with pytest.raises(PlaceError) as caught:
        check_places(opdef, [X, None, [X, THERE]])
    assert str(caught.value) == (
        "op 't::f': input 'xs' expected at Place(cpu) like 'x', got one at Place(cuda:0); "
        "move it: opsdk.to_tensor(xs, place=...)"
    )
