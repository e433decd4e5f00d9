"""Device memory: the arrays that live at a CUDA place, and how values get there and back.

The class of an array tells its place: CuPy's arrays hold device memory, simulated ones stand for it where Numba's CUDA
simulator runs. CuPy itself is imported when an array is first moved there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.backends.cuda.runtime import cupy, is_simulated
from opsdk.backends.memory.arena import is_new
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.core.errors import PlaceError
from opsdk.core.nested import flat
from opsdk.core.place import CPU, Place
from opsdk.define.opdef import OpDef


# Any, in this file: arrays of whichever module holds the memory.
class Memory:
    """The memory of one place: of the host, unless a class below says otherwise.

    Attributes:
        place: the place.
        has_views: whether a read-only view can stand in for an array.
        is_new: whether a value that a kernel gave is surely an array here, in memory apart from all inputs.
    """

    place = CPU
    has_views = True
    is_new: Callable[[Any, Sequence[Any]], bool] = staticmethod(is_new)

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        """Returns an array that holds nothing yet."""
        return self._here(np.empty(shape, dtype))

    def zeros(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        """Returns an array of zeros."""
        made = self.empty(shape, dtype)
        made.fill(0)
        return made

    def from_host(self, array: np.ndarray) -> Any:
        """Returns a copy of a NumPy array here."""
        return self._here(np.array(array, order="C"))

    def holds(self, value: Any) -> bool:
        """Whether a value is an array here."""
        return (isinstance(value, ndarray) or is_device_array(value)) and memory_of(value) is self

    def to_host(self, array: Any) -> np.ndarray:
        """Returns a copy of an array as a NumPy array."""
        return self._host(array).copy()

    def broadcast(self, array: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """Returns a view of an array with other sizes and steps in bytes."""
        return self._here(np.lib.stride_tricks.as_strided(self._host(array), shape, strides))

    def active(self) -> AbstractContextManager[Any]:
        """Returns a context in which launches and allocations go to this place."""
        return nullcontext()

    def _here(self, array: np.ndarray) -> Any:
        return array

    def _host(self, array: Any) -> np.ndarray:
        return array


class DeviceMemory(Memory):
    """What the memories of all devices share: each array that a kernel gives is looked at."""

    has_views = False

    def is_new(self, value: Any, inputs: Sequence[Any]) -> bool:
        """Never says so: a view of an array and the array are not told apart by their class and their base."""
        return False


class SimulatedMemory(DeviceMemory):
    """The memory of the one device that the simulator has: host memory in arrays of a class of their own."""

    place = Place("cuda", 0)

    def _here(self, array: np.ndarray) -> Any:
        return SimulatedArray(array)

    def _host(self, array: Any) -> np.ndarray:
        return array.host


class CuPyMemory(DeviceMemory):
    """The memory of one device, held by CuPy."""

    def __init__(self, place: Place, module: Any) -> None:
        self.place = place
        self.module = module

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        """Returns an array that holds nothing yet."""
        with self.active():
            return self.module.empty(tuple(shape), dtype)

    def from_host(self, array: np.ndarray) -> Any:
        """Returns a copy on the device."""
        with self.active():
            return self.module.array(array, order="C")

    def to_host(self, array: Any) -> np.ndarray:
        """Returns a copy in host memory, after everything before it on the current stream."""
        return self.module.asnumpy(array)

    def broadcast(self, array: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
        """Returns a view with other sizes and steps."""
        return self.module.lib.stride_tricks.as_strided(array, shape, strides)

    def active(self) -> AbstractContextManager[Any]:
        """Returns a context in which this device is the current one."""
        if self.module.cuda.runtime.getDevice() == self.place.index:
            return nullcontext()
        return self.module.cuda.Device(self.place.index)


HOST = Memory()
_SIMULATED = SimulatedMemory()
_DEVICES: dict[int, CuPyMemory] = {}


def is_device_array(value: Any) -> bool:
    """Whether a value is an array in device memory."""
    if value.__class__ is SimulatedArray:
        return True
    module = sys.modules.get("cupy")  # an array of a module that was never imported cannot be here
    return module is not None and isinstance(value, module.ndarray)


def on_host(value: Any) -> Any:
    """Returns a value, with a NumPy array in the place of an array in device memory."""
    return memory_of(value).to_host(value) if is_device_array(value) else value


def place_of(array: Any) -> Place:
    """Returns where an array lives."""
    return CPU if array.__class__ is ndarray else memory_of(array).place


def memory_of(array: Any) -> Memory:
    """Returns the memory that an array lives in."""
    if not is_device_array(array):
        return HOST
    if array.__class__ is SimulatedArray:
        return _SIMULATED
    return _on_device(array.device.id, sys.modules["cupy"])


def memory_at(place: Place, subject: str) -> Memory:
    """Returns the memory of a place.

    Raises:
        PlaceError: there is no such device here.
        MissingDependencyError: CuPy is not installed.
    """
    if place.kind == "cpu":
        return HOST
    if place.kind != "cuda":
        raise PlaceError(f"{subject}: place expected CPUPlace() or CUDAPlace(index), got {place}")
    if is_simulated():
        if place.index:
            raise PlaceError(f"{subject}: expected CUDAPlace(0), the one device that is simulated, got {place}")
        return _SIMULATED
    module = cupy(f"{subject}, {place}")
    count = module.cuda.runtime.getDeviceCount()
    if not 0 <= place.index < count:
        raise PlaceError(f"{subject}: expected one of {count} CUDA devices, counted from 0, got {place}")
    return _on_device(place.index, module)


def _on_device(index: int, module: Any) -> CuPyMemory:
    if index not in _DEVICES:
        _DEVICES[index] = CuPyMemory(Place("cuda", index), module)
    return _DEVICES[index]


def check_places(opdef: OpDef, inputs: Sequence[Any]) -> Place:
    """Returns the one place of the arrays of a call.

    Raises:
        PlaceError: they live at several.
    """
    first: tuple[str, Place] | None = None
    for name, entry in zip(opdef.schema.input_names, inputs, strict=True):
        for array in flat(entry):
            here = place_of(array)
            if first is None:
                first = name, here
            elif here != first[1]:
                raise PlaceError(
                    f"{opdef.subject}: input {name!r} expected at {first[1]} like {first[0]!r}, got one at {here}; "
                    f"move it: opsdk.to_tensor({name}, place=...)"
                )
    return CPU if first is None else first[1]
