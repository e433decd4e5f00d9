"""Files that are written whole or not at all: a report that ended in the middle would be read as one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes a file beside its place and puts it there; where that fails, what was there is as it was.

    What is no file, such as a pipe, and a file in a folder that takes no other, are written as they are.

    Raises:
        OSError: it cannot be written.
    """
    place = Path(os.path.realpath(path))  # a link stays one
    is_file = place.is_file()
    if (place.exists() and not is_file) or (is_file and not os.access(place.parent, os.W_OK)):
        place.write_text(text, encoding="utf-8")
        return
    beside = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        if is_file:
            shutil.copymode(place, beside)
        beside.replace(place)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
