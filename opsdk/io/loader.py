"""DataLoader: batches of a dataset, made here or by worker processes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from pickle import loads
from threading import Lock
from types import ModuleType
from typing import Any

from opsdk.core.errors import ArityError, AttributeValueError, WorkerError, attach_note
from opsdk.core.fit import as_bool
from opsdk.core.random import Generator
from opsdk.io.collate import as_arrays, as_tensors, default_collate
from opsdk.io.dataset import IterableDataset
from opsdk.io.order import draw
from opsdk.io.sampler import BatchSampler, RandomSampler, SequenceSampler, as_count
from opsdk.io.travel import packed
from opsdk.io.worker import END, ERROR, Fetch, serve

_MAIN = Lock()
_WITHOUT_MEANING = {"in_order", "multiprocessing_context", "persistent_workers", "pin_memory", "pin_memory_device"}
_WITHOUT_MEANING |= {"places", "use_buffer_reader", "use_shared_memory"}


# Any, in this file: datasets, batches and functions of every type.
class DataLoader:
    """Batches of a dataset, as tensors: iterate over it, or call it, once an epoch.

    The order of the samples, and what worker processes draw, is decided by one draw each at the beginning of an epoch:
    the same seed, or a generator in the same state, gives the same epoch. Batches come in one order however many
    processes make them. A worker's random numbers (`random`, `numpy.random`, opsdk's) are seeded by that draw and its
    number.

    Args:
        dataset: samples by index (`__getitem__` and `__len__`), or an IterableDataset.
        feed_list: Variables of a Program, or names, that the parts of a batch are fed to.
        return_list: gives the parts of a batch; False a dictionary of them by `feed_list`, which `Executor.run` takes
            as its feed.
        batch_sampler: gives the indices of each batch, in place of `batch_size`, `shuffle` and `drop_last`.
        batch_size: how many samples make a batch; None takes them one by one, without a new axis.
        shuffle: whether the order is another one each epoch.
        drop_last: leaves out a last batch that is not full.
        collate_fn: makes a batch of a list of samples; arrays in what it returns become tensors. Unless given samples
            are stacked, texts listed, dictionaries and sequences taken part by part; numbers become arrays.
        num_workers: how many processes make batches; 0 makes them here. They start with each epoch and end with it.
        prefetch_factor: how many batches each is ahead; 2 unless given.
        timeout: seconds to wait for a worker's batch; 0 waits on.
        worker_init_fn: runs first in each worker, with its number.
        generator: whose draws decide; the global stream (`opsdk.seed`) unless given.
        sampler: gives the order of the indices, in place of `shuffle`.
        without_meaning: what says how batches are brought, and not which: PyTorch's `pin_memory`, `persistent_workers`,
            `multiprocessing_context`, `pin_memory_device` and `in_order`, Paddle's `places`, `use_buffer_reader` and
            `use_shared_memory`.

    Raises:
        ArityError: another argument.
        AttributeValueError: an argument that is none of this, or two that decide the same.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = False,
        *,
        feed_list: Sequence[Any] | None = None,
        return_list: bool = True,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        drop_last: bool = False,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        num_workers: int = 0,
        prefetch_factor: int | None = None,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        generator: Generator | None = None,
        sampler: Iterable[int] | None = None,
        **without_meaning: Any,
    ) -> None:
        if unknown := without_meaning.keys() - _WITHOUT_MEANING:
            raise ArityError(f"DataLoader: expected none of these arguments, got {', '.join(sorted(unknown))}")
        shuffle = False if shuffle is None else shuffle
        self.dataset, self.generator = dataset, generator
        self.drop_last = as_bool(drop_last, "DataLoader: drop_last")
        self.num_workers = as_count(num_workers, "DataLoader: num_workers", 0)
        self._ahead = as_count(2 if prefetch_factor is None else prefetch_factor, "DataLoader: prefetch_factor")
        self._timeout, self._first = timeout, worker_init_fn
        self._names = _names(feed_list, as_bool(return_list, "DataLoader: return_list"))
        if batch_size is not None:
            as_count(batch_size, "DataLoader: batch_size")
        if batch_sampler is not None and (batch_size, shuffle, drop_last, sampler) != (1, False, False, None):
            raise AttributeValueError(
                "DataLoader: a batch_sampler decides what makes a batch, got batch_size, shuffle, drop_last or sampler "
                "too; give them to it"
            )
        self.batch_size = batch_size
        self.batch_sampler = self._sampler(batch_sampler, sampler, as_bool(shuffle, "DataLoader: shuffle"))
        self.collate_fn = collate_fn or (None if batch_size is None else default_collate)

    def _sampler(self, batch_sampler: Any, sampler: Any, shuffle: bool) -> Any:
        """Returns what gives indices, of a batch each, or single ones where samples are taken one by one."""
        if isinstance(self.dataset, IterableDataset):
            if shuffle or not (batch_sampler is sampler is None):
                raise AttributeValueError(
                    "DataLoader: an IterableDataset has an order of its own, got shuffle, sampler or batch_sampler"
                )
            return None
        if shuffle and sampler is not None:
            raise AttributeValueError("DataLoader: a sampler gives the order, got shuffle=True too")
        if batch_sampler is not None:
            return batch_sampler
        if self.batch_size is not None:
            dataset = self.dataset if sampler is None else None
            return BatchSampler(dataset, sampler, shuffle, self.batch_size, self.drop_last, self.generator)
        if sampler is not None:
            return sampler
        return RandomSampler(self.dataset, generator=self.generator) if shuffle else SequenceSampler(self.dataset)

    def __len__(self) -> int:
        """The number of batches of an epoch.

        Raises:
            TypeError: the dataset is a stream.
        """
        if self.batch_sampler is None:
            raise TypeError(f"DataLoader: {type(self.dataset).__name__} is a stream, which has no length")
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        base = draw(self.generator)  # also without workers, so that the order does not depend on how many there are
        tasks = repeat(None) if self.batch_sampler is None else iter(self.batch_sampler)
        return self._epoch(base, tasks)

    __call__ = __iter__

    def _epoch(self, base: int, tasks: Iterator[Any]) -> Iterator[Any]:
        fetch = Fetch(self.dataset, self.collate_fn, self.batch_size, self.drop_last)
        if not self.num_workers:
            for task in tasks:
                try:
                    batch = fetch(task)
                except StopIteration:
                    return
                yield self._given(batch)
            return
        workers = _Workers(self.num_workers, base, packed((fetch, self._first), "DataLoader"), self._timeout)
        try:
            for batch in workers.run(tasks, self._ahead):
                yield self._given(batch)
        finally:
            workers.close()

    def _given(self, batch: Any) -> Any:
        if self._names is None:
            return as_tensors(batch)
        parts = as_arrays(batch) if isinstance(batch, (list, tuple)) else [as_arrays(batch)]
        if len(parts) != len(self._names):
            raise AttributeValueError(
                f"DataLoader: feed_list expected a name for each of the {len(parts)} parts of a batch, "
                f"got {self._names}"
            )
        return dict(zip(self._names, parts, strict=True))


