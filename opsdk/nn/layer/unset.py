"""UnsetTensor: a tensor that was created without values; the first values that it is given make it a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import NotInitializedError
from opsdk.core.fit import as_numbers, fitted
from opsdk.ops.numpy_protocol import values_of


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

    def __deepcopy__(self, memo: dict[int, Any]) -> UnsetTensor:
        assert self._name is not None
        copied = UnsetTensor(self._name, self._wanted, self.persistable)
        memo[id(self)] = copied
        return copied

    def _state(self, slots: Sequence[str] = Tensor._SLOTS) -> dict[str, Any]:
        return super()._state([name for name in slots if name != "_array"])

    def __repr__(self) -> str:
        return "Tensor(Not initialized)"
