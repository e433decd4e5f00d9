"""Datasets: samples by index, or one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
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
        tensors: of one length along the first axis: a list of them as in Paddle, or one after the other as in PyTorch.

    Raises:
        AttributeValueError: no tensors, or something else.
        ShapeError: their lengths differ, or one has no axes.
    """

    def __init__(self, *tensors: Any) -> None:
        is_listed = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        self.tensors = list(tensors[0] if is_listed else tensors)
        if not self.tensors:
            raise AttributeValueError("TensorDataset: expected at least one tensor, got none")
        wrong = next((each for each in self.tensors if not hasattr(each, "shape")), None)
        if wrong is not None:
            raise AttributeValueError(
                "TensorDataset: expected tensors or arrays, TensorDataset(x, y) or TensorDataset([x, y]), got "
                f"{type(wrong).__name__}; opsdk.to_tensor makes one of numbers"
            )
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


class ConcatDataset(Dataset):
    """The samples of several datasets, one dataset after the other.

    Args:
        datasets: each of a known length.

    Raises:
        AttributeValueError: none, or a stream.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets or any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AttributeValueError("ConcatDataset: expected at least one dataset, and no streams, got others")
        self.cumulative_sizes = list(accumulate(len(each) for each in self.datasets))

    def __getitem__(self, index: int) -> Any:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"ConcatDataset: expected an index below {len(self)}, got {index}")
        which = bisect_right(self.cumulative_sizes, at)
        return self.datasets[which][at - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """The samples of several streams, one stream after the other.

    Args:
        datasets: each can be iterated over.
    """

    def __init__(self, datasets: Iterable[Iterable[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.datasets)


class ComposeDataset(Dataset):
    """The samples of several datasets side by side: sample i has the parts of the i-th sample of each.

    Args:
        datasets: of one length.

    Raises:
        AttributeValueError: none, or of several lengths.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if len({len(each) for each in self.datasets}) != 1:
            raise AttributeValueError("ComposeDataset: expected datasets of one length, got others, or none")

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        parts = (each[index] for each in self.datasets)
        return tuple(chain.from_iterable(part if isinstance(part, (list, tuple)) else (part,) for part in parts))

    def __len__(self) -> int:
        return len(self.datasets[0])


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
