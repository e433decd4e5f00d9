"""C kernels built ahead of time: libraries beside the Python file that registers the kernel, found by their content.

What a library was built from is in its name: source, headers of the package, schema, options, opsdk.h and platform. One
that was built from anything else is not found, so that it is never used by mistake.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from opsdk.backends.c.compiler import LIBRARY_SUFFIX, has_compiler
from opsdk.backends.c.job import Job, folders_in, state_of_archives, state_of_folders
from opsdk.backends.c.source import HEADER, headers_of, hides_files
from opsdk.backends.cache.trust import danger_beside
from opsdk.core.errors import CompileError
from opsdk.core.origin import Origin

FOLDER = "_kernels"  # beside the file that registers the kernel, as __pycache__ is beside what it is compiled from
_SEAL = b"\n# SHA-256 of the library: "


def interface_of(library: Path) -> Path:
    """Returns where the Python code is that makes the cffi interface of a library."""
    return library.with_suffix(".cffi")


def can_be_had(origin: Origin) -> bool:
    """Whether kernels registered there can be compiled, or some of them were built ahead of time."""
    folder = _folder(origin)
    return has_compiler() or (folder is not None and folder.is_dir())


def prebuilt(job: Job) -> Path | None:
    """Returns the library that was built from a kernel as it is now; None where there is none that can be trusted."""
    folder = _folder(job.kernel.origin)
    if folder is None or not folder.is_dir():
        return None
    library = _named(job, folder)
    interface = interface_of(library)
    if not (library.is_file() and interface.is_file()):
        return None
    for path in (library, interface):
        danger = danger_beside(path, Path(job.kernel.origin.file))
        if danger is not None:
            _tell(f"opsdk: {library} is not used, {danger.reason}; {danger.remedy}\n")
            return None
    if not _is_whole(library):
        _tell(f"opsdk: {library} is not used, it is not as it was built; build it again, opsdk build\n")
        return None
    return library


def _is_whole(library: Path) -> bool:
    """Whether a library is what its interface was written for; a damaged one may end the process when it is opened."""
    try:
        seal = interface_of(library).read_bytes().rpartition(_SEAL)[2].strip().decode()
        return bool(seal == hashlib.sha256(library.read_bytes()).hexdigest())
    except (OSError, ValueError):
        return False


@cache
def _tell(text: str) -> None:
    """Says something once."""
    sys.stderr.write(text)


def outdated(job: Job) -> str:
    """Returns which libraries of a kernel were built from something else, for messages; empty where it has none."""
    folder = _folder(job.kernel.origin)
    names = sorted(path.name for path in folder.glob(f"{job.opdef.schema.name}.*{LIBRARY_SUFFIX}")) if folder else []
    if not names:
        return ""
    return f"{folder} has {', '.join(names)}, built from another source, by another opsdk or for another platform"


def place_of(job: Job, out: Path | None = None) -> Path:
    """Returns where the library of a kernel belongs.

    Args:
        job: the kernel.
        out: the folder that stands for the one that the top-level package is in; that folder itself unless given.

    Raises:
        CompileError: the kernel is registered in no file.
    """
    folder = _folder(job.kernel.origin, out)
    if folder is None:
        raise CompileError(
            f"{job.subject}: expected a kernel that a file registers, beside which its library is put, got one of "
            f"{job.kernel.origin}"
        )
    return _named(job, folder)


def build_ahead(job: Job, made: Path) -> None:
    """Compiles a kernel for any processor of this platform; where that fails, nothing is left in the place.

    Raises:
        CompileError, BindingError: see `Job`.
        OSError: the folder cannot be written.
    """
    job = replace(job, portable=True)
    folder = made.parent
    folder.mkdir(parents=True, exist_ok=True)
    library = made.with_name(f".{os.getpid()}.tmp.{made.name}")
    interface = interface_of(library)
    try:
        job.build(library)
        seal = hashlib.sha256(library.read_bytes()).hexdigest()
        interface.write_bytes(job.interface() + _SEAL + seal.encode())
        interface.replace(interface_of(made))
        library.replace(made)  # the library last: with it the kernel counts as built
    finally:
        for path in (library, interface):
            path.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def remove_outdated(kept: list[Path]) -> None:
    """Removes, for this platform, what other versions of the kernels left behind in the folders of these."""
    for library in kept:
        name = library.name.partition(".")[0]
        for path in library.parent.glob(f"{name}.{_platform()}.*"):
            if path.with_suffix(LIBRARY_SUFFIX) not in kept:
                path.unlink(missing_ok=True)


def _named(job: Job, folder: Path) -> Path:
    return folder / f"{job.opdef.schema.name}.{_platform()}.{_digest(job)}{LIBRARY_SUFFIX}"


def _digest(job: Job) -> str:
    """Returns a hash of all that decides what a library is, as far as it is the package's; compilers do not count.

    Where the headers cannot be read off the source, all files in its folders that may be some count.
    """
    options = job.options
    top = _top(job.kernel.origin)
    named = (*options.include_dirs, *folders_in(options.flags))
    inside = [folder for folder in named if Path(folder).is_relative_to(top)]
    hides = hides_files(job.source, inside)
    parts = [
        *(job.opdef.schema.name, *job.signature, HEADER.read_text(encoding="utf-8"), job.source.text),
        *(headers_of(job.source, inside), repr(options.define), repr(options.flags), repr(options.openmp)),
        *(repr(options.libraries), state_of_archives(options, inside=top)),
        *([state_of_folders([job.source.folder, *inside])] if hides else []),
    ]
    return hashlib.sha256("\0".join(parts).encode("utf-8", errors="surrogateescape")).hexdigest()[:16]


def _platform() -> str:
    return f"{sys.platform}-{platform.machine().lower()}-{64 if sys.maxsize > 2**32 else 32}"


def _folder(origin: Origin, out: Path | None = None) -> Path | None:
    """Returns the folder of what is built from a file; below `out` it lies as the file does below its package."""
    if not Path(origin.file).is_file():
        return None  # a notebook's cell
    return (Path(origin.file).parent if out is None else out.joinpath(*_packages(origin))) / FOLDER


def _top(origin: Origin) -> Path:
    """Returns the folder of the top-level package that registers a kernel; of the file, where it is in no package."""
    home = Path(origin.file).parent
    return home.parents[len(_packages(origin)) - 2] if len(_packages(origin)) > 1 else home


def _packages(origin: Origin) -> tuple[str, ...]:
    """Returns the packages that a file is in, outermost first; none for a loose file."""
    file = Path(origin.file)
    names = tuple(origin.module.split("."))
    packages = names if file.stem == "__init__" else names[:-1]
    return packages if packages and file.parent.parts[-len(packages) :] == packages else ()
