"""LayerCasting: all floating parameters and buffers of a layer in another dtype."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import DTypeLike, as_dtype, is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.core.place import Place
from opsdk.nn.layer.tree import LayerTree
from opsdk.nn.layer.unset import UnsetTensor

Self = TypeVar("Self", bound="LayerCasting")
_DEVICES = ("cpu", "cuda", "gpu", "xpu", "npu")


class LayerCasting(LayerTree):
    """A layer that can be cast."""

    # Any: a place, the name of one, or a dtype in PyTorch's manner.
    def to(
        self: Self,
        device: Place | DTypeLike | None = None,
        dtype: DTypeLike | None = None,
        blocking: bool | None = None,
        non_blocking: bool | None = None,
    ) -> Self:
        """Casts real floating parameters and buffers, in place, and their gradients; returns self.

        Args:
            device: host memory, the only place served yet; or a dtype.
            dtype: a floating dtype; None leaves them.
            blocking: without meaning in host memory.
            non_blocking: without meaning in host memory.

        Raises:
            AttributeValueError: another place than host memory.
            DTypeError: a dtype that is not floating.
        """
        kind = device.kind if isinstance(device, Place) else _device_name(device)
        if kind is None and device is not None:
            dtype = device if dtype is None else dtype  # type: ignore[assignment]
        elif kind not in (None, "cpu"):
            raise AttributeValueError(f"Layer.to: device expected cpu, the only place served yet, got {device}")
        return self if dtype is None else self.astype(dtype)

    def astype(self: Self, dtype: DTypeLike) -> Self:
        """Casts real floating parameters and buffers, in place, and their gradients; returns self.

        Raises:
            DTypeError: a dtype that is not floating.
        """
        wanted = as_dtype(dtype, "Layer.astype")
        if not is_differentiable(wanted):
            raise DTypeError(f"Layer.astype: expected a floating dtype, got {wanted}")
        for layer in self.sublayers(include_self=True):
            layer._dtype = wanted
        for tensor in (*self.parameters(), *self.buffers()):
            is_real = not isinstance(tensor, UnsetTensor) and tensor.dtype.kind != "c"
            if is_real and is_differentiable(tensor.dtype):
                _cast(tensor, wanted)
        return self

    type = astype

    def float(self: Self) -> Self:
        """Casts to float32."""
        return self.astype("float32")

    def double(self: Self) -> Self:
        """Casts to float64."""
        return self.astype("float64")

    def half(self: Self) -> Self:
        """Casts to float16."""
        return self.astype("float16")

    float16 = half

    def bfloat16(self: Self) -> Self:
        """Casts to bfloat16."""
        return self.astype("bfloat16")

    def cpu(self: Self) -> Self:
        """Returns the layer, which is in host memory already."""
        return self


def _cast(tensor: Tensor, dtype: np.dtype[np.generic]) -> None:
    if tensor._array.dtype != dtype:
        tensor._array = tensor._array.astype(dtype)
        tensor._version = [0]  # new memory; what was saved of the old stays as it is
        if isinstance(tensor._grad, Tensor):  # what backwards have gathered counts in the next step
            tensor._grad = Tensor(tensor._grad._array.astype(dtype))


def _device_name(device: object) -> str | None:
    name = device.partition(":")[0] if isinstance(device, str) else None
    return name if name in _DEVICES else None
