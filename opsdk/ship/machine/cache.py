"""The work of `opsdk cache`: what the cache folder holds, and its removal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from opsdk.backends.cache.store import CacheInfo, cache_clear, cache_info
from opsdk.backends.cache.trust import danger
from opsdk.core.errors import TargetError
from opsdk.ship.cli.terminal import is_terminal, narrate, width
from opsdk.ship.output.table import Column, render

COLUMNS = (Column("kind"), Column("files", right=True), Column("size", right=True))
_UNITS = ("B", "kB", "MB", "GB", "TB")


def as_dict(info: CacheInfo) -> dict[str, object]:
    """Returns what a cache holds, for machines."""
    return {
        "folder": str(info.folder),
        "state": state_of(info.folder),
        "files": info.files,
        "bytes": info.bytes,
        "kinds": {kind: {"files": len(sizes), "bytes": sum(sizes)} for kind, sizes in info.kinds.items()},
    }


def rendered(info: CacheInfo) -> str:
    """Returns the page of `opsdk cache info`."""
    head = f"{info.folder}  {state_of(info.folder)}"
    found = danger(info.folder, above=0)
    if found is not None:
        head = f"{head}, {found.reason}; {found.remedy}"
    if not info.files:
        return f"{head}\nempty"
    rows = [(kind, str(len(sizes)), size_of(sum(sizes))) for kind, sizes in info.kinds.items()]
    return f"{head}\n{render(COLUMNS, [*rows, ('total', str(info.files), size_of(info.bytes))], width())}"


def state_of(folder: Path) -> str:
    """Returns whether files can be kept in a folder: `writable`, `read-only`, `not used`, or `not there yet`.

    Nothing is made. One that is not used is one that others may write to.
    """
    if danger(folder, above=0) is not None:
        return "not used"
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        return "read-only"
    return "writable" if there == folder else "not there yet"


def clear(*, sure: bool) -> None:
    """Removes what the cache holds, and prints what was removed.

    Args:
        sure: does not ask.

    Raises:
        TargetError: nobody can be asked, or the folder cannot be written.
    """
    held = cache_info()
    what = f"{_files(held.files)}, {size_of(held.bytes)}, from {held.folder}"
    found = danger(held.folder, above=0)
    if found is not None:
        raise TargetError(f"cache clear: expected a folder of your own, got {found.reason}; {found.remedy}")
    if held.files and state_of(held.folder) == "read-only":
        raise TargetError(f"cache clear: expected a folder that can be written, got {held.folder}; change who may")
    if held.files and not sure:
        if not is_terminal(sys.stdin):
            raise TargetError(f"cache clear: expected --yes where nobody can be asked; it removes {what}")
        click.confirm(f"remove {what}?", abort=True, err=True)
    removed = cache_clear()
    print(f"removed {_files(removed.files)}, {size_of(removed.bytes)}, from {removed.folder}")
    if removed.files < held.files:
        narrate(f"{_files(held.files - removed.files)} of {held.files} were not removed: in use, or not yours")


def size_of(count: int) -> str:
    """Returns a number of bytes with a unit in which it has three digits at most."""
    size, unit = float(count), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {_UNITS[unit]}"


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"
