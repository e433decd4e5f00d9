"""Pace: how long ops take, from when they were last checked in this folder, and what that says of the time left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from opsdk.ship.check.kept import keep, kept
from opsdk.ship.check.result import Checked
from opsdk.verify.level import Level

_KIND = "durations"
_SOON = 5.0  # seconds; less is not worth a word


class Pace:
    """How far a check is.

    Args:
        names: of the ops, in their order.
        level: of the check; each has times of its own.
        jobs: how many ops are judged at a time.
    """

    def __init__(self, names: Sequence[str], level: Level, jobs: int) -> None:
        self._level, self._jobs = level, jobs
        held = kept(_KIND).get(level)
        known = held.items() if isinstance(held, dict) else ()
        self._known = {name: float(s) for name, s in known if isinstance(s, (int, float)) and s >= 0}
        self._pending = list(names)
        self._took: list[tuple[float, float | None]] = []  # what each took, and what it had taken before
        self._started = time.perf_counter()

    def end(self, name: str, seconds: float | None) -> None:
        """Counts an op as done; None where nobody knows how long it took."""
        self._pending.remove(name)
        if seconds is not None:
            self._took.append((seconds, self._known.get(name)))

    @property
    def left(self) -> float | None:
        """Seconds that the others will take; None while there is nothing to tell it from.

        What an op took before counts as much more or less as those took that are done.
        """
        again = [(now, before) for now, before in self._took if before is not None]
        before = sum(each for _, each in again)
        factor = sum(now for now, _ in again) / before if before else 1.0
        usual = [now for now, _ in self._took] or [seconds * factor for seconds in self._known.values()]
        if not usual:
            return None
        mean = sum(usual) / len(usual)
        each = [self._known[name] * factor if name in self._known else mean for name in self._pending]
        return sum(each) / min(self._jobs, max(len(each), 1))

    def said(self) -> str:
        """Returns the time left in words; empty where there is nothing to say."""
        left = self.left
        if left is None or left < _SOON:
            return ""
        return f"about {left:.0f} s left" if left < 100 else f"about {left / 60:.0f} min left"


def remember_pace(checked: Iterable[Checked], level: Level) -> None:
    """Keeps what each op took, for the next check here."""
    held = kept(_KIND)
    before = held.get(level)
    now = {one.report.op: round(one.report.seconds, 3) for one in checked if one.report.seconds}
    if now:
        keep(_KIND, {**held, level: {**(before if isinstance(before, dict) else {}), **now}})
