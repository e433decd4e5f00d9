"""The C source of a kernel: its text, the file and line it is known by, the author's headers, its functions."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.backends.c.signature import STATUS, VOID, symbols
from opsdk.core.errors import CompileError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

HEADER = Path(__file__).with_name("opsdk.h")
# Patterns are compiled where they are used: a kernel that is in the cache needs few.
_INCLUDE = r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]'
# Whatever may have the compiler read another file, or ask for one; ??/ is a backslash to C11
_READS = r"include|\bimport\b|\bembed\b|\bincbin\b|\?\?/"

_MADE = (
    r"\bDLTensor\b(?!\s*(?:const\s*)?\*)",
    r"\b(?:malloc|calloc|realloc|alloca|typeof|__typeof__|auto)\b",
    r"\bsizeof\s*\(?\s*\*",
)
_CHANGED = (
    r"\b(?:shape|ndim)\b\s*(?:\[[^\]]*\])?\s*(?:[-+*/|&^%]?=(?!=)|\+\+|--)",
    r"(?:\+\+|--)[^;]{0,40}\b(?:shape|ndim)\b",
)

_DIRECTIVE = r"(?m)^#.*$"
_ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)"
_CALLED = r"\b([A-Za-z_]\w*)\s*\("
_NO_NAMES = frozenset({"if", "for", "while", "switch", "return", "sizeof", "__attribute__"})


@dataclass(frozen=True)
class CSource:
    """A C text.

    Attributes:
        text: the source.
        file: what messages call it: a path, also where the text stands in a Python file.
        line: the line of that file on which the text starts.
        folder: where headers in quotes are looked for.
    """

    text: str
    file: str
    line: int
    folder: str

    @property
    def unit(self) -> str:
        """The text as the compiler gets it, with each line at its own number."""
        return f"{line_directive(self.line, self.file)}{self.text}\n"


@dataclass(frozen=True)
class Definition:
    """A function with a body.

    Attributes:
        returns: `void`, or `int32_t` for everything else, which the compiler checks.
        static: whether nothing outside of the source can call it.
        text: how it is declared there.
    """

    returns: str
    static: bool
    text: str


def is_text(source: str) -> bool:
    """Whether the source of a kernel is C itself, and not the name of a file."""
    return any(mark in source for mark in "\n{;")


def read(opdef: OpDef, kernel: Kernel) -> CSource:
    """Returns the source of a kernel as it is now.

    Raises:
        CompileError: the file is gone, or is no text.
    """
    given = kernel.source
    assert isinstance(given, str), kernel
    folder = os.path.dirname(kernel.origin.file)  # noqa: PTH120 - origins are strings
    if is_text(given):
        file, line = _written_at(given, kernel.origin.file) or (f"<C source of {opdef.name}>", 1)
        return CSource(given, file, line, folder)
    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(
            f"{opdef.subject}, c kernel: expected to read {given}, got {error}", at=str(kernel.origin)
        ) from error
    return CSource(text, given, 1, str(Path(given).parent))


def headers_of(source: CSource, include_dirs: Sequence[str]) -> str:
    """Returns the text of the author's own headers that a source includes, directly or not, each with its name.

    What the preprocessor might leave out is in here too; a name that a macro makes is not found, see `hides_files`.
    """
    return "".join(sorted(f"{name}\n{text}\n" for (name, _), text in _headers(source, include_dirs).items()))


def hides_files(source: CSource, include_dirs: Sequence[str]) -> bool:
    """Whether a source, or a header of its author's, may read files that `headers_of` does not find."""
    texts = [source.text, *_headers(source, include_dirs).values()]
    joined = [re.sub(r"\\[ \t]*\r?\n", "", text) for text in texts]  # a word may go on in the next line
    named = [len(re.findall(_INCLUDE, text, re.MULTILINE)) for text in texts]
    return any(len(re.findall(_READS, text)) > count for text, count in zip(joined, named, strict=True))


