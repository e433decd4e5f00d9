"""Progress: one moving line on a terminal, one line per finished piece elsewhere; always on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from opsdk.ship.cli.terminal import is_terminal, narrate

QUIET_SECONDS = 1.0  # work that is done before that shows no bar


class Progress:
    """Counts pieces of work.

    Args:
        total: how many there are.
        verb: what is being done.
        quiet: says nothing off a terminal.
    """

    def __init__(self, total: int, verb: str, *, quiet: bool = False) -> None:
        self._total = total
        self._verb = verb
        self._quiet = quiet
        self._done = 0
        self._moves = is_terminal(sys.stderr)
        self._started = time.perf_counter()
        self._bar: Any = None  # rich's Progress, imported when a bar is first shown
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, name: str) -> None:
        """Says which piece comes now."""
        self._show(f"{self._verb} {name}")

    def advance(self, said: str = "") -> None:
        """Counts a finished piece; `said` is printed where nothing moves and there is more than one."""
        self._done += 1
        self._show("")
        if not self._moves and not self._quiet and said and self._total > 1:
            narrate(f"[{self._done}/{self._total}] {said}")

    def _show(self, text: str) -> None:
        if not self._moves or time.perf_counter() - self._started < QUIET_SECONDS:
            return
        if self._bar is None:
            self._bar, self._task = _bar(self._total)
        self._bar.update(self._task, completed=self._done, **({"description": text} if text else {}))


def _bar(total: int) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task("", total=total)
