"""What failed last in a folder, for `opsdk check --last-failed`; kept beside the cache, and not cleared with it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from gradcheck.run.whole import write_whole
from opsdk.backends.cache.places import cache_folder, trusted_folder
from opsdk.backends.cache.trust import make_private
from opsdk.ship.check.result import Checked


def failed_last() -> dict[str, str]:
    """Returns the ops that failed, or were not judged, when they were last checked here: names, and their targets."""
    try:
        held = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    pairs = held.items() if isinstance(held, dict) else ()
    return {name: target for name, target in pairs if isinstance(target, str)}


def remember(checked: Iterable[Checked]) -> None:
    """Enters those that failed, and takes out those that pass; what was not checked stays as it was."""
    held = failed_last()
    now = dict(held)
    for one in checked:
        now.pop(one.report.op, None)
        if one.verdict != "pass":
            now[one.report.op] = one.target
    if now != held:
        with contextlib.suppress(OSError):  # a cache that cannot be written remembers nothing
            file = _file()
            make_private(file.parent)
            write_whole(file, json.dumps(now, indent=1))


def _file() -> Path:
    """Returns the file of the current folder.

    Raises:
        OSError: others may write to it: what it names would be loaded.
    """
    folder = trusted_folder("last_failed")
    if folder is None:
        raise PermissionError(errno.EPERM, "others may write to it", str(cache_folder()))
    return folder / f"{hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]}.json"
