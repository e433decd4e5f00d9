"""Progress on standard error: one moving line on a terminal, one line per finished piece elsewhere."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import TypeVar

QUIET_SECONDS = 1.0  # work that is done before that shows nothing that moves
_CLEAR = "\r\x1b[2K"
_Self = TypeVar("_Self", bound="Progress")


class Progress:
    """Counts finished pieces of work.

    Args:
        total: how many there are.
        quiet: says nothing off a terminal.
    """

    def __init__(self, total: int, *, quiet: bool = False) -> None:
        self._total, self._quiet = total, quiet
        self._done = 0
        self._moves = bool(getattr(sys.stderr, "isatty", bool)()) and os.environ.get("TERM") != "dumb"
        self._started = time.perf_counter()
        self._shown = False

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._end()

    def advance(self, said: str = "") -> None:
        """Counts a finished piece; `said` is printed where nothing moves and there is more than one."""
        self._done += 1
        if self._is_shown():
            self._move(said)
        elif not self._moves and not self._quiet and said and self._total > 1:
            self._write(f"[{self._done}/{self._total}] {said}\n")

    def _is_shown(self) -> bool:
        """Whether a terminal is there and work takes long."""
        self._shown |= self._moves and time.perf_counter() - self._started >= QUIET_SECONDS
        return self._shown

    def _move(self, said: str) -> None:
        """Shows how far the work is, on a terminal."""
        left = (time.perf_counter() - self._started) / self._done * (self._total - self._done)
        self._write(f"{_CLEAR}checked {self._done} of {self._total}, about {left:.0f} s left: {said}"[:100])

    def _end(self) -> None:
        """Takes away what was shown."""
        self._write(_CLEAR)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
