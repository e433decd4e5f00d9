"""Progress on standard error: one moving line on a terminal, one line per finished case elsewhere."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType

_QUIET_SECONDS = 1.0  # work that is done before that shows no moving line
_CLEAR = "\r\x1b[2K"


class Progress:
    """Counts finished cases.

    Args:
        total: how many there are.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._moves = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._started = time.perf_counter()
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write(_CLEAR)

    def advance(self, name: str, said: str) -> None:
        """Counts a case."""
        self._done += 1
        elapsed = time.perf_counter() - self._started
        if not self._moves and self._total > 1:
            self._write(f"[{self._done}/{self._total}] {name} {said}\n")
        elif self._moves and elapsed >= _QUIET_SECONDS:
            self._shown = True
            left = elapsed / self._done * (self._total - self._done)
            self._write(f"{_CLEAR}checked {self._done} of {self._total}, about {left:.0f} s left: {name} {said}"[:100])

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
