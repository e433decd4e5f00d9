"""The files that a compiler reads for a C row beside its source: headers however they are named, archives, tables.

What they hold decides the library as the source does. Only the compiler knows which they are, so what it said is kept
in the cache, under all that decided it: the row's key and the content of the files that are known already. A later
process follows the chain from reading to reading and runs no compiler. Where the source hides what it includes, or
files are looked for in several folders, it runs the preprocessor anew, since another file may be found now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from opsdk.backends.c.options import COptions
from opsdk.backends.cache.store import cached_bytes
from opsdk.core.lazy import slow

# What a compiler looks into beside its arguments, in the words of GCC and Clang
_HEADERS = ("CPATH", "C_INCLUDE_PATH")
_VARIABLES = (*_HEADERS, "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SDKROOT")
_ENTERED = r'^# \d+ "((?:[^"\\\n]|\\.)+)" 1\b'
_TABLE = r"\.incbin\s+\\?\"([^\"\\\n]+)"
_INCLUDED = (".h", ".hh", ".hpp", ".inc", ".inl", ".def", ".tab", ".c", ".cpp", ".bin", ".dat")
_COMPILES = ("-D", "-I", "-O", "-U", "-W", "-f", "-g", "-i", "-m", "-pedantic", "-std", "-w")
_LINKS = ("-Wl,", "-fuse-ld", "-flto", "-fplugin")
_SEARCHED = ("-L", "-B", "--library-directory=", "--library-path=")
_FOLDER = ("-I", "-isystem", "-iquote", "-idirafter")


def environment() -> str:
    """Returns what the environment tells a compiler about folders."""
    return "\n".join(f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ)


def folders_of_environment() -> list[str]:
    """Returns the folders of headers that the environment names."""
    named = (os.environ.get(name, "") for name in _HEADERS)
    return [folder for folders in named for folder in folders.split(os.pathsep) if folder]


def state_of_files(key: str, folders: Iterable[str], preprocessed: Callable[[], str], *, anew: bool) -> str:
    """Returns the names and contents, hashed, of all files that the compiler reads for a source.

    Args:
        key: everything else that decides which they are.
        folders: where files are looked for.
        preprocessed: runs the preprocessor over the source; asked where nothing is known of the files as they are.
        anew: whether it is asked each time, since another file may be the one that is found now.

    Raises:
        CompileError: of `preprocessed`.
    """
    if anew:
        text = preprocessed()
        tables = [Path(folder, name) for name in re.findall(_TABLE, text) for folder in ("", *folders)]
        return _hashed(tables) + slow("hashlib").sha256(text.encode("utf-8", "replace")).hexdigest()
    known: set[str] = set()
    while True:
        state = _hashed(map(Path, sorted(known)))
        listed = cached_bytes("reads", f"{key}\0{state}", ".files", lambda: _listed(preprocessed()))
        found = set(listed.decode("utf-8", errors="surrogateescape").split("\0")) - {""}
        if found <= known:
            return state
        known |= found


def state_of_archives(options: COptions, inside: Path | None = None) -> str:
    """Returns the content, hashed, of what flags and libraries name for the linker: libraries, scripts, other files.

    Args:
        options: of the row.
        inside: only files below this folder count; all of them, unless given.
    """
    flags = [word for flag in options.flags for word in _for_linker(flag)]
    searched = os.environ.get("LIBRARY_PATH", "").split(os.pathsep)
    folders = [*options.library_dirs, *folders_in(flags, _SEARCHED), *(name for name in searched if name)]
    names = [*options.libraries, *(flag[2:] for flag in flags if flag.startswith("-l"))]
    files = [file for name in names for file in ([name[1:]] if name[:1] == ":" else [f"lib{name}.so", f"lib{name}.a"])]
    told = [word for flag in flags for word in re.split("[=,@]", flag)]  # @more, -T,script, -fprofile-use=counts
    paths = [Path(folder, file) for folder in folders for file in files] + list(map(Path, filter(None, told)))
    return _hashed([path for path in paths if path.is_file() and (inside is None or path.is_relative_to(inside))])


def asks_linker(flags: Iterable[str]) -> bool:
    """Whether flags may say what is linked: all that are not known to be the compiler's alone."""
    return not all(flag.startswith(_COMPILES) and not flag.startswith(_LINKS) for flag in flags)


def state_of_linked(traced: str) -> str:
    """Returns the content, hashed, of the files that a linker says it took, on lines as `lib/libm.a` or `-lm (path)`.

    Which library a name leads to, only the linker knows: its own folders, scripts and files of flags decide it.
    """
    named = dict.fromkeys(word for line in traced.splitlines() for word in (line, *re.split("[()]", line)))
    return _hashed([path for path in map(Path, filter(None, named)) if path.is_file()])


def state_of_folders(folders: Iterable[str]) -> str:
    """Returns the content, hashed, of the files in folders that a C source might include."""
    return _hashed(sorted(path for folder in folders for path in Path(folder).rglob("*") if path.suffix in _INCLUDED))


def folders_in(flags: Iterable[str], words: tuple[str, ...] = _FOLDER) -> Iterator[str]:
    """Yields the folders that flags name, as `-Ifolder` or `-I folder`."""
    before = ""
    for flag in flags:
        if before in words:
            yield flag
        else:
            yield from (flag.removeprefix(word) for word in words if flag.startswith(word) and flag != word)
        before = flag


def _for_linker(flag: str) -> list[str]:
    """Returns the words of a flag as the linker gets them, where it is one that is handed on to it."""
    return flag[4:].split(",") if flag.startswith("-Wl,") else [] if flag == "-Xlinker" else [flag]


def _listed(preprocessed: str) -> bytes:
    entered = [re.sub(r"\\(.)", r"\1", name) for name in re.findall(_ENTERED, preprocessed, re.MULTILINE)]
    files = {os.path.abspath(name) for name in entered if not name.startswith("<")}  # noqa: PTH100
    return "\0".join(sorted(files)).encode("utf-8", errors="surrogateescape")


def _hashed(paths: Iterable[Path]) -> str:
    """Returns a hash of the names and contents of files, whatever folders they are in."""
    total = slow("hashlib").sha256()
    for path in paths:
        try:
            found = path.stat()
            content = _content(path, found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError:
            content = "gone"
        total.update(f"{content} {path.name}\0".encode("utf-8", errors="surrogateescape"))
    made: str = total.hexdigest()
    return made


@lru_cache(maxsize=4096)
def _content(path: Path, *_state: int) -> str:
    made: str = slow("hashlib").sha256(path.read_bytes()).hexdigest()
    return made
