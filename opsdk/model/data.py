"""What a Model is given: data as batches, and a batch as values of a network."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError
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
