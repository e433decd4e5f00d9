"""Progress of a command: gradcheck's, with a bar on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcheck.run import progress


class Progress(progress.Progress):
    """Counts pieces of work, and says which comes now.

    Args:
        total: how many there are.
        verb: what is being done.
        quiet: says nothing off a terminal.
        left: tells how long the rest will take; the mean of what is done unless given.
    """

    def __init__(self, total: int, verb: str, *, quiet: bool = False, left: Callable[[], str] | None = None) -> None:
        super().__init__(total, quiet=quiet)
        self._verb, self._left = verb, left
        self._bar: Any = None  # rich's Progress, imported when a bar is first shown

    def advance(self, said: str = "") -> None:
        """Counts a finished piece, and says off a terminal how long the rest will take."""
        left = "" if self._left is None or not said else self._left()
        super().advance(f"{said}, {left}" if left else said)

    def start(self, name: str) -> None:
        """Says which piece comes now."""
        if self._is_shown():
            self._update(description=f"{self._verb} {name}")

    def _move(self, said: str) -> None:
        self._update()

    def _update(self, **changes: str) -> None:
        if self._bar is None:
            self._bar = self._made()
        left = {} if self._left is None else {"left": self._left()}
        self._bar.update(self._bar.task_ids[0], completed=self._done, **changes, **left)

    def _end(self) -> None:
        self._bar.stop()

    def _made(self) -> Any:
        from rich import progress as bars
        from rich.console import Console

        left = bars.TimeRemainingColumn() if self._left is None else bars.TextColumn("{task.fields[left]}")
        columns = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), left
        text = bars.TextColumn("{task.description}")
        bar = bars.Progress(text, *columns, console=Console(stderr=True), transient=True)
        bar.start()
        bar.add_task("", total=self._total, left="")
        return bar
