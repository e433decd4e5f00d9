"""Coverage of C kernels: which lines of a source calls reached, as a build of it with gcov counts them.

A compiler counts a macro as one line. One whose text goes over several lines, and which stands alone on a line of the
source, as where functions are written once for several dtypes, is put there by hand, with its own lines.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from opsdk.backends.c import compiler as cc
from opsdk.backends.c.frame import Frame
from opsdk.backends.c.job import Job
from opsdk.backends.c.library import opened
from opsdk.backends.c.source import line_directive
from opsdk.backends.call.lines import Spot
from opsdk.core.errors import CompileError, OpsdkError
from opsdk.core.lazy import slow
from opsdk.core.origin import shorten
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_FLAGS = ("-O0", "--coverage", "-fprofile-update=prefer-atomic")
_DUMP = "opsdk_dump_counts"
_EXPORTED = f"extern void __gcov_dump(void);\nvoid {_DUMP}(void) {{ __gcov_dump(); }}\n"
_MACRO = r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:.*\\\n)+.*)\n"
_READER = "gcov"
_OWN = Path(__file__).parent

# Any, in this file: one entry per input, an array, a list of arrays or None; attribute values.
Calls = Iterable[tuple[Sequence[Any], Mapping[str, Any]]]


def reached_lines(opdef: OpDef, kernel: Kernel, calls: Calls) -> dict[Spot, bool]:
    """Returns by file and line of the code of a kernel whether a call reached it, of functions that were entered.

    Args:
        opdef: the op.
        kernel: its C kernel.
        calls: inputs, which may be changed, and all attributes; each has to be one that the kernel takes.

    Raises:
        CompileError: the compiler counts no lines, or what it counted cannot be read here; or the source is refused.
    """
    job = Job.of(opdef, kernel)
    if shutil.which(_READER) is None:
        raise CompileError(f"{job.subject}: expected {_READER}, which counts lines, got none; it comes with gcc")
    text = expanded(job.source.text, job.source.line, job.source.file) + _EXPORTED
    counting = replace(
        job, source=replace(job.source, text=text), options=replace(job.options, flags=(*job.options.flags, *_FLAGS))
    )
    with slow("tempfile").TemporaryDirectory(prefix="opsdk-") as folder:
        file = Path(folder, f"counted{cc.LIBRARY_SUFFIX}")
        counting.build(file)
        library = opened(counting, counting.interface(), str(file))
        frame = Frame(opdef, kernel, library)
        for values, attrs in calls:
            with suppress(OpsdkError):  # a status, or a dtype that the source has no function for
                frame.run(values, attrs)
        slow("ctypes").CDLL(str(file))[_DUMP]()
        return _read(job, Path(folder))


def expanded(text: str, first: int, file: str) -> str:
    """Returns a C text with macros of several lines written out where they stand alone, each line as the one it is.

    Args:
        text: the source.
        first: the number of its first line in the file.
        file: what the compiler is to call it.
    """
    bodies: dict[str, tuple[list[str], list[str], int]] = {}
    for found in re.finditer(_MACRO, text, re.MULTILINE):
        body = [line.removesuffix("\\").rstrip() for line in found[3].split("\n")]
        if not re.search(r"(?<!#)#(?!#)", found[3]):  # makes no text of what it is given
            names = [name.strip() for name in found[2].split(",")]
            bodies[found[1]] = names, body, first + text.count("\n", 0, found.start())
    made = []
    for number, line in enumerate(text.split("\n"), first):
        alone = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*;?\s*", line)
        macro = bodies.get(alone[1]) if alone else None
        given = [value.strip() for value in alone[2].split(",")] if alone else []
        if macro is None or len(given) != len(macro[0]):
            made.append(line)
            continue
        names, body, at = macro
        values = dict(zip(names, given, strict=True))
        made.append(line_directive(at, file).rstrip("\n"))
        made += [_substituted(each, values) for each in body]
        made.append(line_directive(number + 1, file).rstrip("\n"))
    return "\n".join(made)


def _substituted(line: str, values: Mapping[str, str]) -> str:
    replaced = re.sub(r"\w+", lambda word: values.get(word[0], word[0]), re.sub(r"\s*##\s*", "\0", line))
    return replaced.replace("\0", "")


def _read(job: Job, folder: Path) -> dict[Spot, bool]:
    """Returns which lines have a count, in functions that were entered; of several it is enough that one has."""
    notes = [str(path) for path in folder.glob("*.gcno")]
    done = slow("subprocess").run(
        [_READER, "--json-format", "--stdout", *notes], cwd=folder, capture_output=True, text=True, check=False
    )
    counts: dict[Spot, int] = {}
    for text in done.stdout.splitlines():
        for file in json.loads(text)["files"] if text.startswith("{") else ():
            if Path(file["file"]).parent == _OWN:  # the header is no author's
                continue
            entered = {each["name"] for each in file["functions"] if each["execution_count"]} - {_DUMP}
            lines = [line for line in file["lines"] if line.get("function_name") in entered]
            _check_fits(job, file["file"], max((line["line_number"] for line in lines), default=0))
            for line in lines:
                at = Spot(file["file"], line["line_number"])
                counts[at] = max(counts.get(at, 0), line["count"])
    if not counts:
        said = (done.stderr.strip() or "none").splitlines()[-1]
        raise CompileError(
            f"{job.subject}: expected counts of lines that {_READER} can read, got {said}; use gcc and its own"
        )
    return {at: count > 0 for at, count in sorted(counts.items())}


def _check_fits(job: Job, file: str, last: int) -> None:
    """Checks that a file has the lines that were counted.

    Raises:
        CompileError: it has fewer, as where `#line` names what the code was generated from.
    """
    if file == job.source.file:
        count = job.source.line - 1 + len(job.source.text.splitlines())
    elif Path(file).is_file():
        count = len(Path(file).read_text(encoding="utf-8", errors="replace").splitlines())
    else:
        return
    if last > count:
        raise CompileError(
            f"{job.subject}: expected counts of the {count} lines of {shorten(file)}, got one of line {last}; take out "
            "what numbers lines otherwise, such as #line"
        )
