"""A lock on a path, held by one thread of one process, freed by the system when the process dies.

It is advisory and bounded: who waits too long goes on without it. Use it where two at once are wasteful, not wrong.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

from opsdk.core.lazy import slow

LONGEST = 300.0  # seconds to wait for another builder; no compiler takes as long over one kernel
_QUIET = 2.0  # seconds of waiting before it is said; a kernel is compiled in less
_PAUSE = 0.005  # seconds between two looks at a lock that somebody else holds

_files: WeakSet[IO[Any]] = WeakSet()  # a forked child closes them: it would hold the locks of its parent


@contextmanager
def locked(path: Path, longest: float | None = None) -> Iterator[bool]:
    """Holds the lock of a path; gives whether it is held.

    Args:
        path: a file to lock, made and removed; its folder exists.
        longest: seconds to wait; `LONGEST` unless given.
    """
    deadline = time.monotonic() + (LONGEST if longest is None else longest)
    try:
        file = path.open("ab", buffering=0)
    except OSError:
        yield False
        return
    with file:  # closing it frees the lock
        _files.add(file)
        is_held = _acquire(path, file, deadline)
        try:
            yield is_held
        finally:
            if is_held:  # removed before it is free: who waits on the removed file gets it and looks anew
                with suppress(OSError):  # Windows: others wait on it
                    path.unlink(missing_ok=True)


def _acquire(path: Path, file: IO[Any], deadline: float) -> bool:
    """Locks an open file; returns whether that was possible in time."""
    waits_from = time.monotonic()
    is_told = False
    while not _try(file):
        now = time.monotonic()
        if now > deadline:
            return False
        if not is_told and now >= waits_from + _QUIET:
            is_told = True
            holder = _holder(path)
            if holder != f"process {os.getpid()}":  # another thread
                rest = f"at most {deadline - now:.0f} s more, then goes on without it"
                sys.stderr.write(f"opsdk: waits for {holder}, which holds {path}; {rest}\n")
        time.sleep(_PAUSE)
    with suppress(OSError):  # a full disk: who waits then does not learn who holds the lock
        file.truncate(0)
        file.write(str(os.getpid()).encode())
    return True


def _holder(path: Path) -> str:
    """Returns who holds a lock, as far as the holder wrote it and it can be read."""
    try:
        number = path.read_text(encoding="ascii")
    except (OSError, ValueError):  # on Windows nobody reads a locked file
        number = ""
    return f"process {number}" if number.isdecimal() else "another process"


def _try(file: IO[Any]) -> bool:
    """Takes the lock, or says that somebody else has it; a file system without locks has them all free."""
    try:
        if os.name == "nt":
            msvcrt = slow("msvcrt")
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl = slow("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _after_fork() -> None:
    for file in list(_files):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
