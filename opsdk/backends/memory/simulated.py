"""Arrays of the simulated device: NumPy arrays that host code cannot read by accident.

Numba's CUDA simulator runs kernels on host memory. What stands for device memory there keeps the rules of CuPy's
arrays: NumPy functions take them and give them back, mixing them with NumPy arrays is an error, and the values come to
the host by `get()` alone. So a program that runs in the simulator has no hidden copy in it that a device would refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


# Any, in this file: whatever NumPy's functions and methods take and give.
class SimulatedArray(NDArrayOperatorsMixin):
    """An array in the memory of the simulated device.

    Args:
        host: the elements; they are not copied.
    """

    __slots__ = ("host",)

    def __init__(self, host: np.ndarray) -> None:
        self.host = host

    @property
    def base(self) -> Any:
        """The array that this one is a view of, or None."""
        return self.host.base

    def get(self) -> np.ndarray:
        """Returns a copy in host memory."""
        return self.host.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("a simulated CUDA array is not converted to a NumPy array implicitly; use get()")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Runs a ufunc on the simulated device."""
        return _run(getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        """Runs a NumPy function on the simulated device."""
        if "device" in options:  # which NumPy adds to ones and full by like=, and CuPy's do not take
            raise TypeError(f"{function.__name__} with like= does not reach CuPy: use {function.__name__}_like")
        return _run(function, args, options)

    def __getattr__(self, name: str) -> Any:
        """Returns what a NumPy array has of that name; methods run on the simulated device."""
        if name.startswith("__"):  # such as the interface through which NumPy would read the memory itself
            raise AttributeError(f"a simulated CUDA array has no {name}")
        value = getattr(self.host, name)
        if callable(value):
            return lambda *args, **options: _run(value, args, options)
        return SimulatedArray(value) if isinstance(value, np.ndarray) else value

    def __getitem__(self, index: Any) -> SimulatedArray:
        return SimulatedArray(np.asarray(self.host[_to_host(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.host[_to_host(index)] = _to_host(value)

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[SimulatedArray]:
        return (self[i] for i in range(len(self.host)))

    def __bool__(self) -> bool:
        return bool(self.host)

    def __float__(self) -> float:
        return float(self.host)

    def __int__(self) -> int:
        return int(self.host)

    def __repr__(self) -> str:
        return f"<simulated CUDA {self.host!r}>"


def _run(function: Callable[..., Any], args: Any, options: Any) -> Any:
    out = options.get("out")
    given, named = _to_host(tuple(args)), {name: _to_host(value) for name, value in options.items()}
    with np.errstate(all="ignore"):  # a device gives inf and nan without a warning
        made = function(*given, **named)
    if out is not None:
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    return _to_device(made)


def _to_host(value: Any) -> Any:
    if isinstance(value, SimulatedArray):
        return value.host
    if isinstance(value, (list, tuple)):
        return type(value)(map(_to_host, value))
    if isinstance(value, np.ndarray):
        raise TypeError("a NumPy array beside simulated CUDA arrays: move it to the device first")
    return value


def _to_device(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return SimulatedArray(np.asarray(value))
    if isinstance(value, (list, tuple)):
        made = map(_to_device, value)
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value
