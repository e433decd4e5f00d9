"""What a worker process of a DataLoader does, and how batches are made in any process."""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from opsdk.core.random import drawn, seed
from opsdk.io.collate import as_arrays
from opsdk.io.dataset import IterableDataset
from opsdk.io.sampler import batched

BATCH, END, ERROR = "batch", "end", "error"  # what an answer is


# Any, in this file: datasets, samples and batches of every type.
@dataclass(frozen=True)
class WorkerInfo:
    """The worker process that asks.

    Args:
        id: its number, from 0.
        num_workers: how many there are.
        seed: what its random numbers were seeded with.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_INFO: list[WorkerInfo] = []  # one, in a worker process


def get_worker_info() -> WorkerInfo | None:
    """Returns which worker process of a DataLoader this is; None in any other process."""
    return _INFO[0] if _INFO else None


class Fetch:
    """Makes the batches of tasks: of indices, or of nothing, which is the next ones of a stream.

    Args:
        dataset: whose samples they are.
        collate: makes a batch of a list of samples.
        batch_size: how many a batch of a stream has; None takes single samples.
        drop_last: leaves out a last batch of a stream that is not full.
    """

    def __init__(
        self, dataset: Any, collate: Callable[[Any], Any] | None, batch_size: int | None, drop_last: bool
    ) -> None:
        self.dataset, self._collate, self._batch_size, self._drop_last = dataset, collate, batch_size, drop_last
        self._stream: Iterator[Any] | None = None

    def __call__(self, task: Any) -> Any:
        """Returns a batch.

        Raises:
            StopIteration: the stream has ended.
        """
        if isinstance(self.dataset, IterableDataset):
            if self._stream is None:
                samples = iter(self.dataset)
                size = self._batch_size
                self._stream = samples if size is None else batched(samples, size, self._drop_last)
            taken = next(self._stream)
        elif self._batch_size is None:
            taken = self.dataset[task]
        else:
            taken = [self.dataset[index] for index in task]
        return taken if self._collate is None else self._collate(taken)


def serve(connection: Connection, number: int, count: int, base: int, packed: bytes, path: Sequence[str]) -> None:
    """Answers tasks until the other side closes the connection.

    Args:
        connection: to the DataLoader.
        number: of this process.
        count: how many processes there are.
        base: the draw of this epoch; random numbers are seeded by it and by `number`.
        packed: a pickle of a Fetch and of what runs first, or None.
        path: where modules are found.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the DataLoader is told, and ends this one
    sys.path[:] = path
    tasks: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    try:
        fetch = _started(number, count, drawn(base, number), packed)
    except Exception as error:
        _send(connection, _failure(error))
        return
    while True:
        _send(connection, _answer(fetch, tasks.get()))


def _send(connection: Connection, answer: tuple[str, Any]) -> None:
    try:
        data = pickle.dumps(answer, protocol=5)
    except Exception as error:
        data = pickle.dumps(_failure(error), protocol=5)
    connection.send_bytes(data)


def _receive(connection: Connection, tasks: SimpleQueue[Any]) -> None:
    """Takes tasks as they come, so that neither side waits for the other to read; without the other side it ends."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)


def _started(number: int, count: int, key: int, packed: bytes) -> Fetch:
    random.seed(key)
    np.random.seed(key % 2**32)  # what samples of others draw from
    seed(key)
    fetch: Fetch
    fetch, first = pickle.loads(packed)
    _INFO[:] = [WorkerInfo(number, count, key, fetch.dataset)]
    if first is not None:
        first(number)
    return fetch


def _answer(fetch: Fetch, task: Any) -> tuple[str, Any]:
    try:
        batch = as_arrays(fetch(task))
    except StopIteration:
        return END, None
    except Exception as error:
        return _failure(error)
    return BATCH, batch


def _failure(error: Exception) -> tuple[str, Any]:
    text = "".join(traceback.format_exception(error)).rstrip()
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ERROR, (None, text)
    return ERROR, (error, text)
