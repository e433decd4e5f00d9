"""Tensors of layers: those that an optimizer updates, and those that are without values at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.device_tensor import on_device, put
from opsdk.autograd.tape import DEVICE_TAPE, TAPE, fast
from opsdk.autograd.tensor import Tensor, needs_float
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import NotInitializedError
from opsdk.core.fit import as_bool, as_numbers, fitted
from opsdk.core.names import unique_name
from opsdk.define.frontend import register_frontend
from opsdk.ops.numpy_protocol import values_of


class Parameter(Tensor):
    """A tensor that is trained: a leaf with `stop_gradient=False` that a layer registers when it becomes an attribute.

    Args:
        data: the first values, copied: a tensor, whose gradient ends there, an array, or nested lists of numbers.
        trainable: whether it receives gradients and updates.
        name: unique among parameters; one is made unless given.
        dtype: of the parameter; that of the data unless given.
        learning_rate: factor on the optimizer's learning rate.
        regularizer: an L2 coefficient, or an object with `coeff`, in place of the optimizer's weight decay.
        need_clip: whether gradient clipping counts it.
        requires_grad: `trainable`, in PyTorch's words.

    Raises:
        AttributeValueError: a trainable parameter of an integer dtype, or `trainable` is not a bool.
        DTypeError: the data is not numeric.
    """

    persistable = True
    _is_state = True

    # Any: whatever a tensor can be made of; a regularizer of any class.
    def __init__(
        self,
        data: Any,
        trainable: bool = True,
        name: str | None = None,
        *,
        dtype: DTypeLike | None = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        need_clip: bool = True,
        requires_grad: bool | None = None,
    ) -> None:
        given = ("trainable", trainable) if requires_grad is None else ("requires_grad", requires_grad)
        trainable = as_bool(given[1], f"Parameter: {given[0]}")
        array = to_tensor(data, dtype)._array
        super().__init__(array, not trainable)
        put(self, array)  # which may be one of a device
        if trainable:
            needs_float(self, "Parameter")
        self._name = name or unique_name("parameter")
        self.optimize_attr = {"learning_rate": float(learning_rate)}
        self.regularizer = regularizer
        self.need_clip = need_clip

    @property
    def trainable(self) -> bool:
        """Whether the parameter receives gradients and updates; the opposite of `stop_gradient`."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.stop_gradient = not as_bool(value, "Parameter: trainable")

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copied = super().__deepcopy__(memo)
        assert isinstance(copied, Parameter)
        copied._name = unique_name(f"{self._name}_copy")
        copied.optimize_attr = dict(self.optimize_attr)
        return copied


class UnsetTensor(Tensor):
    """A tensor without values. `opsdk.assign(value, tensor)` and `set_value` give it some, of any shape.

    Args:
        name: its name.
        dtype: that the first values are converted to; their own unless given.
        persistable: whether it is to be saved.
    """

    def __init__(self, name: str, dtype: DTypeLike | None = None, persistable: bool = False) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        del self._array
        self._name = name
        self._wanted = None if dtype is None else as_dtype(dtype)
        self.persistable = persistable

    def __getattr__(self, name: str) -> Any:  # what is not there: the array
        if name != "_array":
            raise AttributeError(f"tensor {self._name!r}: expected one of its attributes, got {name!r}")
        raise NotInitializedError(
            f"tensor {self._name!r}: expected values, it was created without; copy some into it with opsdk.assign"
        )

    # Any: a tensor or whatever NumPy makes an array of.
    def set_value(self, value: Any) -> None:
        """Gives the tensor its first values, and with them its shape; it is a plain tensor from then on."""
        numbers = as_numbers(values_of(value), "set_value")
        array = np.array(fitted(numbers, self._wanted or numbers.dtype, "set_value"), order="C")
        self.__class__ = Tensor  # type: ignore[assignment]
        self._array = array
        self._version[0] += 1
        if isinstance(value, Tensor) and value.place != self.place:
            put(self, value.detach().to(array.dtype)._array.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> UnsetTensor:
        assert self._name is not None
        copied = UnsetTensor(self._name, self._wanted, self.persistable)
        memo[id(self)] = copied
        return copied

    def _state(self, slots: Sequence[str] = Tensor._SLOTS) -> dict[str, Any]:
        return super()._state([name for name in slots if name != "_array"])

    def __repr__(self) -> str:
        return "Tensor(Not initialized)"


register_frontend(TAPE, Parameter, fast=fast)
DeviceParameter = on_device(Parameter)  # under this name pickle finds it
register_frontend(DEVICE_TAPE, DeviceParameter)
