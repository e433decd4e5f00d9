"""Tensors out of data, constants and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.tensor import Tensor, needs_float
from opsdk.backends.arena import empty
from opsdk.backends.constant import as_constant, check_unmasked, check_whole
from opsdk.backends.device import memory_at, memory_of, place_of
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.place import Place
from opsdk.core.random import next_seed
from opsdk.core.truth import as_bool
from opsdk.ops import creation as ops


# Any: whatever a constant can be made of.
def to_tensor(
    data: Any, dtype: DTypeLike | None = None, place: Place | None = None, stop_gradient: bool = True
) -> Tensor:
    """Returns a tensor that holds a copy of `data`, contiguous; where it is not small, aligned for vector loads.

    Args:
        data: array, number, or nested lists of numbers; Python floats become float32, NumPy arrays keep their dtype,
            and get this machine's byte order.
        dtype: converts to this dtype.
        place: where the copy lives: `CPUPlace()`, or `CUDAPlace(0)`; where `data` lives unless given.
        stop_gradient: False asks for gradients; the dtype must then be a float.

    Raises:
        DTypeError: the data is not numeric, or has whole numbers that an integer `dtype` does not hold.
        AttributeValueError: a gradient is asked for an integer dtype, or `stop_gradient` is not a bool.
        PlaceError: there is no such device here.
        MissingDependencyError: the place is a device, and CuPy is not installed.
    """
    stop_gradient = as_bool(stop_gradient, "to_tensor: stop_gradient")
    here = place_of(data._array if isinstance(data, Tensor) else data)
    there = here if place is None else place
    if here.kind != "cpu" or there.kind != "cpu":
        return _moved(data, dtype, there, stop_gradient)
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, (list, tuple)) and any(isinstance(item, Tensor) for item in data):
        check_unmasked(data, "to_tensor")
        array = np.stack([item.numpy() if isinstance(item, Tensor) else np.asarray(item) for item in data])
    else:
        array = as_constant(data, None, "to_tensor")
    held = empty(array.shape, as_dtype(array.dtype if dtype is None else dtype))  # in this machine's byte order
    if not isinstance(data, (np.ndarray, Tensor)):  # the dtypes of arrays are chosen, and converted as NumPy does
        check_whole(array, held.dtype, "to_tensor")
    held[...] = array
    made = Tensor(held, stop_gradient)
    if not stop_gradient:
        needs_float(made, "to_tensor")
    return made


def _moved(data: Any, dtype: DTypeLike | None, place: Place, stop_gradient: bool) -> Tensor:
    """Returns a copy of `data` at a place, where it or the place is not in host memory."""
    memory = memory_at(place, "to_tensor")
    array = data._array if isinstance(data, Tensor) else data
    if place_of(array) == place:
        copied = array.copy() if dtype is None else array.astype(as_dtype(dtype), copy=True)
    else:
        host = data if place_of(array).kind == "cpu" else memory_of(array).to_host(array)
        copied = memory.from_host(to_tensor(host, dtype)._array)
    made = tensor_of(copied, stop_gradient)
    if not stop_gradient:
        needs_float(made, "to_tensor")
    return made


def full(shape: Sequence[int] | int, fill_value: float, dtype: DTypeLike = "float32") -> Tensor:
    """Returns a tensor of one value.

    Raises:
        DTypeError: the value is a whole number that an integer dtype does not hold.
    """
    kind = as_dtype(dtype)
    if isinstance(fill_value, int) and kind.kind in "iu":
        check_whole(np.asarray(fill_value, object), kind, "full")
        return Tensor(np.full(_sizes(shape), fill_value, kind))
    return Tensor(ops.fill_constant(shape=_sizes(shape), value=float(fill_value), dtype=kind))


def zeros(shape: Sequence[int] | int, dtype: DTypeLike = "float32") -> Tensor:
    """Returns a tensor of zeros."""
    return full(shape, 0.0, dtype)


def ones(shape: Sequence[int] | int, dtype: DTypeLike = "float32") -> Tensor:
    """Returns a tensor of ones."""
    return full(shape, 1.0, dtype)


def zeros_like(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Returns a tensor of zeros with the shape of `x`, and its dtype unless given."""
    return full(x.shape, 0.0, dtype or x.dtype)


def ones_like(x: Tensor, dtype: DTypeLike | None = None) -> Tensor:
    """Returns a tensor of ones with the shape of `x`, and its dtype unless given."""
    return full(x.shape, 1.0, dtype or x.dtype)


def arange(start: float, end: float | None = None, step: float = 1, dtype: DTypeLike | None = None) -> Tensor:
    """Returns evenly spaced numbers in [start, end); int64 for integer arguments, else float32, unless given."""
    low, high = (0, start) if end is None else (start, end)
    whole = all(isinstance(value, int) for value in (low, high, step))
    return Tensor(np.arange(low, high, step).astype(as_dtype(dtype or ("int64" if whole else "float32"))))


def uniform(
    shape: Sequence[int] | int, dtype: DTypeLike = "float32", min: float = -1.0, max: float = 1.0, seed: int = 0
) -> Tensor:
    """Returns numbers drawn uniformly from [min, max); seed 0 draws the seed from the global one."""
    return Tensor(
        ops.uniform_random(shape=_sizes(shape), min=min, max=max, seed=seed or next_seed(), dtype=as_dtype(dtype))
    )


def rand(shape: Sequence[int] | int, dtype: DTypeLike = "float32") -> Tensor:
    """Returns numbers drawn uniformly from [0, 1)."""
    return uniform(shape, dtype, 0.0, 1.0)


def randn(shape: Sequence[int] | int, dtype: DTypeLike = "float32", seed: int = 0) -> Tensor:
    """Returns numbers from the standard normal distribution; seed 0 draws the seed from the global one."""
    return Tensor(ops.gaussian_random(shape=_sizes(shape), seed=seed or next_seed(), dtype=as_dtype(dtype)))


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """Returns a copy of a tensor or array that gradients flow through, or copies it into `output`.

    Raises:
        ShapeError: `output` has another shape.
    """
    source = x if isinstance(x, Tensor) else to_tensor(x)
    if output is None:
        return source.clone()
    output.set_value(source)
    return output


def _sizes(shape: Sequence[int] | int) -> list[int]:
    return [int(shape)] if isinstance(shape, (int, np.integer)) else [int(size) for size in shape]
