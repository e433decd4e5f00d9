"""Where what is compiled may be kept: the cache folder, and where that cannot be, a folder of this process alone.

The cache folder is left out where somebody else may write to it, or where it cannot be written; that is said once.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from opsdk.backends.cache.trust import danger, make_private
from opsdk.core.errors import CompileError
from opsdk.core.lazy import slow

_TAG = "CACHEDIR.TAG"  # the name and first line that backup programs know
_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# Files that opsdk built and can build again.\n"
_MEMORY = "/dev/shm"  # a folder that no full disk is in the way of, on Linux
_told: set[Path] = set()  # cache folders of which it was said that they are not used
_private: dict[tuple[int, str], Path] = {}  # by process id, since a forked child has a folder of its own, and place


class NowhereError(CompileError, code="OP403"):
    """No folder can be written in which compiled code could be kept."""


def cache_folder() -> Path:
    """Returns the folder that the cache is meant to be in: `OPSDK_CACHE_DIR`, or `opsdk` in the user's cache folder.

    A user who has no home, as in a container, has one in the system's folder for temporary files.
    """
    told = os.environ.get("OPSDK_CACHE_DIR")
    if told:
        return Path(os.path.expanduser(told)).absolute()  # noqa: PTH111 - pathlib raises where there is no home
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    base = os.path.expanduser(base)  # noqa: PTH111 - likewise
    if base.startswith("~"):
        return Path(slow("tempfile").gettempdir()).absolute() / f"opsdk-{os.getuid()}"
    return Path(base).absolute() / "opsdk"


def trusted_folder(kind: str) -> Path | None:
    """Returns the cache's folder of a kind; None where others may write to it."""
    folder = cache_folder() / kind
    return folder if danger(folder) is None else None


def filled(kind: str) -> list[Path]:
    """Returns the folders where files of a kind may lie already: those of `places` as far as they are there."""
    held = trusted_folder(kind)
    private = [folder / kind for (process, _), folder in _private.items() if process == os.getpid()]
    return private if held is None else [held, *private]


def places(kind: str, problems: list[OSError]) -> Iterator[Path]:
    """Yields folders for files of a kind, each made and tried: that of the cache, then those of this process.

    Who cannot write to one after all, as on a full disk, says so with `cannot_write` and takes the next.

    Args:
        kind: what sort of files.
        problems: gets why a folder was left out.
    """
    home = cache_folder() / kind
    found = danger(home)
    if found is None:
        try:
            make_tagged(home)
            probe = home / f".{os.getpid()}-{os.urandom(6).hex()}.tmp"
            probe.touch(exist_ok=False)
            probe.unlink()
            found = danger(home)  # somebody else may have been faster
        except OSError as error:
            problems.append(error)
            cannot_write(home, error)
        else:
            if found is None:
                yield home
    if found is not None:
        _tell(f"is not used, {found.reason}; {found.remedy}, or set OPSDK_CACHE_DIR to a folder of your own")
    roots = [_MEMORY]
    with suppress(FileNotFoundError):  # it writes to each that it knows, and found none
        roots.insert(0, slow("tempfile").gettempdir())
    for root in roots:
        try:
            folder = _of_process(root) / kind
            make_tagged(folder)
        except OSError as error:
            problems.append(error)
        else:
            yield folder


def cannot_write(folder: Path, error: OSError) -> None:
    """Says of a folder for files of a kind, where it is that of the cache, why it is not used."""
    if folder.parent == cache_folder():
        reason = error.strerror or str(error)
        _tell(f"cannot be written, {reason}; make room or set OPSDK_CACHE_DIR to a folder that can be")


def is_private(folder: Path) -> bool:
    """Whether a folder for files of a kind is of this process alone."""
    return folder.parent in _private.values()


def make_tagged(folder: Path) -> None:
    """Makes a folder that says whose it is, so that nothing is ever removed from a folder that is somebody else's."""
    make_private(folder)
    tag = folder / _TAG
    if not tag.exists():
        tag.write_text(_TAG_TEXT, encoding="ascii")


def is_tagged(folder: Path) -> bool:
    """Whether a folder says that it is opsdk's."""
    try:
        return (folder / _TAG).read_text(encoding="ascii") == _TAG_TEXT
    except (OSError, ValueError):
        return False


def _tell(what: str) -> None:
    folder = cache_folder()
    if folder not in _told:
        _told.add(folder)
        sys.stderr.write(f"opsdk: what is compiled is kept until the process ends: {folder} {what}\n")


def _of_process(root: str) -> Path:
    """Returns a folder of this process alone, removed when it ends.

    Raises:
        OSError: none can be made there, or others may replace what lies there.
    """
    key = (os.getpid(), root)
    if key not in _private:
        folder = Path(slow("tempfile").mkdtemp(prefix="opsdk-", dir=root))
        found = danger(folder)
        if found is not None:
            folder.rmdir()
            raise PermissionError(errno.EPERM, found.reason, root)
        if _private.setdefault(key, folder) == folder:
            atexit.register(_remove, key[0], folder)
            workers = sys.modules.get("multiprocessing.util")
            if workers is not None:  # a worker that was forked ends without `atexit`, but not without these
                workers.Finalize(None, _remove, args=(key[0], folder), exitpriority=0)
        else:  # another thread was faster
            folder.rmdir()
    return _private[key]


def _remove(process: int, folder: Path) -> None:
    if os.getpid() == process:  # a forked child ends before its parent, and must not take its parent's files along
        slow("shutil").rmtree(folder, ignore_errors=True)
