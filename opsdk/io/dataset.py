"""Datasets: samples by index, or one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.random import Generator
from opsdk.io.order import permuted


# Any, in this file: a sample is whatever its author says.
class Dataset:
    """Samples by index. A subclass defines `__getitem__(index)` and `__len__()`.

    Raises:
        NotImplementedError: one of them was asked for and is not defined.
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"dataset {type(self).__name__}: expected it to define __getitem__(index)")

    def __len__(self) -> int:
        raise NotImplementedError(f"dataset {type(self).__name__}: expected it to define __len__()")


class IterableDataset(Dataset):
    """Samples one after the other, as of a stream. A subclass defines `__iter__()`.

    In worker processes each one iterates over a copy: `get_worker_info()` says which part is its own.

    Raises:
        NotImplementedError: `__iter__` is not defined.
        TypeError: a sample by index, or the length, was asked for.
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"dataset {type(self).__name__}: expected it to define __iter__()")

    def __getitem__(self, index: Any) -> NoReturn:
        raise TypeError(f"dataset {type(self).__name__}: expected to be iterated over, got an index; it is a stream")

    def __len__(self) -> NoReturn:
        raise TypeError(f"dataset {type(self).__name__}: a stream has no length; iterate over it")


class TensorDataset(Dataset):
    """Rows of tensors or arrays: sample i is the i-th row of each.

    Args:
        tensors: of one length along the first axis.

    Raises:
        AttributeValueError: no tensors.
        ShapeError: their lengths differ, or one has no axes.
    """

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.tensors = list(tensors)
        if not self.tensors:
            raise AttributeValueError("TensorDataset: expected at least one tensor, got none")
        shapes = [tuple(tensor.shape) for tensor in self.tensors]
        if len({shape[:1] for shape in shapes}) > 1 or not shapes[0]:
            raise ShapeError(f"TensorDataset: expected tensors of one length along the first axis, got shapes {shapes}")

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class Subset(Dataset):
    """Some samples of another dataset.

    Args:
        dataset: whose they are.
        indices: which, in this order.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Splits a dataset at random.

    Args:
        dataset: of a known length.
        lengths: how many samples each part gets; or fractions that sum to 1, whose remainder goes to the first parts.
        generator: whose next draw decides; the global one unless given.

    Returns:
        A Subset for each length; no sample is in two.

    Raises:
        AttributeValueError: the lengths do not sum to that of the dataset.
    """
    count, given = len(dataset), list(lengths)
    sizes = [int(size) for size in given]
    if given and abs(sum(given) - 1) < 1e-9 and sum(given) != count:
        sizes = [int(count * size + 1e-9) for size in given]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    elif sizes != given:
        sizes = []
    if sum(sizes) != count or any(size < 0 for size in sizes):
        raise AttributeValueError(
            f"random_split: expected lengths that sum to that of the dataset, {count}, got {given}"
        )
    order = permuted(count, generator).tolist()
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
