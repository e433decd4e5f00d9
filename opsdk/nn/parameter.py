"""Parameter: the tensor that a layer registers and an optimizer updates."""

from __future__ import annotations

from typing import Any

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.tape import TAPE, fast
from opsdk.autograd.tensor import Tensor, needs_float
from opsdk.core.dtype import DTypeLike
from opsdk.core.names import unique_name
from opsdk.core.truth import as_bool
from opsdk.define.frontend import register_frontend


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
        super().__init__(to_tensor(data, dtype)._array, not trainable)
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


register_frontend(TAPE, Parameter, fast=fast)
