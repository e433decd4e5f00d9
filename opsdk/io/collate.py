"""Samples as a batch, in arrays, which cross between processes; tensors are made of them at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import ReturnError, ShapeError


# Any, in this file: samples of every type.
def default_collate(samples: Sequence[Any]) -> Any:
    """Returns samples as a batch, each part of them stacked along a new first axis.

    Args:
        samples: equal in form: tensors and arrays of one shape, numbers, texts, and mappings and sequences of these.

    Returns:
        Arrays in the form of a sample, a sequence as a list; texts as a list of them.

    Raises:
        ShapeError: arrays of several shapes, or sequences of several lengths, in one place.
        ReturnError: a sample, or a part of one, is nothing of this.
    """
    first = samples[0]
    if isinstance(first, (Tensor, np.ndarray, np.generic, Number)):
        parts = [np.asarray(each.detach().numpy() if isinstance(each, Tensor) else each) for each in samples]
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise ShapeError(f"DataLoader: expected samples of one shape, got {sorted(shapes)}; give a collate_fn")
        return np.stack(parts)
    if isinstance(first, (str, bytes)):
        return list(samples)
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in samples]) for key in first}
    if isinstance(first, Sequence):
        if len({len(each) for each in samples}) > 1:
            raise ShapeError("DataLoader: expected samples of as many parts each, got others; give a collate_fn")
        return [default_collate(part) for part in zip(*samples, strict=True)]
    raise ReturnError(
        f"DataLoader: a sample expected arrays, tensors, numbers, texts, or dictionaries and sequences of them, got "
        f"{type(first).__name__}; give a collate_fn"
    )


def collated(batch: Sequence[Any]) -> Any:
    """Returns samples as a batch of tensors, as a DataLoader makes one of them where it is given no other function."""
    return as_tensors(default_collate(batch))


def as_arrays(batch: Any) -> Any:
    """Returns a batch with arrays for tensors, by which it crosses to another process."""
    return _each(batch, Tensor, lambda tensor: tensor.detach().numpy())


def as_tensors(batch: Any) -> Any:
    """Returns a batch with tensors for arrays."""
    return _each(batch, np.ndarray, lambda array: array if array.dtype.kind in "OUSMm" else Tensor(array))


def _each(batch: Any, kind: type, function: Callable[[Any], Any]) -> Any:
    if isinstance(batch, kind):
        return function(batch)
    if isinstance(batch, Mapping):
        return {key: _each(value, kind, function) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        parts = [_each(value, kind, function) for value in batch]
        if isinstance(batch, list):
            return parts
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    return batch
