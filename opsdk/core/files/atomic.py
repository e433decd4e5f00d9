"""Atomic writes: a path names the old file or the whole new one, whatever happens in between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from opsdk.core.errors import FileWriteError


@contextmanager
def replacing(path: str | os.PathLike[str], subject: str) -> Iterator[IO[bytes]]:
    """Gives a new file to write to, which takes the place of `path` once the block has ended well.

    The bytes are on the disk before the name is. Where the block raises, or the process dies, the old file stays as it
    was. Folders on the way are made.

    Args:
        path: of a file, which may be there already; a link to one is followed.
        subject: who writes, for messages.

    Raises:
        FileWriteError: the path is that of a folder, or cannot be written.
    """
    if os.fspath(path).endswith(("/", os.sep)) or Path(path).is_dir() or not os.fspath(path):
        raise FileWriteError(f"{subject}: path expected the name of a file, got {os.fspath(path)!r}, that of a folder")
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}-{os.urandom(6).hex()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise FileWriteError(f"{subject}: {os.fspath(path)!r} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Brings the new name to the disk; Windows does so by itself, and opens no folders."""
    if os.name == "posix":
        handle: Any = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
