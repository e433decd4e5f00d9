"""What failed last in a folder, for `opsdk check --last-failed`."""

from __future__ import annotations

from collections.abc import Iterable

from opsdk.ship.check.kept import keep, kept
from opsdk.ship.check.result import Checked

_KIND = "last_failed"


def failed_last() -> dict[str, str]:
    """Returns the ops that failed, or were not judged, when they were last checked here: names, and their targets."""
    return {name: target for name, target in kept(_KIND).items() if isinstance(target, str)}


def remember(checked: Iterable[Checked]) -> None:
    """Enters those that failed, and takes out those that pass; what was not checked stays as it was."""
    held = failed_last()
    now = dict(held)
    for one in checked:
        now.pop(one.report.op, None)
        if one.verdict != "pass":
            now[one.report.op] = one.target
    if now != held:
        keep(_KIND, now)
