"""The system's C compiler: which one it is, how it is called, and what it said in one sentence."""

from __future__ import annotations

import errno
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opsdk.core.errors import CompileError
from opsdk.core.lazy import slow
from opsdk.core.origin import shorten

_VARIABLES = ("OPSDK_CC", "CC")
_NAMES = ("cc", "gcc", "clang")
_INSTALL = {"linux": "apt install gcc", "darwin": "xcode-select --install", "win32": "winget install LLVM.LLVM"}
_REMEDY = f"{_INSTALL.get(sys.platform, _INSTALL['linux'])}, or name one in OPSDK_CC"

LIBRARY_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
NATIVE = "-march=native" if platform.machine().lower() in ("x86_64", "amd64", "i686") else "-mcpu=native"

FLAGS = (
    # No -ffast-math: NaN and infinity are values, and a sum written in an order has that order. errno and trapping
    # floating point are read by nobody, and loops that must keep them are not vectorized.
    *("-std=c11", "-O3", "-fno-math-errno", "-fno-trapping-math"),
    # What C lets pass with a warning, and what then crashes: a misspelt function, a pointer in place of a number.
    *("-Werror=implicit-function-declaration", "-Werror=int-conversion", "-Werror=incompatible-pointer-types"),
    *("-fPIC", "-shared", "-fdiagnostics-color=never"),
)
LINKED = (
    # A function that no library has is an error now, and not a dead process at its first call.
    # And a function of the source is that one: not libm's `gamma`, which the process has already.
    *(("-Wl,-z,defs", "-Wl,-Bsymbolic") if sys.platform.startswith("linux") else ()),
    *(("-lm",) if os.name != "nt" else ()),
)

_ERROR = r"^(?P<file>[^\n]+?):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$"
_EXPANSION = r"^(?P<file>[^\n]+?):(?P<line>\d+):(?:\d+:)? note: in expansion of macro"
_LINK_ERROR = r"undefined reference to .*|Undefined symbols.*|cannot find .*|library not found.*"
_NAME_LIBRARY = "define it in the source, or name the library that has it: libraries=, library_dirs="
# What compilers and linkers say of a full disk, a quota or a limit of file sizes; the last ends them with a signal.
_NO_ROOM = (
    r"^.*(?:no space left|disk quota exceeded|file too large|file size limit|read-only file system"
    r"|terminated with signal (?:7|25)\b).*$"
)
_SHOWN = 20  # lines of the compiler's text in a note


@dataclass(frozen=True)
class Compiler:
    """A C compiler.

    Attributes:
        command: how it is called.
    """

    command: tuple[str, ...]

    @property
    def identity(self) -> str:
        """What decides that its output is another one, read without running it."""
        marks = []
        for word in self.command:
            path = _which(word)
            if path is not None:  # `ccache gcc` are two programs
                real = Path(path).resolve()
                state = real.stat()
                marks.append(f"{real} {state.st_mtime_ns} {state.st_size}")
        return "\n".join([repr(self.command), *marks])


@dataclass(frozen=True)
class Complaint:
    """The first error that a compiler reported, and its whole text."""

    file: str
    line: int
    text: str
    whole: str


def find_compiler(subject: str) -> Compiler:
    """Returns the compiler of `OPSDK_CC`, of `CC`, or the first of cc, gcc and clang.

    Raises:
        CompileError: there is none.
    """
    for variable in _VARIABLES:
        told = os.environ.get(variable)
        if told:
            command = slow("shlex").split(told)
            path = _which(command[0]) if command else None
            if path is None:
                raise CompileError(
                    f"{subject}: {variable} expected a C compiler, got {told!r}, which is no program here; "
                    f"unset it, or {_REMEDY}",
                    code="OP402",
                )
            return Compiler((path, *command[1:]))
    for name in _NAMES:
        path = _which(name)
        if path is not None:
            return Compiler((path,))
    raise CompileError(
        f"{subject}: no C compiler, tried $OPSDK_CC and $CC (unset), {', '.join(_NAMES)}; {_REMEDY}", code="OP402"
    )


def has_compiler() -> bool:
    """Whether there is a compiler, or one is named: a name without a program is a mistake to be told."""
    return any(map(os.environ.get, _VARIABLES)) or any(map(_which, _NAMES))


