"""What a Model is given: data as batches, and a batch as values of a network."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.io.dataset import Dataset
from opsdk.io.loader import DataLoader


# Any, in this file: batches of tensors or arrays, datasets.
def listed(value: Any) -> list[Any]:
    """Returns one value, or several, as a list; None is none."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def flattened(batch: Any) -> Iterator[Any]:
    """Yields the parts of a batch, those of lists in it too."""
    for each in batch if isinstance(batch, (list, tuple)) else [batch]:
        yield from flattened(each) if isinstance(each, (list, tuple)) else [each]


def tensors(values: Any) -> list[Any]:
    """Returns one value, or several, as a list of tensors."""
    return [value if isinstance(value, Tensor) else Tensor(np.asarray(value)) for value in listed(values)]


def array(value: Any) -> np.ndarray:
    """Returns the values of a tensor."""
    return np.asarray(value.detach().numpy() if isinstance(value, Tensor) else value)


def length(data: Any) -> int | None:
    """Returns how many batches there are; None where nobody knows."""
    try:
        return len(data) if isinstance(data, Sized) else None
    except TypeError:
        return None


def positional(function: Callable[..., Any]) -> int | None:
    """Returns how many arguments a function needs; None where it takes any number."""
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return None
    return sum(each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters)


def batches_of(data: Any, batch_size: int, shuffle: bool, drop_last: bool, num_workers: int) -> Iterable[Any]:
    """Returns what gives batches: a DataLoader of a Dataset; what gives them already as it is.

    Raises:
        AttributeValueError: it is none of both.
    """
    if isinstance(data, Dataset):
        return DataLoader(data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last, num_workers=num_workers)
    if not isinstance(data, Iterable):
        raise AttributeValueError(
            f"Model: data expected a Dataset, a DataLoader, or batches to iterate over, got {type(data).__name__}"
        )
    return data


def parts_of(batch: Any, inputs: int | None, labels: int, forward: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
    """Returns the inputs and the labels of a batch.

    Args:
        batch: its parts, in a list.
        inputs: how many are inputs; None counts what `forward` needs.
        labels: how many are labels, where `forward` takes any number.
        forward: takes the inputs.

    Raises:
        ShapeError: there are fewer parts than inputs.
    """
    parts, count = list(flattened(batch)), inputs
    if count is None:
        taken = positional(forward)
        count = len(parts) - labels if taken is None else taken
    if len(parts) < max(count, 1):
        raise ShapeError(f"Model: expected at least {max(count, 1)} parts of a batch, got {len(parts)}")
    return parts[:count], parts[count:]


def fits(value: Any, own: Any) -> bool:
    """Whether a saved value is of the shape of a layer's own; not where the layer has none."""
    return own is not None and tuple(np.shape(value)) == tuple(own.shape)
