"""A content-addressed cache on disk: what was built once from the same key is not built again.

A name is the hash of everything that decides a file's content, so a file is never changed, only absent or there. The
lock saves work and nothing rests on it: two builders of one key make the same file, and the later one replaces it. It
is held by one thread of one process, freed by the system when the process dies, and bounded: who waits too long goes
on without it.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

from opsdk.backends.cache.places import NowhereError, cache_folder, cannot_write, filled, is_tagged, places
from opsdk.backends.cache.trust import danger, danger_of_file
from opsdk.core.lazy import slow

FORMAT = 1  # a change of what files mean; every key holds it, so that files of another format are not found
STALE = 24 * 3600.0  # seconds; what a killed builder left behind is swept when older
_FINISHED = r"[0-9a-f]{32}\..*"  # patterns are compiled where they are used: most runs use none
_UNFINISHED = r"\.([0-9a-f]{32}\.)?.*[0-9a-f]{12}\.tmp.*|\.[0-9a-f]{32}\..*lock"
_MAGIC = b"opsdk-seal-1"
_SEAL = 8 + 32 + len(_MAGIC)  # length, SHA-256, magic: the last bytes of a sealed file
LONGEST = 300.0  # seconds to wait for another builder; no compiler takes as long over one kernel
_QUIET = 2.0  # seconds of waiting before it is said; a kernel is compiled in less
_PAUSE = 0.005  # seconds between two looks at a lock that somebody else holds
_files: WeakSet[IO[Any]] = WeakSet()  # a forked child closes them: it would hold the locks of its parent


@dataclass(frozen=True)
class CacheInfo:
    """What a cache folder holds.

    Attributes:
        folder: where it is, or would be.
        kinds: the bytes of each finished file, by what sort of file it is.
    """

    folder: Path
    kinds: Mapping[str, tuple[int, ...]]

    @property
    def files(self) -> int:
        """How many files of every kind."""
        return sum(map(len, self.kinds.values()))

    @property
    def bytes(self) -> int:
        """How many bytes they have together."""
        return sum(map(sum, self.kinds.values()))


def cached(kind: str, key: str, suffix: str, build: Callable[[Path], None]) -> Path:
    """Returns the file of a key, built where it is not there yet, or is not as it was written.

    Safe from several threads and processes at once; a builder that is killed leaves no file under the final name. The
    file ends with a seal, 52 bytes of length and checksum, which loaders of shared libraries do not read.

    Args:
        kind: what sort of file it is; its folder.
        key: everything that decides the content, as text.
        suffix: the end of the file's name, such as `.so`.
        build: writes the content to the path that it is given; what it raises is raised.

    Raises:
        NowhereError: neither the cache folder nor a temporary one can be written.
    """
    assert kind.isidentifier(), kind
    name = _name(key, suffix)
    for folder in filled(kind):
        if _content(folder / name) is not None:
            return folder / name
    problems: list[OSError] = []
    for folder in places(kind, problems):
        try:
            final = folder / name
            with locked(folder / f".{name}.lock"):
                if _content(final) is None:  # who waited for the lock finds it built
                    _sweep_once(folder)
                    _build(final, suffix, build)
            return final
        except OSError as error:  # a full disk, a quota: what matters is that the next place has room
            problems.append(error)
            cannot_write(folder, error)
    raise NowhereError(
        f"cache: expected a folder that can be written, got neither {cache_folder()} nor a temporary one; "
        "make room, or set OPSDK_CACHE_DIR to one",
        because="; ".join(dict.fromkeys(map(str, problems))),
    ) from problems[-1]


def cached_bytes(kind: str, key: str, suffix: str, make: Callable[[], bytes]) -> bytes:
    """Returns the bytes of a key, made where they are not there yet, or are not as they were written."""
    made: list[bytes] = []

    def build(path: Path) -> None:
        made[:] = made or [make()]  # where one place is full it is written to the next
        path.write_bytes(made[0])

    try:
        path = cached(kind, key, suffix, build)
    except NowhereError:  # these bytes need no file
        return made[0] if made else make()
    held = made[0] if made else _content(path)
    return held if held is not None else make()  # None: somebody damaged the file after it was looked at


def held_bytes(kind: str, key: str, suffix: str) -> bytes | None:
    """Returns the bytes that `cached_bytes` keeps under a key; None where there are none, or none that are whole."""
    contents = (_content(folder / _name(key, suffix)) for folder in filled(kind))
    return next((content for content in contents if content is not None), None)


def cache_info() -> CacheInfo:
    """Returns where the cache is, and the finished files that it holds."""
    folder = cache_folder()
    kinds = {kind.name: tuple(size for _, size in _finished(kind)) for kind in _folders(folder)}
    return CacheInfo(folder, {name: sizes for name, sizes in sorted(kinds.items()) if sizes})


def cache_clear() -> CacheInfo:
    """Removes every finished file and returns what was removed; what is being built is left alone.

    Safe beside running processes: what they have opened stays theirs, and what they miss they build again. Of a folder
    that others may write to nothing is removed: a link in it may lead anywhere.
    """
    folder = cache_folder()
    if danger(folder, above=0) is not None:
        return CacheInfo(folder, {})
    removed: dict[str, tuple[int, ...]] = {}
    for kind in _folders(folder):
        for path, size in _finished(kind):
            try:
                path.unlink()
            except OSError:
                continue  # gone already, or in use on Windows
            removed[kind.name] = (*removed.get(kind.name, ()), size)
        _sweep(kind)
    return CacheInfo(folder, removed)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Holds the lock of a path, a file that is made and removed in a folder that exists; gives whether it is held."""
    deadline = time.monotonic() + LONGEST
    try:
        file = path.open("ab", buffering=0)
    except OSError:
        yield False
        return
    with file:  # closing it frees the lock
        _files.add(file)
        is_held = _acquire(path, file, deadline)
        try:
            yield is_held
        finally:
            if is_held:  # removed before it is free: who waits on the removed file gets it and looks anew
                with suppress(OSError):  # Windows: others wait on it
                    path.unlink(missing_ok=True)


