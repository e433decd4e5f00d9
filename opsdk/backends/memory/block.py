"""Blocks: memory from the OS in a few sizes, on huge pages where the OS grants them."""

from __future__ import annotations

import contextlib
import mmap
import sys
from functools import lru_cache
from typing import Protocol

import numpy as np

HUGE = 2 << 20  # what a huge page covers on x86-64 and on most of arm64; elsewhere it is an alignment like another


class Home(Protocol):
    """What lends blocks."""

    def give(self, block: Block) -> None:
        """Takes a block back."""
        ...


class Block(mmap.mmap):
    """Mapped memory. It goes back to the OS when nothing refers to the block.

    Attributes:
        offset: where the usable bytes begin.
        capacity: how many there are.
        home: what takes the block back when it was lent.
        stamp: when that happened last, in the count of its home.
    """

    __slots__ = ("capacity", "home", "offset", "stamp")

    home: Home
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
    block = _anonymous(size + slack)
    block.capacity, block.offset, block.stamp = size, 0, 0
    if slack:
        block.offset = -np.frombuffer(block, np.uint8).ctypes.data % HUGE
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel built without them
                block.madvise(mmap.MADV_HUGEPAGE, block.offset, size)
    return block


def _anonymous(size: int) -> Block:
    if sys.platform == "win32":
        return Block(-1, size)
    return Block(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # the default would be shared after a fork