def run(
    compiler: Compiler, arguments: Sequence[str], text: str, scratch: Path | None = None
) -> tuple[str, Complaint | None]:
    """Runs the compiler over a text; returns its output, and its first error where it failed.

    Args:
        compiler: which.
        arguments: behind those of its command.
        text: its standard input.
        scratch: the folder for what it writes on its way; the system's unless given.
    """
    subprocess = slow("subprocess")
    done = subprocess.run(
        [*compiler.command, "-x", "c", *arguments],
        input=text.encode("utf-8", errors="surrogateescape"),
        capture_output=True,
        env={**os.environ, "LC_ALL": "C", **({"TMPDIR": str(scratch)} if scratch else {})},  # its words are read
        check=False,
    )
    out, said = (stream.decode("utf-8", errors="replace") for stream in (done.stdout, done.stderr))
    return out, _complaint(said or f"exit status {done.returncode}") if done.returncode else None


def expect_room(complaint: Complaint, path: Path) -> None:
    """Tells a disk at which a compiler or linker failed from a source that it refuses.

    Raises:
        OSError: it was the disk that it writes `path` to, or the one that it uses on its way.
    """
    found = re.search(_NO_ROOM, complaint.whole, re.IGNORECASE | re.MULTILINE)
    if found is not None:
        said = f"the C compiler found no room: {found[0].strip()}"
        raise OSError(errno.ENOSPC, said, str(path))


def failure(subject: str, complaint: Complaint) -> CompileError:
    """Returns the error of a source that does not compile: the compiler's first error at the author's own line."""
    where = f"{shorten(complaint.file)}:{complaint.line}" if complaint.file else ""
    shown = complaint.whole.strip().splitlines()
    if len(shown) > _SHOWN:
        shown = [*shown[:_SHOWN], f"and {len(shown) - _SHOWN} lines more"]
    return CompileError(
        f"{subject}: does not compile, {f'{where}: ' if where else ''}{complaint.text}{_advice(complaint)}",
        at=f"{where}{_quoted(complaint)}",
        because="\n           ".join(shown),
    )


def _advice(complaint: Complaint) -> str:
    """Returns what to do about an error; the compiler's own "did you mean 'tanhf'?" is better than any given here."""
    if not complaint.file or "; " in complaint.text:
        return ""
    if complaint.text.endswith("No such file or directory"):
        return "; mend its name, or name its folder: include_dirs="
    return "; mend that line" + (", or the one before it" if complaint.text.startswith("expected ") else "")


@cache
def machine() -> str:
    """Returns what code for this very processor depends on, so that machines may share a cache."""
    words = [sys.platform, platform.machine()]
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            first = file.read(16384).partition("\n\n")[0]
    except OSError:
        return " ".join([*words, platform.version()])
    kept = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ", "isa", "cpu\t")
    return "\n".join([*words, *(line for line in first.splitlines() if line.startswith(kept))])


def _which(name: str) -> str | None:
    """Returns the path of a program; shutil, which knows it too, takes 4 ms to import."""
    if os.name != "posix":
        return slow("shutil").which(name)
    folders = [""] if "/" in name else os.get_exec_path()
    paths = [os.path.join(folder, name) for folder in folders]  # noqa: PTH118
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)  # noqa: PTH113


def _complaint(said: str) -> Complaint:
    match = re.search(_ERROR, said, re.MULTILINE)
    if match is not None:
        if Path(match["file"]).name == "opsdk.h":  # a macro of ours, on a line of the author's
            used = re.search(_EXPANSION, said[match.end() :], re.MULTILINE)
            if used is not None:
                return Complaint(used["file"], int(used["line"]), match["text"].strip(), said)
        return Complaint(match["file"], int(match["line"]), match["text"].strip(), said)
    missing = re.search(_LINK_ERROR, said)
    text = f"{missing[0]}; {_NAME_LIBRARY}" if missing else said.strip().splitlines()[-1]
    return Complaint("", 0, text, said)


def _quoted(complaint: Complaint) -> str:
    """Returns the line that a complaint is about, where it can be read."""
    try:
        lines = Path(complaint.file).read_text(encoding="utf-8").splitlines()
        return f" | {lines[complaint.line - 1].strip()}"
    except (OSError, ValueError, IndexError):
        return ""