def _names(feed_list: Sequence[Any] | None, return_list: bool) -> list[str] | None:
    if return_list:
        return None
    if not feed_list:
        raise AttributeValueError("DataLoader: return_list=False expected a feed_list, whose names batches go by")
    return [each if isinstance(each, str) else each.name for each in feed_list]


class _Workers:
    """The worker processes of one epoch."""

    def __init__(self, count: int, base: int, data: bytes, timeout: float) -> None:
        self._timeout = timeout
        self._processes, self._connections = [], list[Connection]()
        context: Any = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
        if hasattr(context, "set_forkserver_preload"):
            context.set_forkserver_preload(["__main__", serve.__module__])  # of no effect on a server that runs
        try:
            for number in range(count):
                ours, theirs = context.Pipe()
                self._connections.append(ours)
                args = (theirs, number, count, base, data, list(sys.path))
                process = context.Process(target=serve, args=args, daemon=True)
                with theirs, _without_main():
                    process.start()
                self._processes.append(process)
        except BaseException:
            self.close()
            raise

    def run(self, tasks: Iterator[Any], ahead: int) -> Iterator[Any]:
        """Yields the batches of tasks in their order; each process has so many tasks at a time."""
        waiting: deque[int] = deque()
        ended = set()

        def give(number: int) -> None:
            for task in tasks:
                self._send(number, task)
                waiting.append(number)
                break

        for number in [*range(len(self._processes))] * ahead:
            give(number)
        while waiting:
            number = waiting.popleft()
            kind, answer = self._answer(number)
            if kind == END:
                ended.add(number)
                continue
            if kind == ERROR:
                raise _named(number, *answer)
            if number not in ended:
                give(number)
            yield answer

    def _send(self, number: int, task: Any) -> None:
        try:
            self._connections[number].send(task)
        except OSError:
            return  # it ended; what it said is read, or that it said nothing

    def _answer(self, number: int) -> tuple[str, Any]:
        connection = self._connections[number]
        try:
            if self._timeout and not connection.poll(self._timeout):
                raise WorkerError(
                    f"DataLoader, worker {number}: expected a batch within {self._timeout} s, got none; "
                    "set a longer timeout"
                )
            answer: tuple[str, Any] = loads(connection.recv_bytes())
        except (EOFError, ConnectionError):
            self._processes[number].join(5)
            code = self._processes[number].exitcode
            how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
            raise WorkerError(
                f"DataLoader, worker {number}: expected a batch, the process {how}; set num_workers=0 to see where"
            ) from None
        return answer

    def close(self) -> None:
        """Ends the processes, wherever they are."""
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.join(1)
            if process.exitcode is None:
                process.kill()
                process.join()


def _named(number: int, error: BaseException | None, text: str) -> BaseException:
    """Returns what a worker raised, with where; a WorkerError for an exception that does not cross processes."""
    if error is None:
        error = WorkerError(
            f"DataLoader, worker {number}: expected an exception that crosses processes, got {text.splitlines()[-1]}"
        )
    attach_note(error, f"raised in worker {number} of a DataLoader:\n{text}")
    return error


@contextmanager
def _without_main() -> Iterator[None]:
    """Hides `__main__` from multiprocessing, which would run a script again in each process that it starts."""
    with _MAIN:
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
