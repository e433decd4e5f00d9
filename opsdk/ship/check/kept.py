"""What a folder's checks leave for its next ones: what failed, and how long ops take, which says how long is left.

It is kept beside the cache, and not cleared with it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gradcheck.run.whole import write_whole
from opsdk.backends.cache.places import cache_folder, trusted_folder
from opsdk.backends.cache.trust import make_private
from opsdk.ship.check.result import Checked
from opsdk.verify.level import Level


# Any: values of JSON.
def kept(kind: str) -> dict[str, Any]:
    """Returns what is kept of a kind for the current folder; nothing where there is no such file."""
    try:
        held = json.loads(_file(kind).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def keep(kind: str, values: Mapping[str, Any]) -> None:
    """Keeps it; a cache that cannot be written remembers nothing."""
    with contextlib.suppress(OSError):
        file = _file(kind)
        make_private(file.parent)
        write_whole(file, json.dumps(values, indent=1))


def _file(kind: str) -> Path:
    """Returns the file of the current folder.

    Raises:
        OSError: others may write to it: what it names would be loaded.
    """
    folder = trusted_folder(kind)
    if folder is None:
        raise PermissionError(errno.EPERM, "others may write to it", str(cache_folder()))
    return folder / f"{hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]}.json"


_FAILED = "last_failed"


def failed_last() -> dict[str, str]:
    """Returns the ops that failed, or were not judged, when they were last checked here: names, and their targets."""
    return {name: target for name, target in kept(_FAILED).items() if isinstance(target, str)}


def remember(checked: Iterable[Checked]) -> None:
    """Enters those that failed, and takes out those that pass; what was not checked stays as it was."""
    held = failed_last()
    now = dict(held)
    for one in checked:
        now.pop(one.report.op, None)
        if one.verdict != "pass":
            now[one.report.op] = one.target
    if now != held:
        keep(_FAILED, now)


_DURATIONS = "durations"
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
        held = kept(_DURATIONS).get(level)
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
    held = kept(_DURATIONS)
    before = held.get(level)
    now = {one.report.op: round(one.report.seconds, 3) for one in checked if one.report.seconds}
    if now:
        keep(_DURATIONS, {**held, level: {**(before if isinstance(before, dict) else {}), **now}})
