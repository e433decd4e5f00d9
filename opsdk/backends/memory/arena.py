"""The arena: output arrays on memory that earlier ones gave back.

The first touch of fresh pages costs more than most kernels compute, so blocks are kept and lent again, the last
returned first, since that one may still be in cache. They are of a few sizes, and on huge pages where the OS grants
them. An array of the arena has a `Lease` as its base, and every view of the array has the array; when the last of them
dies the lease dies, and its block goes back.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import sys
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import RLock
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.core.flags import FLAGS, on_change

# Measured: where a program holds a few arrays of this size and drops them, as a forward and its backward do, malloc
# gives the pages back and faults them in again, for three to four times what a kernel takes; a lease takes 1 to 2 µs.
SMALLEST = 64 << 10
HUGE = 2 << 20  # what a huge page covers on x86-64 and on most of arm64; elsewhere it is an alignment like another

_BYTES = np.dtype(np.uint8)


@dataclass(frozen=True)
class MemoryStats:
    """What the arena did so far and what it has; small arrays do not come from it.

    Attributes:
        in_use: bytes of the blocks that arrays live on.
        held: bytes of free blocks, kept for reuse; at most the flag `arena_limit_bytes`.
        peak: the most bytes that were ever in use at once.
        allocations: how many arrays were made.
        reuses: how many of them on a block that an earlier array gave back.
    """

    in_use: int
    held: int
    peak: int
    allocations: int
    reuses: int


class Block(mmap.mmap):
    """Mapped memory. It goes back to the OS when nothing refers to the block.

    Attributes:
        offset: where the usable bytes begin.
        capacity: how many there are.
        home: what takes the block back when it was lent.
        stamp: when that happened last, in the count of its home.
    """

    __slots__ = ("capacity", "home", "offset", "stamp")

    home: Arena
    offset: int
    capacity: int
    stamp: int


@lru_cache(256)
def rounded(count: int) -> int:
    """Returns the size of block that serves `count` bytes, more than 4 of them.

    There are four sizes in every power of two, so that arrays of nearly the same size share blocks; a block is at most
    a quarter larger than what was asked for.
    """
    shift = (count - 1).bit_length() - 3
    return -(-count >> shift) << shift


def mapped(size: int) -> Block:
    """Returns a new block of `size` bytes, zeros; it begins at a page, from `HUGE` bytes on at a multiple of `HUGE`.

    Raises:
        OSError: the OS has no such memory.
    """
    slack = HUGE if size >= HUGE else 0  # never touched, so it costs addresses and no memory
    # The default would be shared after a fork.
    private = {} if sys.platform == "win32" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
    block = Block(-1, size + slack, **private)
    block.capacity, block.offset, block.stamp = size, 0, 0
    if slack:
        block.offset = -np.frombuffer(block, np.uint8).ctypes.data % HUGE
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel built without them
                block.madvise(mmap.MADV_HUGEPAGE, block.offset, size)
    return block


class Arena:
    """Free blocks by size, and the count of those that are lent.

    A lease can die at any point of any thread, also inside of the arena's own work, when the garbage collector or a
    signal handler runs there. So what it does never waits: it puts its block into a queue, and whoever has the lock
    sorts the queue in when done. A call that finds its own thread at work already takes nothing.

    Args:
        limit: how many bytes of free blocks may be kept; the longest unused go back to the OS first.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free: defaultdict[int, deque[Block]] = defaultdict(deque)  # of each size the longest unused first
        self._returned: deque[Block] = deque()
        self._held = self._in_use = self._peak = self._allocations = self._reuses = self._clock = 0
        self._at_work = False
        self._lock = RLock()

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> ndarray:
        """Returns an uninitialised C-contiguous array; where it is not small, aligned to 64 bytes at least.

        Args:
            shape: sizes, >= 0.
            dtype: of the elements; Python objects never come from the arena.

        Raises:
            ValueError, MemoryError: as `numpy.empty` raises them.
        """
        count = math.prod(shape) * dtype.itemsize
        if count < SMALLEST or dtype.hasobject:
            return np.empty(shape, dtype)
        size, lock, dropped = rounded(count), self._lock, None
        lock.acquire()
        try:
            if self._at_work:
                return np.empty(shape, dtype)
            self._at_work = True
            try:
                block = self._returned.pop() if self._returned else None
                if block is not None and block.capacity == size:  # in use it was counted still
                    self._reuses += 1
                else:
                    if block is not None:
                        self._returned.append(block)
                        dropped = self._sort_in()
                    block = self._taken(size)
                self._allocations += 1
            except (OSError, OverflowError):  # no such memory, or no such number of bytes: NumPy has the words for it
                return np.empty(shape, dtype)
            finally:
                self._at_work = False
        finally:
            lock.release()
        del dropped  # outside of the lock, since unmapping takes long
        if self._returned:
            self._settle()
        return ndarray(shape, dtype, Lease((size,), _BYTES, block, block.offset))

    def stats(self) -> MemoryStats:
        """Returns what is in use, what is held, and the counts."""
        with self._lock:
            waiting = sum(block.capacity for block in self._returned.copy())
            return MemoryStats(
                self._in_use - waiting, self._held + waiting, self._peak, self._allocations, self._reuses
            )

    def release(self) -> int:
        """Gives all free blocks back to the OS; returns how many bytes they had."""
        return self._trim(0)

    def keep_at_most(self, limit: int) -> None:
        """Sets how many bytes of free blocks may be kept, and gives back what is over."""
        self._limit = limit
        self._trim(limit)

    def give(self, block: Block) -> None:
        """Takes a block back, at once or when the arena's work in another thread is done.

        A single one that is not too much may wait: a loop takes it again at once.
        """
        self._returned.append(block)
        if len(self._returned) > 1 or block.capacity > self._limit - self._held:
            self._settle()

    def _taken(self, size: int) -> Block:
        """Takes a free block, or a new one, and counts it."""
        stack = self._free.get(size)
        if stack:
            block = stack.pop()
            self._held -= size
            self._reuses += 1
        else:
            try:
                block = mapped(size)
            except OSError:
                self._over(0)
                block = mapped(size)
            block.home = self
        self._in_use += size
        if self._in_use > self._peak:
            self._peak = self._in_use
        return block

    def _settle(self) -> None:
        """Sorts in what was returned, unless somebody is at work who will see it when done."""
        lock = self._lock
        while self._returned and lock.acquire(False):
            try:
                if self._at_work:
                    return
                self._at_work = True
                try:
                    dropped = self._sort_in()
                finally:
                    self._at_work = False
            finally:
                lock.release()
            del dropped

    def _trim(self, limit: int) -> int:
        with self._lock:
            if self._at_work:
                return 0
            self._at_work = True
            try:
                dropped = self._sort_in() + self._over(limit)
            finally:
                self._at_work = False
        self._settle()
        return sum(block.capacity for block in dropped)

    def _sort_in(self) -> list[Block]:
        """Puts returned blocks among the free ones; returns those that are too much."""
        too_large = []
        while self._returned:
            block = self._returned.popleft()
            size = block.capacity
            self._in_use -= size
            if size > self._limit:
                too_large.append(block)
                continue
            self._clock += 1
            block.stamp = self._clock
            self._free[size].append(block)
            self._held += size
        return too_large + self._over(self._limit) if self._held > self._limit else too_large

    def _over(self, limit: int) -> list[Block]:
        """Takes the longest unused blocks out until no more than the limit is held."""
        dropped = []
        while self._held > limit:
            oldest = min((stack for stack in self._free.values() if stack), key=lambda stack: stack[0].stamp)
            block = oldest.popleft()
            self._held -= block.capacity
            dropped.append(block)
        return dropped

    def after_fork_in_child(self) -> None:
        """Goes on in the child; its blocks are copies of the parent's, made when they are written to."""
        self._lock = RLock()


