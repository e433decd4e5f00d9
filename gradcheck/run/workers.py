"""Pieces of work in child processes, several at a time: what crashes or hangs ends its own piece and no other.

A child serves many pieces, since starting one costs the import of NumPy; after a crash or a time-out another takes its
place. Only what our own children send through their pipes is unpickled.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal

from gradcheck.run.child import READY
from gradcheck.run.stacks import LATE, innermost, read_stack

_GRACE = 10.0  # seconds after which a child that did not end itself is ended from outside
_FAREWELL = 3.0  # seconds that an idle child gets to leave by itself
_TAIL = 2000  # characters kept of what a piece printed
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from gradcheck.run.child import main; main(sys.argv[2])"
)


@dataclass(frozen=True)
class Piece:
    """One piece of work.

    Args:
        name: what it is, for people.
        call: "module:function"; the child imports it.
        arguments: positional arguments, each of a type that JSON has.
    """

    name: str
    call: str
    arguments: tuple[Any, ...] = ()  # Any: values of JSON


@dataclass(frozen=True)
class Outcome:
    """What became of a piece.

    Args:
        kind: "done"; "raised" an exception; "crashed": its process ended; "late": it took longer than it may.
        value: what it returned (any picklable value), where done.
        error: what it raised; a RuntimeError with class and text where the exception itself does not travel.
        message: how it ended, in words; empty where done.
        stack: where it was, innermost frame first; for "raised" the lines of the traceback.
        printed: the end of what it printed.
    """

    kind: Literal["done", "raised", "crashed", "late"]
    value: Any = None
    error: BaseException | None = None
    message: str = ""
    stack: tuple[str, ...] = ()
    printed: str = ""

    @property
    def notes(self) -> list[str]:
        """What a report says of a piece that did not come to its end: where it was, and what it printed last."""
        notes = [f"stack, innermost first: {', '.join(self.stack[:8])}"] if self.stack else []
        last = self.printed.strip().rpartition("\n")[2]
        return [*notes, f"printed last: {last}"] if last else notes


def jobs_of(text: str) -> int:
    """Reads a number of jobs: an integer >= 1, or "auto" for one per processor.

    Raises:
        ValueError: it is neither.
    """
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"jobs: expected an integer >= 1 or auto, got {text!r}; auto is one per processor")
    return int(text)


def run(
    pieces: Sequence[Piece], *, jobs: int = 1, timeout: float | None = None
) -> Generator[tuple[int, Outcome], None, None]:
    """Performs pieces in child processes.

    Args:
        pieces: the work.
        jobs: how many at a time, >= 1.
        timeout: seconds > 0 that each may take, the import of its own modules included; None is no limit.

    Yields:
        (position, outcome) of each piece as it ends. Closing the generator, or an interrupt, ends all children.
    """
    ended: SimpleQueue[Future[Outcome]] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="gradcheck-", ignore_cleanup_errors=True) as folder:
        crew = _Crew(Path(folder), timeout)
        threads = ThreadPoolExecutor(jobs)
        try:
            positions = {threads.submit(crew.perform, piece): position for position, piece in enumerate(pieces)}
            for future in positions:
                future.add_done_callback(ended.put)
            for _ in pieces:
                future = ended.get()
                yield positions[future], future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            crew.stop()
            threads.shutdown()
            crew.leave()


class _Crew:
    """Children at work, one for each thread that performs pieces."""

    def __init__(self, folder: Path, timeout: float | None) -> None:
        self._folder, self._timeout = folder, timeout
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._all: list[_Worker] = []
        self._stopped = False

    def perform(self, piece: Piece) -> Outcome:
        """Performs a piece in a child that is idle, or in a new one."""
        try:
            worker = self._idle.get_nowait()
        except Empty:
            worker = _Worker(Path(tempfile.mkdtemp(dir=self._folder)))
            self._all.append(worker)
        worker.busy = True
        if self._stopped:  # asked after it counts as busy: either this thread sees the stop, or the stop sees the child
            worker.end()
        outcome = worker.perform(piece, self._timeout)
        if not worker.busy:
            self._idle.put(worker)
        return outcome

    def stop(self) -> None:
        """Ends the children that are at work."""
        self._stopped = True
        for worker in self._all:
            if worker.busy:
                worker.end()

    def leave(self) -> None:
        """Lets idle children leave by themselves, all at once, so that they tidy up."""
        idle = [worker for worker in self._all if not worker.busy]
        for worker in idle:
            worker.dismiss()
        for worker in idle:
            worker.leave()


class _Worker:
    """A child process and the files that it writes to."""

    def __init__(self, folder: Path) -> None:
        self._stack, self._printed = folder / "stack", folder / "printed"
        self._stack.write_bytes(b"")
        self.busy = True  # until it has done a piece; a child at work, or a dead one, does not leave by itself
        self._overdue = False
        self._printed.write_bytes(b"")
        with self._printed.open("ab") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, json.dumps([*map(str, sys.path)]), str(self._stack)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                start_new_session=True,  # Ctrl-C is the parent's: it reports what is finished, then ends its children
            )
        threading.Thread(target=self._bury, daemon=True).start()
        self._is_up = self._gets_ready()

    def perform(self, piece: Piece, timeout: float | None) -> Outcome:
        """Performs a piece, and waits for its end; the child is no longer busy if it can perform another."""
        reply = None
        if self._is_up:
            for file in (self._stack, self._printed):
                os.truncate(file, 0)
            reply = self._ask(piece, timeout)
        if reply is None:
            return self._death(timeout)
        self.busy = False
        return _outcome(reply, self._tail())

    def dismiss(self) -> None:
        """Tells an idle child that there is no more work."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def leave(self) -> None:
        """Waits for a child that was dismissed."""
        try:
            self._process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            self.end()
        self._close()

    def end(self) -> None:
        """Ends the child now."""
        self._process.kill()
        self._process.wait()

    def _ask(self, piece: Piece, timeout: float | None) -> tuple[Any, ...] | None:
        assert self._process.stdin is not None
        request = {"call": piece.call, "arguments": piece.arguments, "timeout": timeout}
        overdue = threading.Timer((timeout or 0.0) + _GRACE, self._end_overdue)
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            if timeout is not None:
                overdue.start()
            return self._receive()
        except BrokenPipeError:
            return None
        finally:
            overdue.cancel()

    def _gets_ready(self) -> bool:
        """Waits for the child's sign; what a sitecustomize prints before it is skipped. False when the child ended."""
        assert self._process.stdout is not None
        seen = b""
        while seen != READY:
            byte = self._process.stdout.read(1)
            if not byte:
                return False
            seen = (seen + byte)[-len(READY) :]
        return True

    def _receive(self) -> tuple[Any, ...] | None:
        """Gives the next reply; None when the child has ended."""
        assert self._process.stdout is not None
        head = self._process.stdout.read(8)
        size = int.from_bytes(head, "little")
        data = self._process.stdout.read(size)
        if len(head) < 8 or len(data) < size:
            return None
        reply: tuple[Any, ...] = pickle.loads(data)
        return reply

    def _end_overdue(self) -> None:
        self._overdue = True
        self._process.kill()

    def _bury(self) -> None:
        """Ends what a child that has ended leaves behind; its own children would hold the pipe open."""
        self._process.wait()
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # it left nothing
                os.killpg(self._process.pid, signal.SIGKILL)

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # a request that nobody read
                pipe.close()

    def _death(self, timeout: float | None) -> Outcome:
        status = self._process.wait()
        self._close()
        text = self._stack.read_text(encoding="utf-8", errors="replace")
        stack = read_stack(text)
        place = innermost(stack)
        if self._overdue or text.startswith(LATE):
            where = f"; still in {place}" if place else ""
            return Outcome("late", message=f"ran longer than {timeout:g} s{where}", stack=stack, printed=self._tail())
        where = f" in {place}" if place else ""
        return Outcome("crashed", message=f"{reason_of(status)}{where}", stack=stack, printed=self._tail())

    def _tail(self) -> str:
        return self._printed.read_text(encoding="utf-8", errors="replace")[-_TAIL:]


def _outcome(reply: tuple[Any, ...], printed: str) -> Outcome:
    kind, data, *told = reply
    try:
        travelled = None if data is None else pickle.loads(data)
    except Exception as error:
        kind, travelled, told = "raised", None, told or [f"{type(error).__name__}: {error}", ""]
    if kind == "done":
        return Outcome("done", travelled, printed=printed)
    text, trace = told
    return Outcome("raised", None, travelled or RuntimeError(text), text, tuple(trace.splitlines()), printed)


def reason_of(status: int) -> str:
    """Says how a process ended."""
    if status >= 0:
        return f"its process exited with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return f"crashed: signal {name}" + (", as the system sends it when memory runs out" if name == "SIGKILL" else "")
