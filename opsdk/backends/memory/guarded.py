"""Guarded memory: arrays that end, or begin, at a page that must not be touched, for launches that are watched.

What a kernel reads or writes beside its arrays is written down, with the code that did it, and the kernel goes on (see
guard.c). Bytes of a page that belong to no array hold a mark. Where guard.c cannot be compiled the marks are all that
is looked at, and reads are not seen. What a kernel asks glibc for meanwhile, by malloc, is filled too.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from opsdk.backends.c import compiler as cc
from opsdk.backends.cache.store import cached
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import CompileError

GUARD = 1 << 20  # bytes on either side of an array; what is not touched costs addresses only
FILLS = range(3)  # what an output may hold before a launch
_FLOATS = (np.nan, 2.0**100, -(2.0**100))  # NaN is gone after fmax, and each of the others after one comparison
_INTEGERS, _BOOLS = (0x55, 0xAA, 0), (True, False, True)
_HALF = 2.0**15  # the greatest power of two in float16
_MARK = 0xA5
_NO_MARK = 0  # beside whole numbers that are read: who goes by one as an index stays inside, and lives to be told of
_ASKED = (
    0xFF,
    0x54,
    0xD4,
)  # bytes of what malloc gives, by fill: NaN, and numbers that are great, as floats and doubles
_VECTOR = 16  # bytes that an output is aligned to, as malloc aligns: a kernel may store vectors of that size
_MOST, _DEPTH = 128, 16  # guards of a memory; frames of a stack, as guard.c has it
_WORDS = {1: "reached", 2: "read", 3: "wrote"}  # by what guard.c says of an access

_turn = RLock()  # a process has one handler of faults


class _Guard(ctypes.Structure):
    """A `guard` of guard.c."""

    _fields_ = (
        ("low", ctypes.c_size_t),
        ("high", ctypes.c_size_t),
        ("address", ctypes.c_size_t),
        ("stack", ctypes.c_size_t * _DEPTH),
        ("access", ctypes.c_int64),
    )


@dataclass(frozen=True)
class Touch:
    """An access beside an array.

    Attributes:
        name: what the array is called; the outputs of a launch are numbered in the order in which it made them.
        index: the element that would lie there, counted from the array's first.
        size: how many elements that has.
        access: `read`, `wrote`, or `reached` where the processor does not say which.
        stack: the addresses of the code that did it, innermost first; none where its trace was all that was found.
    """

    name: str | int
    index: int
    size: int
    access: str
    stack: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Room:
    """An array and the bytes around it, from `first` on, up to its guards; it lies from `start` to `stop` of these.

    The others hold a mark.
    """

    name: str | int
    array: np.ndarray
    around: np.ndarray
    first: int
    start: int
    stop: int
    mark: int

    def touch(self, position: int, access: str, stack: tuple[int, ...] = ()) -> Touch:
        """Returns an access to a byte, by its position among those around."""
        return Touch(self.name, (position - self.start) // self.array.itemsize, self.array.size, access, stack)


class GuardedMemory:
    """The memory of one launch.

    Args:
        at_end: whether arrays end at a guard, or begin at one.
        fill: what outputs hold before, one of `FILLS`.
        aligned: to how many bytes outputs are aligned at least; up to so many of them lie between an end and its guard.
        asked: what memory from malloc holds before, where that is another of `FILLS`.
    """

    def __init__(self, *, at_end: bool, fill: int, aligned: int = _VECTOR, asked: int | None = None) -> None:
        self._at_end, self._fill, self._aligned = at_end, fill, aligned
        self._asked = _ASKED[fill if asked is None else asked]
        self._rooms: list[_Room] = []
        self._guards = (_Guard * _MOST)()
        self._outputs = 0
        self._is_watched = False

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
        """Returns an output, which holds what was chosen."""
        array = self._room(self._outputs, np.empty(tuple(shape), dtype), self._aligned)
        array[...] = filling(dtype, self._fill)
        self._outputs += 1
        if self._is_watched and self._outputs == 1:  # the kernel runs soon
            watcher().opsdk_drain()
        return array

    def holding(self, array: np.ndarray, name: str) -> np.ndarray:
        """Returns a copy of an input, which lies as that does."""
        copy = self._room(name, array, 1)
        copy[...] = array
        return copy

    @contextmanager
    def watched(self, running: str = "") -> Iterator[None]:
        """Watches the guards of all arrays, also of those that are made meanwhile, where that is possible.

        Args:
            running: a line for standard error where a fault beyond the guards ends the process: what ran.
        """
        library, told = watcher(), running.encode()
        with _turn:
            given = self._guards, _MOST, self._asked, told, len(told)
            if not isinstance(library, str) and not library.opsdk_watch(*given):
                self._is_watched = True
            try:
                yield
            finally:
                if self._is_watched:
                    library.opsdk_unwatch()
                self._is_watched = False

    def touches(self) -> Iterator[Touch]:
        """Yields of each array what was written beside it up to the next guards, then the first access to these."""
        guards = [*pairwise(self._guards)][::2]
        for number, room in enumerate(self._rooms):
            for first, marks in ((0, room.around[: room.start]), (room.stop, room.around[room.stop :])):
                written = np.flatnonzero(marks != room.mark)
                if written.size:
                    yield room.touch(first + int(written[0 if first else -1]), "wrote")
            for guard in guards[number] if number < len(guards) else ():
                if guard.access:
                    position = guard.address - room.first
                    yield room.touch(position, _WORDS[guard.access], tuple(filter(None, guard.stack)))

    def _room(self, name: str | int, like: np.ndarray, aligned: int) -> np.ndarray:
        """Returns an array of a shape, dtype and layout in pages of its own, between two guards."""
        flags, item = like.flags, like.itemsize
        strides = like.strides if like.size and not flags.c_contiguous else None
        spans = [s * (n - 1) for s, n in zip(like.strides, like.shape, strict=True)] if strides else []
        before = -sum(span for span in spans if span < 0)
        size = before + sum(span for span in spans if span > 0) + item if strides else like.nbytes
        shift = 0 if flags.aligned else 1
        step = max(aligned, like.dtype.alignment)
        inner = -(-(size + shift) // mmap.PAGESIZE) * mmap.PAGESIZE
        start = (inner - size) // step * step - shift if self._at_end else shift
        pages = np.frombuffer(mmap.mmap(-1, inner + 2 * GUARD), np.uint8)
        around = pages[GUARD : GUARD + inner]
        around[...] = mark = _NO_MARK if isinstance(name, str) and like.dtype.kind in "iu" else _MARK
        array: np.ndarray = np.ndarray(like.shape, like.dtype, pages, GUARD + start + before, strides)
        number = 2 * len(self._rooms)
        first = pages.ctypes.data + GUARD
        self._rooms.append(_Room(name, array, around, first, start, start + size, mark))
        library = watcher()
        if not isinstance(library, str) and number < _MOST:
            for guard, low in zip(self._guards[number : number + 2], (first - GUARD, first + inner), strict=True):
                if not library.opsdk_shut(low, GUARD):
                    guard.low, guard.high = low, low + GUARD
        return array


def filling(dtype: np.dtype[Any], fill: int) -> Any:  # Any: a number that the dtype has
    """Returns what elements of a dtype hold before a launch: a number that no computation is likely to give."""
    if is_differentiable(dtype):
        number = float(np.sign(_FLOATS[fill]) * _HALF) if dtype.name == "float16" else _FLOATS[fill]
        return complex(number, number) if dtype.kind == "c" else number
    if dtype.kind == "b":
        return _BOOLS[fill]
    return np.array(_INTEGERS[fill], np.uint8).astype(np.int8).astype(dtype) if dtype.kind == "i" else _INTEGERS[fill]


@cache
def watcher() -> Any:  # Any: ctypes' library
    """Returns guard.c, compiled; or in words why there is none."""
    if os.name != "posix":
        return "pages are not watched on this system"
    path = Path(__file__).with_name("guard.c")
    text = path.read_text(encoding="utf-8")
    try:
        compiler = cc.find_compiler("guarded memory")
        arguments = [*cc.FLAGS, "-fexceptions"]

        def build(made: Path) -> None:
            _, complaint = cc.run(compiler, [*arguments, "-o", str(made), "-", *cc.LINKED], text)
            if complaint is not None:
                cc.expect_room(complaint, made)
                raise cc.failure("guarded memory", complaint)

        key = "\n".join([compiler.identity, *arguments, *cc.LINKED, text])
        library = ctypes.CDLL(str(cached("c", key, cc.LIBRARY_SUFFIX, build)))
    except (CompileError, OSError) as error:
        return str(error)
    others = ctypes.c_int64, ctypes.c_int, ctypes.c_char_p, ctypes.c_int64
    library.opsdk_watch.argtypes = [ctypes.c_void_p, *others]
    library.opsdk_shut.argtypes = [ctypes.c_size_t, ctypes.c_int64]
    return library
