"""Launching on CUDA: kernels bound to a grid and a stream, arguments as Numba takes them, errors by name."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from opsdk.backends.cuda.draws import teach_draws
from opsdk.backends.cuda.runtime import is_simulated, numba_cuda
from opsdk.backends.memory.device import HOST, Memory, is_device_array, memory_at, memory_of
from opsdk.backends.memory.simulated import SimulatedArray
from opsdk.backends.numba.failure import typing_failure
from opsdk.core.errors import MissingDependencyError, PlaceError
from opsdk.core.lazy import optional
from opsdk.core.nested import each, flat
from opsdk.core.origin import Origin
from opsdk.core.place import Place
from opsdk.define.kernel.launch import Geometry
from opsdk.define.opdef import OpDef

_KEPT = 64  # launches of one kernel that are kept ready: sizes and streams repeat, and making one costs as much again
_one_at_a_time = Lock()  # the simulator runs one kernel at a time


# Any, in this file: arrays of NumPy or CuPy, attribute values, objects of Numba.
class BoundKernel:
    """A kernel, compiled on first launch, with the launches that it was given before.

    Args:
        function: a Python function, or what `cuda.jit` made of one.
        check: called before each compilation of a Python function; raises where it has become another.
    """

    def __init__(self, function: Any, check: Callable[[], None] | None = None) -> None:
        self._cuda = numba_cuda("CUDA kernel")
        teach_draws()
        is_compiled = type(function).__module__.startswith("numba.cuda")
        self._function = function if is_compiled else self._cuda.jit(getattr(function, "py_func", function))
        if check is not None and not is_compiled and not is_simulated():
            compile = self._function.compile

            def checked(signature: Any) -> Any:
                check()
                return compile(signature)

            self._function.compile = checked
        self._ready: dict[Any, Any] = {}

    def __call__(self, geometry: Geometry, arguments: Sequence[Any]) -> None:
        """Launches the kernel on arrays and numbers."""
        values = [argument(value) for value in arguments]
        if is_simulated():
            with _one_at_a_time:
                self._function[geometry.grid, geometry.block, 0, geometry.shared](*values)
        else:
            self._bound(geometry)(*values)

    def _bound(self, geometry: Geometry) -> Callable[..., Any]:
        stream, handle = self._stream(geometry.stream)
        key = (geometry.grid, geometry.block, geometry.shared, handle)
        ready = self._ready.get(key)
        if ready is None:
            if len(self._ready) >= _KEPT:
                self._ready.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Numba's, that a grid is small: the data is what it is
                ready = self._function[geometry.grid, geometry.block, stream, geometry.shared]
            self._ready[key] = ready
        return ready

    def _stream(self, asked: Any) -> tuple[Any, Any]:
        """Returns a stream as Numba takes it, and what tells it from others: the one asked for, else CuPy's current."""
        if asked is None:
            asked = optional("cupy", extra="cuda", subject="CUDA kernel").cuda.get_current_stream()
        pointer = getattr(asked, "ptr", None)  # CuPy's streams have one; Numba takes its own as they are
        if pointer is None:
            return asked, asked  # as part of the key it stays alive
        return self._cuda.external_stream(pointer) if pointer else 0, pointer


def at_one_place(values: Sequence[Any], subject: str) -> tuple[Memory, Sequence[Any]]:
    """Returns the memory that a launch works in, and its inputs there.

    Host arrays are copied to a device, and the launch's caller gets its results from there: so a proof, which knows
    host arrays only, runs CUDA kernels too. In the simulator they are taken as they are.
    """
    present = flat(values)
    if present and is_device_array(present[0]):
        return memory_of(present[0]), values
    if is_simulated():
        return HOST, values
    memory = memory_at(Place("cuda", 0), subject)
    return memory, each(values, memory.from_host)


def argument(value: Any) -> Any:
    """Returns a value as Numba's kernels take it: arrays without a copy, lists as tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(map(argument, value))
    if isinstance(value, SimulatedArray):
        value = value.host
    if isinstance(value, np.ndarray):  # in the simulator: an array of its own kind is what it does not copy
        device = type(numba_cuda("CUDA kernel").device_array(1))
        return device(value)
    if is_device_array(value):
        # The launch is on the stream that the array is used on, so that nothing has to be waited for.
        return numba_cuda("CUDA kernel").as_cuda_array(value, sync=False)
    return value


class ExpressionLaunch(ABC):
    """The launch of an expression on CUDA: its kernels, by kind of call.

    Args:
        opdef: the op.
        function: what it computes on one element, or on one row.
        origin: where it was written.
    """

    def __init__(self, opdef: OpDef, function: Any, origin: Origin) -> None:
        self.opdef = opdef
        self.function = function
        self.origin = origin
        self._kernels: dict[Any, Any] = {}

    def launch(self, /, *values: Any, **attrs: Any) -> Any:
        """Computes the results: an array, or a tuple with None where a result is not wanted.

        Raises:
            ShapeError: the shapes are not those that the function takes.
            DTypeError: a dtype that is not computed with on a device.
            AttributeValueError: `row_take` was given a position outside of the row.
        """
        subject = f"{self.opdef.subject}, CUDA kernel"
        memory, arrays = at_one_place(values, subject)
        with failures(self.opdef, self.origin, subject), memory.active():
            made = self.results(memory, arrays, attrs)
        if arrays is not values:
            made = [None if array is None else memory.to_host(array) for array in made]
        return made[0] if len(made) == 1 else tuple(made)

    @abstractmethod
    def results(self, memory: Memory, arrays: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
        """Computes the results on arrays at one place, with None where one is not wanted."""


@contextmanager
def failures(opdef: OpDef, origin: Origin, subject: str) -> Iterator[None]:
    """Gives the compiler's errors and that of a missing driver by name; what a kernel raises when simulated stays.

    Raises:
        CompileError: Numba cannot compile the kernel.
        PlaceError: there is no driver or no device.
        MissingDependencyError: Numba does not find the compiler's library.
    """
    try:
        yield
    except Exception as error:
        family = classes_of(error)
        if family & {"NumbaError", "UnsupportedBytecodeError"}:
            raise typing_failure(opdef, origin, error, row="CUDA kernel") from error
        said = " ".join(str(error).split())
        if "CudaSupportError" in family:
            raise PlaceError(f"{subject}: expected a CUDA driver and device, Numba says {said}") from error
        if "NvvmSupportError" in family:
            raise MissingDependencyError(
                f'{subject} needs libnvvm, which Numba does not find ({said}): pip install "opsdk[cuda]"'
            ) from error
        raise


def classes_of(error: Exception) -> set[str]:
    """Returns the names of the classes that an error is of: two packages have classes of the names asked for."""
    return {kind.__name__ for kind in type(error).__mro__}
