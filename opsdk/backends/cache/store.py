"""A content-addressed cache on disk: what was built once from the same key is not built again.

A name is the hash of everything that decides a file's content, so a file is never changed, only absent or there. The
lock saves work and nothing rests on it: two builders of one key make the same file, and the later one replaces it.
"""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from opsdk.backends.cache.lock import locked
from opsdk.backends.cache.places import (
    NowhereError,
    cache_folder,
    cannot_write,
    filled,
    is_tagged,
    nowhere,
    places,
)
from opsdk.backends.cache.trust import danger, danger_of_file
from opsdk.core.lazy import slow

FORMAT = 1  # a change of what files mean; every key holds it, so that files of another format are not found
STALE = 24 * 3600.0  # seconds; what a killed builder left behind is swept when older
_FINISHED = r"[0-9a-f]{32}\..*"  # patterns are compiled where they are used: most runs use none
_UNFINISHED = r"\.([0-9a-f]{32}\.)?.*[0-9a-f]{12}\.tmp.*|\.[0-9a-f]{32}\..*lock"
_MAGIC = b"opsdk-seal-1"
_SEAL = 8 + 32 + len(_MAGIC)  # length, SHA-256, magic: the last bytes of a sealed file


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
    raise nowhere(problems) from problems[-1]


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


@functools.cache
def _sweep_once(folder: Path) -> None:
    _sweep(folder)


def _sweep(folder: Path) -> None:
    """Removes temporary files and locks that nobody can be using any more."""
    oldest = time.time() - STALE
    for path in folder.glob(".*"):
        try:
            if re.fullmatch(_UNFINISHED, path.name) and path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue  # another process swept it


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