class Lease(ndarray):
    """The bytes of a lent block; the base of one array."""

    __slots__ = ()

    def __del__(self) -> None:
        block: Any = self.base
        if block.__class__ is Block:  # a copy or a part of a lease is of this class too, and has nothing to give back
            block.home.give(block)


# Any: one entry per input, an array, a list of arrays or None.
def is_leased(array: ndarray, inputs: Sequence[Any]) -> bool:
    """Whether an array with a base is one that the arena made, and whose lease no input shares."""
    lease = array.base
    if lease.__class__ is not Lease:
        return False
    for value in inputs:  # noqa: SIM110 - a loop, since this is on the way of every call of a compiled kernel
        if getattr(value, "base", None) is lease:
            return False
    return True


# Any: what a kernel returned can be anything; one entry per input.
def is_new(value: Any, inputs: Sequence[Any]) -> bool:
    """Whether a value is an array in memory that NumPy or the arena made for it, and none of the inputs."""
    if value.__class__ is not ndarray:
        return False
    lease = value.base
    if lease is not None and lease.__class__ is not Lease:
        return False
    for given in inputs:  # a loop, since this is on the way of every call
        if given is value or (lease is not None and getattr(given, "base", None) is lease):
            return False
        if given.__class__ is list and not is_new(value, given):
            return False
    return True


ARENA = Arena(FLAGS.arena_limit_bytes)
empty = ARENA.empty


@on_change
def _adopt_limit() -> None:
    ARENA.keep_at_most(FLAGS.arena_limit_bytes)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: ARENA._lock.acquire(),  # no other thread is at work: the child finds everything in order
        after_in_parent=lambda: ARENA._lock.release(),  # in a child it is another lock, so that it is asked for anew
        after_in_child=ARENA.after_fork_in_child,
    )
