"""DeviceTensor: a tensor whose array lives at a CUDA place; and PyTorch's keywords of the functions that make tensors.

It is a class of its own so that a call finds its runtime by the type of its values, and calls on host memory never ask.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from opsdk.autograd.engine import ArrayAlgebra
from opsdk.autograd.in_place import CAST
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor, needs_float
from opsdk.autograd.tensor_state import check_unviewed
from opsdk.backends.memory.device import is_device_array, memory_of, place_of
from opsdk.core.errors import AttributeValueError, DTypeError, PlaceError, ShapeError
from opsdk.core.fit import as_bool, as_numbers, fitted, misfit
from opsdk.core.place import Place
from opsdk.core.random import Generator
from opsdk.ops.numpy_protocol import check_leaves, values_of


# Any, in this file: arrays of the device, values that a tensor can be set to.
class DeviceTensor(Tensor):
    """A tensor in device memory; what needs its values on the host copies them there."""

    _array: Any
    _on_host: ClassVar[type[Tensor]] = Tensor  # the class of the same tensor in host memory

    @property
    def place(self) -> Place:
        """Where the array lives."""
        return place_of(self._array)

    def numpy(self) -> np.ndarray:
        """Returns a copy of the values in host memory, outside of the graph."""
        return memory_of(self._array).to_host(self._array)

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray:
        """Returns a copy of the values for NumPy.

        Raises:
            PlaceError: no copy is allowed, and the values are not in host memory.
            NotRecordedError: the tensor needs a gradient, and recording is on.
        """
        check_leaves(self)
        if copy is False:
            raise PlaceError(f"tensor: expected one in host memory, got one at {self.place}; call numpy() for a copy")
        return self.numpy().astype(self.dtype if dtype is None else dtype, copy=False)

    def __repr__(self) -> str:
        here = repr(Tensor(self.numpy(), self.stop_gradient))
        return here.replace(f"place={Tensor.place.fget(self)}", f"place={self.place}", 1)  # type: ignore[attr-defined]

    def set_value(self, value: Any) -> None:
        """Copies values into the tensor, from wherever they are.

        Raises:
            ShapeError: the value has another shape.
            DTypeError: the tensor's dtype does not hold it.
            InPlaceError: as of `check_unviewed`.
        """
        array, dtype = value._array if isinstance(value, Tensor) else value, self._array.dtype
        if not is_device_array(array):
            array = fitted(as_numbers(values_of(value), "set_value"), dtype, "set_value", remedy=CAST)
        elif wrong := misfit(array, dtype, truncates=False, remedy=CAST):
            raise DTypeError(f"set_value: {wrong}")
        if array.shape != self._array.shape:
            raise ShapeError(f"set_value: expected shape {self._array.shape}, got {array.shape}")
        check_unviewed(self, "set_value")
        if not is_device_array(array):
            array = memory_of(self._array).from_host(array)
        self._overwrite(array)

    def _beside(self, array: Any) -> Tensor:
        return DeviceTensor(array)


def tensor_of(array: Any, stop_gradient: bool = True, edge: tuple[GradNode, int] | None = None) -> Tensor:
    """Returns an array as the tensor of its place."""
    made: Callable[..., Tensor] = Tensor if array.__class__ is ndarray else DeviceTensor
    return made(array, stop_gradient, edge)


Tensor._algebra = DeviceTensor._algebra = ArrayAlgebra(tensor_of)  # a graph may lead from one place to the other


@cache
def on_device(kind: type[Tensor]) -> type[Tensor]:
    """Returns the class that a tensor of some class has while its array is in device memory."""
    if kind is Tensor:
        return DeviceTensor
    return type(f"Device{kind.__name__}", (kind, DeviceTensor), {"_on_host": kind, "__module__": kind.__module__})


def put(tensor: Tensor, array: Any) -> None:
    """Gives a leaf another array, in new memory of whichever place: it stays the object that it is.

    What was saved of the old one stays as it was; a gradient, which is not moved here, has to follow.
    """
    kind = type(tensor)
    host = kind._on_host if issubclass(kind, DeviceTensor) else kind
    tensor.__class__ = host if array.__class__ is ndarray else on_device(host)  # type: ignore[arg-type]
    tensor._array = array
    tensor._version = [0]


# Any: arguments of every kind; a tensor, or a Variable where a Program is built.
def as_asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that takes `requires_grad`, `device`, `size` and, where it draws, `generator` too."""
    own = inspect.signature(function).parameters
    name = function.__name__

    @functools.wraps(function)
    def call(
        *args: Any, requires_grad: bool = False, device: Any = None, pin_memory: bool = False, **options: Any
    ) -> Any:
        if "size" in options and "shape" in own:
            options["shape"] = options.pop("size")
        if "seed" in own and (generator := options.pop("generator", None)) is not None:
            if not isinstance(generator, Generator):
                raise AttributeValueError(
                    f"{name}: generator expected an opsdk.Generator or None, got {type(generator).__name__}"
                )
            options["seed"] = int(generator.draw()) or 1  # 0 is the global one
        made = function(*args, **options)
        if device is not None and isinstance(made, Tensor):
            made = made.to(device)
        if as_bool(requires_grad, f"{name}: requires_grad"):
            if isinstance(made, Tensor):
                needs_float(made, name)
            made.stop_gradient = False
        return made

    return call
