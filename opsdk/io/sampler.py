"""Samplers: in which order samples are taken, and which make a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, cast

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.core.fit import as_bool
from opsdk.core.random import Generator
from opsdk.io.order import draw, drawn_again, permuted


def as_count(value: Any, subject: str, least: int = 1) -> int:  # Any: what a user gave
    """Returns a number of something.

    Raises:
        AttributeValueError: no integer, or one below the least.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise AttributeValueError(f"{subject} expected an integer ≥ {least}, got {value!r}")
    return int(value)


class Sampler:
    """Indices of samples, in an order. A subclass defines `__iter__()`, and `__len__()` if it is not the dataset's.

    Args:
        data_source: the dataset.
    """

    def __init__(self, data_source: Sized | None = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:  # Any: an index, or several
        raise NotImplementedError(f"sampler {type(self).__name__}: expected it to define __iter__()")

    def __len__(self) -> int:
        return len(cast("Sized", self.data_source))


class SequenceSampler(Sampler):
    """The samples in their order.

    Args:
        data_source: the dataset.
    """

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


class RandomSampler(Sampler):
    """The samples in an order that is another one each time.

    Args:
        data_source: the dataset.
        replacement: draws each sample from all, so that one may come twice.
        num_samples: how many; all unless given.
        generator: whose next draw is an order; `opsdk.seed` decides unless given. Its state, saved and put back, gives
            the orders that would have come.

    Raises:
        AttributeValueError: `num_samples` below 1, or above the number of samples without replacement.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(data_source)
        self.replacement = as_bool(replacement, "RandomSampler: replacement")
        self.generator = _as_generator(generator, "RandomSampler")
        self._num_samples = None if num_samples is None else as_count(num_samples, "RandomSampler: num_samples")
        if not replacement and num_samples is not None and num_samples > len(data_source):
            raise AttributeValueError(
                f"RandomSampler: num_samples expected at most the {len(data_source)} samples that there are, got "
                f"{num_samples}; or replacement=True"
            )

    def __iter__(self) -> Iterator[int]:
        among = len(cast("Sized", self.data_source))
        if self.replacement:
            return iter(drawn_again(len(self) if among else 0, among, self.generator).tolist())
        return iter(permuted(among, self.generator)[: len(self)].tolist())

    def __len__(self) -> int:
        return super().__len__() if self._num_samples is None else self._num_samples


class SubsetRandomSampler(Sampler):
    """Given indices, in an order that is another one each time.

    Args:
        indices: which.
        generator: as of RandomSampler.
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        super().__init__(indices)
        self.indices, self.generator = indices, _as_generator(generator, "SubsetRandomSampler")

    def __iter__(self) -> Iterator[int]:
        return iter([self.indices[at] for at in permuted(len(self.indices), self.generator).tolist()])


class WeightedRandomSampler(Sampler):
    """Indices drawn with the probabilities that their weights say.

    Args:
        weights: one for each sample, ≥ 0; their sum need not be 1.
        num_samples: how many are drawn.
        replacement: draws each from all, so that one may come twice.
        generator: as of RandomSampler.

    Raises:
        AttributeValueError: weights that are none, `num_samples` below 1, or above the number of weights that are not
            0 without replacement.
    """

    # Any: numbers as a list, an array or a tensor.
    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        self.weights = np.asarray(weights, np.float64)
        self.num_samples = as_count(num_samples, "WeightedRandomSampler: num_samples")
        self.replacement = as_bool(replacement, "WeightedRandomSampler: replacement")
        self.generator = _as_generator(generator, "WeightedRandomSampler")
        is_right = self.weights.ndim == 1 and np.isfinite(self.weights).all() and (self.weights >= 0).all()
        if not is_right or not self.weights.any():
            raise AttributeValueError(
                f"WeightedRandomSampler: weights expected a list of numbers ≥ 0, not all 0, got {weights!r:.80}"
            )
        most = np.count_nonzero(self.weights)
        if not replacement and num_samples > most:
            raise AttributeValueError(
                f"WeightedRandomSampler: num_samples expected at most the {most} weights that are not 0, got "
                f"{num_samples}; or replacement=True"
            )

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng(draw(self.generator))
        shares = self.weights / self.weights.sum()
        return iter(random.choice(len(shares), self.num_samples, self.replacement, shares).tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of indices, one a batch.

    Args:
        dataset: taken in its order, or with `shuffle` in a random one. In PyTorch's form it is the sampler, and the
            batch size and `drop_last` follow.
        sampler: the order instead: anything that gives indices when it is iterated over.
        shuffle: whether the order is random.
        batch_size: how many make a batch.
        drop_last: leaves out a last batch that is not full.
        generator: as of RandomSampler.

    Raises:
        AttributeValueError: not one of dataset and sampler, `shuffle` with a sampler, or a batch size below 1.
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Iterable[int] | int | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
        generator: Generator | None = None,
    ) -> None:
        if isinstance(dataset, Sampler):  # with batch_size and drop_last behind it, where these come by position
            batch_size = sampler if isinstance(sampler, int) else batch_size
            dataset, sampler, shuffle, drop_last = None, dataset, False, shuffle or drop_last
        if (dataset is None) == (sampler is None):
            raise AttributeValueError("BatchSampler: expected a dataset or a sampler, got both or neither")
        if as_bool(shuffle, "BatchSampler: shuffle") and sampler is not None:
            raise AttributeValueError("BatchSampler: a sampler gives the order, got shuffle=True too")
        self.batch_size = as_count(batch_size, "BatchSampler: batch_size")
        self.drop_last = as_bool(drop_last, "BatchSampler: drop_last")
        made = RandomSampler(dataset, generator=generator) if shuffle else SequenceSampler(dataset)
        self.sampler: Any = made if sampler is None else sampler

    def __iter__(self) -> Iterator[list[int]]:
        return batched(iter(self.sampler), self.batch_size, self.drop_last)

    def __len__(self) -> int:
        count = len(cast("Sized", self.sampler))
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def batched(samples: Iterator[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    """Yields lists of so many samples; a last one that is not full unless it is dropped."""
    batch = []
    for sample in samples:
        batch.append(sample)
        if len(batch) == size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def _as_generator(generator: Any, subject: str) -> Generator | None:
    if generator is None or isinstance(generator, Generator):
        return generator
    raise AttributeValueError(
        f"{subject}: generator expected an opsdk.Generator or None, got {type(generator).__name__}"
    )