def _acquire(path: Path, file: IO[Any], deadline: float) -> bool:
    """Locks an open file; returns whether that was possible in time."""
    waits_from = time.monotonic()
    is_told = False
    while not _try(file):
        now = time.monotonic()
        if now > deadline:
            return False
        if not is_told and now >= waits_from + _QUIET:
            is_told = True
            holder = _holder(path)
            if holder != f"process {os.getpid()}":  # another thread
                rest = f"at most {deadline - now:.0f} s more, then goes on without it"
                sys.stderr.write(f"opsdk: waits for {holder}, which holds {path}; {rest}\n")
        time.sleep(_PAUSE)
    with suppress(OSError):  # a full disk: who waits then does not learn who holds the lock
        file.truncate(0)
        file.write(str(os.getpid()).encode())
    return True


def _holder(path: Path) -> str:
    """Returns who holds a lock, as far as the holder wrote it and it can be read."""
    try:
        number = path.read_text(encoding="ascii")
    except (OSError, ValueError):  # on Windows nobody reads a locked file
        number = ""
    return f"process {number}" if number.isdecimal() else "another process"


def _try(file: IO[Any]) -> bool:
    """Takes the lock, or says that somebody else has it; a file system without locks has them all free."""
    try:
        if os.name == "nt":
            msvcrt = slow("msvcrt")
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl = slow("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def _name(key: str, suffix: str) -> str:
    digest = slow("hashlib").sha256(f"{FORMAT} {key}".encode()).hexdigest()
    return f"{digest[:32]}{suffix}"


def _build(final: Path, suffix: str, build: Callable[[Path], None]) -> None:
    temporary = final.with_name(f".{final.stem}.{os.getpid()}-{os.urandom(6).hex()}.tmp{suffix}")
    try:
        build(temporary)
        temporary.chmod(temporary.stat().st_mode & 0o755)  # whatever the umask: what lies here is executed
        with temporary.open("rb+") as file:
            content = file.read()
            file.write(len(content).to_bytes(8, "little") + slow("hashlib").sha256(content).digest() + _MAGIC)
            file.flush()
            os.fsync(file.fileno())  # a name must not reach the disk before what it names
        try:
            temporary.replace(final)
        except PermissionError:  # Windows: another process has the same file open already
            if not final.exists():
                raise
    finally:
        temporary.unlink(missing_ok=True)


def _content(path: Path) -> bytes | None:
    """Returns the content of a file; None where it is missing, somebody else may have written it, or it is damaged."""
    try:
        if danger_of_file(path) is not None:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    content, seal = data[:-_SEAL], data[-_SEAL:]
    fits = len(seal) == _SEAL and seal.endswith(_MAGIC) and int.from_bytes(seal[:8], "little") == len(content)
    return content if fits and slow("hashlib").sha256(content).digest() == seal[8:40] else None


def _sweep(folder: Path) -> None:
    """Removes temporary files and locks that nobody can be using any more."""
    oldest = time.time() - STALE
    for path in folder.glob(".*"):
        try:
            if re.fullmatch(_UNFINISHED, path.name) and path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue  # another process swept it


_sweep_once = functools.cache(_sweep)


def _finished(kind: Path) -> Iterator[tuple[Path, int]]:
    """Yields the finished files of a kind with their sizes, those that Numba puts beside them included."""
    for path in list(kind.rglob("*")):
        try:
            if re.fullmatch(_FINISHED, path.name) and path.is_file():
                yield path, path.stat().st_size
        except OSError:
            continue


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if is_tagged(path)]
    except OSError:
        return []


def _after_fork() -> None:
    for file in list(_files):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
