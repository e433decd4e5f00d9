"""What a folder's checks leave for its next ones; kept beside the cache, and not cleared with it."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradcheck.run.whole import write_whole
from opsdk.backends.cache.places import cache_folder, trusted_folder
from opsdk.backends.cache.trust import make_private


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
