"""Places of reports: files that are looked at before the work begins, or standard output as `-`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from gradcheck.run.whole import write_whole
from opsdk.core.errors import TargetError
from opsdk.ship.cli.terminal import narrate

PRINTED = "-"  # a report's path that stands for standard output
_UNWRITABLE = "{path}: expected a file that can be written, got: {reason}"


def check_places(places: Mapping[str, str | None]) -> None:
    """Refuses places where no report can be written before the work, which may take long.

    Args:
        places: by option, the path that was given, or None.

    Raises:
        TargetError: several reports are meant for standard output, or a file cannot be written.
    """
    printed = [option for option, path in places.items() if path == PRINTED]
    if len(printed) > 1:
        raise TargetError(
            f"{', '.join(printed)}: expected one report at most on standard output, got {len(printed)}; "
            "name a file for the others"
        )
    for path in places.values():
        if path and path != PRINTED and (number := _obstacle(Path(path))):
            raise TargetError(_UNWRITABLE.format(path=path, reason=os.strerror(number)))


def put(path: str, text: str) -> None:
    """Writes a report to its place, and says so on standard error.

    Raises:
        TargetError: the file cannot be written.
    """
    if path == PRINTED:
        print(text, end="")
        return
    try:
        write_whole(Path(path), text)
    except OSError as error:
        raise TargetError(_UNWRITABLE.format(path=path, reason=error.strerror)) from error
    narrate(f"wrote {path}")


def _obstacle(path: Path) -> int:
    """Returns the number of the error that writing a file would end in; 0 where none is foreseen."""
    if path.is_dir():
        return errno.EISDIR
    if not path.parent.is_dir():
        return errno.ENOTDIR if path.parent.exists() else errno.ENOENT
    return 0 if os.access(path if path.exists() else path.parent, os.W_OK) else errno.EACCES
