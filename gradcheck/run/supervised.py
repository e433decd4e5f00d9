"""A command in a child process: its status is that of its own end, whatever the code that it runs does to the process.

Code under judgement may end its process (`os._exit`, a crash, a thread or an exit handler that leaves), and a process
that ends so may well have status 0. The parent therefore trusts only the status that the command itself recorded.
Where processes cannot be forked the command runs in this one.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from gradcheck.run.workers import reason_of

LOADING = "loading "  # what a command is doing while a target is loaded begins so
INTERNAL, BROKEN = 3, 2  # statuses of a command that did not come to its end, and of a target that did not load

_RECORD = 4096  # bytes that parent and child share: whether there is a status, the status, what is being done
_TEXT = 2  # where that begins
_SENT_BY_TERMINAL = 0x80  # SI_KERNEL: the child has got that signal too
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_PASSED_ON = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}


@dataclass
class _Child:
    """What this process is, seen from the parent that supervises it."""

    pid: int = 0
    record: mmap.mmap | None = None
    apart: bool = False


_child = _Child()


def doing(text: str) -> None:
    """Records what the command is about to do: a parent says it of a process that ends there."""
    if _child.record is not None and _child.pid == os.getpid():
        data = text.encode("utf-8", errors="replace")[: _RECORD - _TEXT]
        _child.record[_TEXT:] = data.ljust(_RECORD - _TEXT, b"\0")


def must_work_apart() -> bool:
    """Whether this command ended its process before, so that each piece of work belongs in a process of its own."""
    return _child.apart


def supervise(work: Callable[[], int], name: str, *, repeat: bool = False) -> int:
    """Runs a command in a child process.

    Args:
        work: the command; returns its exit status or raises SystemExit with it.
        name: of the command, for messages.
        repeat: whether a command whose process ended while it worked runs once more, with `must_work_apart` true.

    Returns:
        The exit status: the command's own where it came to its end, else one that is not 0.
    """
    can_wait = hasattr(os, "fork") and hasattr(signal, "sigwaitinfo")
    if not can_wait or threading.current_thread() is not threading.main_thread():
        return _status_of(work)
    for apart in (False, True) if repeat else (False,):
        status, ended, at = _in_child(work, apart=apart)
        if status is not None:
            return status
        if -ended in _PASSED_ON:
            signal.signal(-ended, signal.SIG_DFL)  # this process ends by the signal that ended its child
            os.kill(os.getpid(), -ended)
        if at.startswith(LOADING):
            target, reason = at.removeprefix(LOADING), reason_of(ended)
            narrate(f"{target}: expected a file or module that loads, {reason}; mend what ends the process there")
            return BROKEN
        again = repeat and not apart
        narrate(
            f"{name}: expected to come to its end, {reason_of(ended)}{f' at {at}' if at else ''}"
            + ("; all that was asked for runs once more, each piece in a process of its own" if again else "")
        )
    return INTERNAL


def _in_child(work: Callable[[], int], *, apart: bool) -> tuple[int | None, int, str]:
    """Gives the recorded status of a child, how its process ended (as Popen.returncode), and what it was doing."""
    record = mmap.mmap(-1, _RECORD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, as some parents leave it, nobody could wait for the child
    watched = _PASSED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    parent = os.getpid()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads: those that NumPy's BLAS keeps look after themselves
            pid = os.fork()
        if not pid:
            _child.pid, _child.record, _child.apart = os.getpid(), record, apart
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            _be_child(work, parent)
        ended = _wait(pid, watched)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    at = bytes(record[_TEXT:]).rstrip(b"\0").decode("utf-8", errors="replace")
    return record[1] if record[0] else None, ended, at


def _be_child(work: Callable[[], int], parent: int) -> None:
    """Does the work, records its status and ends the process; what stands above in the stack is the parent's."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    status = INTERNAL
    try:
        if os.getppid() == parent:
            status = _status_of(work)
            _flush()
    except OSError as error:  # what was found has not reached its reader
        status = INTERNAL
        with suppress(OSError):
            narrate(f"standard output: expected to take what is written, got: {error.strerror}")
    except BaseException:
        status = 1  # as the interpreter has it
        sys.excepthook(*sys.exc_info())
    try:
        assert _child.record is not None
        _child.record[1], _child.record[0] = status & 0xFF, 1
        atexit._run_exitfuncs()
        _flush()
    finally:
        os._exit(status & 0xFF)


def _status_of(work: Callable[[], int]) -> int:
    try:
        return work()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        narrate(str(end.code))
        return 1


def _wait(pid: int, watched: set[signal.Signals]) -> int:
    """Waits for a child, hands it the signals that this process gets, and gives its end as Popen.returncode does."""
    while True:
        got = signal.sigwaitinfo(watched)
        if got.si_signo != signal.SIGCHLD:
            if got.si_code != _SENT_BY_TERMINAL:
                os.kill(pid, got.si_signo)
            continue
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError, ValueError, AttributeError):  # nobody reads on, or it was closed or replaced
            stream.flush()


def narrate(text: str) -> None:
    """Says something that is not the command's result: it goes to standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
