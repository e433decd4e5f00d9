"""`opsdk.batch`: Paddle's decorator of readers, functions that give an iterator of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opsdk.core.fit import as_bool
from opsdk.io.sampler import as_count, batched

Reader = Callable[[], Iterable[Any]]  # Any: samples


def batch(reader: Reader, batch_size: int, drop_last: bool = False) -> Callable[[], Iterator[list[Any]]]:
    """Returns a reader of lists of samples.

    Args:
        reader: when called it gives an iterator of samples.
        batch_size: how many make a batch.
        drop_last: leaves out a last batch that is not full.

    Raises:
        AttributeValueError: a batch size below 1.

    Example:
        >>> list(batch(lambda: range(5), 2)())
        [[0, 1], [2, 3], [4]]
    """
    size, drops = as_count(batch_size, "batch: batch_size"), as_bool(drop_last, "batch: drop_last")
    return lambda: batched(iter(reader()), size, drops)