def _headers(source: CSource, include_dirs: Sequence[str]) -> dict[tuple[str, Path], str]:
    """Returns texts of headers by path and the name that includes them, the same wherever a package is installed."""
    found: dict[tuple[str, Path], str] = {}
    seen: set[Path] = set()
    waiting: list[tuple[str, Path]] = [(source.text, Path(source.folder))]
    while waiting:
        text, folder = waiting.pop()
        for mark, name in re.findall(_INCLUDE, text, re.MULTILINE):
            beside = (str(folder), source.folder) if mark == '"' else ()
            for base in (*beside, *include_dirs):
                path = Path(base, name)
                if path in seen:
                    break
                try:
                    found[name, path] = path.read_text(encoding="utf-8", errors="surrogateescape")
                except OSError:
                    continue  # another folder, or a header of the system
                seen.add(path)
                waiting.append((found[name, path], path.parent))
                break
    return found


def shapes_stay(text: str) -> bool:
    """Whether a C text neither makes a DLTensor nor changes the shape of one, so that sizes can be computed once.

    It says no wherever it is not plain: a DLTensor that is no pointer, memory that may become one, a shape written to.
    """
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    return re.search("|".join((*_MADE, *_CHANGED)), bare) is None


def line_directive(line: int, file: str) -> str:
    """Returns the directive after which the compiler takes lines to be those of another file."""
    escaped = file.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {line} "{escaped}"\n'


def _written_at(text: str, file: str) -> tuple[str, int] | None:
    """Returns the Python file and line at which a source stands, where it stands there as it is."""
    try:
        python = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None  # a notebook's cell, or no text
    at = python.find(text)
    if at >= 0:
        return file, python.count("\n", 0, at) + 1
    lines: dict[str, list[int]] = {}  # a text that was indented, or had words put in, stands there in most of its lines
    for i, line in enumerate(python.splitlines()):
        lines.setdefault(line.strip(), []).append(i)
    told = [(i, line.strip()) for i, line in enumerate(text.splitlines()) if len(line.strip()) > 2]
    first = Counter(there - i for i, line in told for there in lines.get(line, ())).most_common(1)
    return (file, first[0][0] + 1) if first and 2 * first[0][1] > len(told) else None


def missing_function(opdef: OpDef, kernel: Kernel, dtype: np.dtype[Any]) -> str:
    """Returns what is missing where a C source has no function for a dtype; empty where it has, or nobody can tell.

    Macros may make functions that only the preprocessor sees, and headers may hold some.
    """
    try:
        text = read(opdef, kernel).text
    except CompileError as error:
        return str(error)
    known = symbols(opdef.schema)
    symbol = known.get(dtype.name, dtype.name)
    if "##" in text or re.search(r'#\s*include\s*"(?!opsdk\.h)', text) or re.search(rf"\b{symbol}\b", text):
        return ""
    there = [name for name in names_defined(text) if name in known.values()]
    return f"its source has no function {symbol}; there are {', '.join(there) or 'none'}"


def definitions(preprocessed: str, wanted: Collection[str]) -> dict[str, Definition]:
    """Returns the wanted functions that a preprocessed text defines, by name."""
    text = re.sub(_ATTRIBUTE, " ", re.sub(_DIRECTIVE, "", preprocessed))
    found: dict[str, Definition] = {}
    for name in wanted:
        for match in re.finditer(rf"\b{name}\s*\(", text):
            end = _closing(text, match.end() - 1)
            if end is None or not text[end + 1 :].lstrip().startswith("{"):
                continue  # a declaration or a call
            start = max(text.rfind(mark, 0, match.start()) for mark in ";}{") + 1
            before = text[start : match.start()].split()
            kind = " ".join(word for word in before if word not in ("static", "inline", "extern", "__inline"))
            found[name] = Definition(
                VOID if kind == VOID else STATUS,
                "static" in before,
                " ".join(f"{kind} {text[match.start() : end + 1]}".split()),
            )
            break
    return found


def names_defined(source: str) -> tuple[str, ...]:
    """Returns the names of what looks like functions with a body in a source, for a message."""
    text = re.sub(_DIRECTIVE, "", re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL))
    names = []
    for match in re.finditer(_CALLED, text):
        end = _closing(text, match.end() - 1)
        is_body = end is not None and text[end + 1 :].lstrip().startswith("{")
        if is_body and match[1] not in _NO_NAMES:
            names.append(match[1])
    return tuple(dict.fromkeys(names))


def _closing(text: str, start: int) -> int | None:
    """Returns where the bracket that opens at `start` closes."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.start()
    return None
