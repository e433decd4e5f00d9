"""A lock on a path, held by one thread of one process, freed by the system when the process dies.

It is advisory and bounded: who waits too long goes on without it. Use it where two at once are wasteful, not wrong.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from opsdk.core.lazy import slow

LONGEST = 300.0  # seconds to wait for another builder; no compiler takes as long over one kernel
_QUIET = 2.0  # seconds of waiting before it is said; a kernel is compiled in less
_PAUSE = 0.005  # seconds between two looks at a lock that another process holds

# A file lock of this sort belongs to the process, so threads keep one another out with a lock of their own.
_threads: dict[str, Any] = {}  # Any: an RLock, whose class has no name


@contextmanager
def locked(path: Path, longest: float | None = None) -> Iterator[bool]:
    """Holds the lock of a path; gives whether it is held.

    Args:
        path: a file to lock, made and removed; its folder exists.
        longest: seconds to wait; `LONGEST` unless given.
    """
    deadline = time.monotonic() + (LONGEST if longest is None else longest)
    mine = _threads.setdefault(str(path), threading.RLock())
    try:
        if not mine.acquire(timeout=max(0.0, deadline - time.monotonic())):
            yield False
            return
        file = _acquire(path, deadline)
        try:
            yield file is not None
        finally:
            if file is not None:  # removed before it is free: who waits on the removed file gets it and looks anew
                with suppress(OSError):  # Windows: others wait on it
                    path.unlink(missing_ok=True)
                file.close()
    finally:
        if mine._is_owned():  # asked of the lock: an interrupt may come between it and any line that would note it
            mine.release()


def _acquire(path: Path, deadline: float) -> IO[bytes] | None:
    """Returns the open, locked file; None where it cannot be locked, or not in time."""
    try:
        file = path.open("ab")
    except OSError:
        return None
    waits_from = time.monotonic()
    is_told = False
    while not _try(file):
        now = time.monotonic()
        if now > deadline:
            file.close()
            return None
        if not is_told and now >= waits_from + _QUIET:
            is_told = True
            rest = f"at most {deadline - now:.0f} s more, then goes on without it"
            sys.stderr.write(f"opsdk: waits for {_holder(path)}, which holds {path}; {rest}\n")
        time.sleep(_PAUSE)
    with suppress(OSError):  # a full disk: who waits then does not learn who holds the lock
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
    return file


def _holder(path: Path) -> str:
    """Returns who holds a lock, as far as the holder wrote it and it can be read."""
    try:
        number = path.read_text(encoding="ascii")
    except (OSError, ValueError):  # on Windows nobody reads a locked file
        number = ""
    return f"process {number}" if number.isdecimal() else "another process"


def _try(file: IO[bytes]) -> bool:
    """Takes the lock, or says that another process has it; a file system without locks has them all free."""
    try:
        if os.name == "nt":
            msvcrt = slow("msvcrt")
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl = slow("fcntl")
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _after_fork() -> None:
    _threads.clear()  # a thread that held one of them does not exist in the child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
