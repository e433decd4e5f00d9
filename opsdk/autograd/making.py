"""Tensors in PyTorch's words, indices of triangles, and questions of any value."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.autograd.creation import linspace, to_tensor
from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.tensor import PRINTING, Tensor
from opsdk.core import random
from opsdk.core.dtype import DTypeLike, as_dtype, as_native, is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError, PlaceError
from opsdk.core.fit import as_bool, fitted
from opsdk.core.place import Place, as_place
from opsdk.core.spellings import spell
from opsdk.ops.shape import as_value, assign


# Any, in this file: whatever a constant can be made of, and values of any runtime.
def tensor(data: Any, dtype: DTypeLike | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Returns a tensor that holds a copy of `data`: `to_tensor` in PyTorch's words.

    Args:
        data: array, number, or nested lists of numbers.
        dtype: converts to this dtype.
        device: a place, or its name.
        requires_grad: asks for gradients.

    Raises:
        PlaceError: there is no such device.
    """
    return to_tensor(data, dtype, _place(device), not as_bool(requires_grad, "tensor: requires_grad"))


def as_tensor(data: Any, dtype: DTypeLike | None = None, device: Any = None) -> Tensor:
    """Returns a tensor as it is where it has that dtype and place already; else one of the data."""
    place = _place(device)
    if isinstance(data, Tensor):
        return data.to(*[each for each in (place, None if dtype is None else as_dtype(dtype)) if each is not None])
    return to_tensor(data, dtype, place)


asarray = as_tensor


def _place(device: Any, subject: str = "tensor: device") -> Place | None:
    place = as_place(device)
    if device is not None and place is None:
        raise PlaceError(f"{subject} expected 'cpu', 'cuda', 'cuda:0' or a place, got {device!r}")
    return place


def device(type: Any, index: int | None = None) -> Place:
    """Returns the place that is called so, `device("cuda:0")` or `device("cuda", 0)`, in PyTorch's words.

    Raises:
        PlaceError: it names none.
    """
    place = _place(type if index is None else f"{type}:{index}", "device")
    if place is None:
        raise PlaceError("device expected 'cpu', 'cuda', 'cuda:0' or a place, got None")
    return place


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """Returns a tensor of an array's own memory: who changes one changes the other, and the graph is not told.

    Raises:
        DTypeError: it is no array of numbers.
    """
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"from_numpy: expected a NumPy array, got {type(ndarray).__name__}; use to_tensor")
    as_dtype(ndarray.dtype, "from_numpy")
    return tensor_of(as_native(ndarray), True)


def logspace(start: float, stop: float, num: int, base: float = 10.0, dtype: DTypeLike = "float32") -> Any:
    """Returns `num` numbers from base to the power `start` to base to the power `stop`, evenly spaced in the power."""
    powers = linspace(start, stop, num, "float64").numpy()
    return to_tensor(fitted(np.power(float(base), powers), as_dtype(dtype, "logspace"), "logspace", truncates=True))


def tril_indices(row: int, col: int | None = None, offset: int = 0, dtype: DTypeLike = "int64") -> Tensor:
    """Returns the rows and the columns of the elements on a diagonal and below it, of a matrix of these sizes."""
    return to_tensor(np.array(np.tril_indices(row, offset, row if col is None else col)), dtype)


def triu_indices(row: int, col: int | None = None, offset: int = 0, dtype: DTypeLike = "int64") -> Tensor:
    """Returns the rows and the columns of the elements on a diagonal and above it, of a matrix of these sizes."""
    return to_tensor(np.array(np.triu_indices(row, offset, row if col is None else col)), dtype)


def manual_seed(seed: int) -> None:
    """Sets the global seed: `opsdk.seed` in PyTorch's words."""
    random.seed(seed)


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
) -> None:
    """Sets how tensors are printed; what is not given stays.

    Args:
        precision: digits behind the point, 8 unless set.
        threshold: how many elements are printed before the middle is left out.
        edgeitems: how many are left at each end.
        linewidth: characters in a line.

    Raises:
        AttributeValueError: one is no whole number >= 0.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "max_line_width": linewidth}
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise AttributeValueError(f"set_printoptions: {name} expected a whole number >= 0, got {value!r}")
    PRINTING.update({name: value for name, value in given.items() if value is not None})


def is_tensor(x: Any) -> bool:
    """Returns whether a value is a tensor."""
    return isinstance(x, Tensor)


def is_floating_point(x: Any) -> bool:
    """Returns whether the elements are floats."""
    dtype = _dtype(x, "is_floating_point")
    return is_differentiable(dtype) and dtype.kind != "c"


def is_complex(x: Any) -> bool:
    """Returns whether the elements are complex numbers."""
    return bool(_dtype(x, "is_complex").kind == "c")


def is_integer(x: Any) -> bool:
    """Returns whether the elements are whole numbers."""
    return _dtype(x, "is_integer").kind in "iu"


def _dtype(x: Any, subject: str) -> np.dtype[Any]:
    if not hasattr(x, "dtype"):
        raise DTypeError(f"{subject}: expected a tensor or array, got {type(x).__name__}")
    dtype: np.dtype[Any] = x.dtype
    return dtype


def clone(x: Any) -> Any:
    """Returns a copy that gradients flow through."""
    return assign(as_value(x))


spell(globals())

__all__ = [name for name, value in vars().items() if getattr(value, "__module__", "") == __name__ and name[0] != "_"]
