"""C kernels under sanitizers: recorded calls, made again by a program that the compiler wrote its checks into.

The program is the source of the kernel beside replay.c, which reads the calls; no Python is in it. What it says on
standard error is read back: which call it was, on which line of the source, what happened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from struct import pack
from typing import Any

from opsdk.backends.c import compiler as cc
from opsdk.backends.c.job import Job
from opsdk.backends.c.library import library_of
from opsdk.backends.c.recording import recorded
from opsdk.backends.c.reports import faults_of
from opsdk.backends.c.signature import MESSAGE, parameters, size_symbols
from opsdk.backends.c.source import HEADER
from opsdk.backends.cache.store import cached, cached_bytes
from opsdk.backends.call.language import Fault, NotWatchedError
from opsdk.core.errors import CompileError, OpsdkError
from opsdk.core.lazy import slow
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_FLAGS = ("-g", "-O0", "-fno-omit-frame-pointer")  # what nobody reads would not be written otherwise
_LONGEST = 120.0  # seconds; a kernel takes milliseconds, and some ten times as long when it is watched
_OPTIONS = {
    # Leaks are not looked for: that traces the program, which a container may not be allowed to.
    "ASAN_OPTIONS": "detect_leaks=0:exitcode=98:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=0",
    "TSAN_OPTIONS": "exitcode=0",
}
_NAME = r"[A-Za-z_]\w*"
_REMEDY = "install GCC or Clang with it, or name one in OPSDK_CC"
_PROBE = "int main(void) { return 0; }\n"

_END = "opsdk: end"  # what replay.c says last


def sanitized(opdef: OpDef, kernel: Kernel, calls: Sequence[tuple[Sequence[Any], dict[str, Any]]]) -> Iterator[Fault]:
    """Yields what sanitizers find of a kernel at calls: that of addresses stops at the first; of OpenMP threads too.

    Args:
        opdef: the op.
        kernel: a C kernel of it, which has served each of the calls.
        calls: inputs and attributes of each.

    Raises:
        NotWatchedError: the compiler has no sanitizers, or the kernel cannot be built or run with them.
    """
    job = Job.of(opdef, kernel)
    numbers: list[int] = []
    written: list[bytes] = []
    # All that there are, so that the program is one whichever are called: a check watches its calls in several parts.
    functions = {name: i for i, name in enumerate(name for name in job.functions if name != MESSAGE)}
    for number, (inputs, attrs) in enumerate(calls):
        try:
            made = recorded(opdef, kernel, inputs, attrs)
        except OpsdkError:  # it refuses the call, which is told where it runs
            continue
        for name, arguments in made:
            written.append(pack("<q", functions[name]) + arguments)
            numbers.append(number)
    if not written:
        return
    declared = (f"{line};" for line in job.declarations)
    caller = "\n".join([_text("replay.c"), *declared, *_calling(opdef, job, functions)])
    given = pack("<q", len(written)) + b"".join(written)
    for watch in (MEMORY, THREADS) if job.options.uses_openmp else (MEMORY,):
        told, status = _run(_program(job, caller, watch), given)
        is_ended = _END in told
        for fault in faults_of(told):
            is_ended = is_ended or fault.kind == "bounds"
            yield replace(fault, call=numbers[fault.call])
        if not is_ended:
            said = next((line for line in reversed(told.splitlines()) if line and not line.startswith("opsdk: ")), "")
            raise NotWatchedError(
                f"the program that {watch.name} watches ended with status {status}{f', {said}' if said else ''}"
            )


@dataclass(frozen=True)
class Watch:
    """Sanitizers, and how a program is built with them.

    Attributes:
        name: which they are.
        flags: for the compiler.
        sources: what is built into the program beside the kernel.
        is_threaded: whether the sources have OpenMP themselves, so that the compiler's is left out.
    """

    name: str
    flags: tuple[str, ...]
    sources: tuple[str, ...] = ()
    is_threaded: bool = False


MEMORY = Watch("AddressSanitizer", ("-fsanitize=address,undefined",))
THREADS = Watch("ThreadSanitizer", ("-fsanitize=thread",), ("threads.c",), is_threaded=True)


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _program(job: Job, caller: str, watch: Watch) -> bytes:
    """Returns the program that makes calls of a kernel.

    Raises:
        NotWatchedError: it cannot be built.
    """
    compiler = job.compiler
    key = "\n".join(["sanitizers", compiler.identity, *watch.flags])
    missing = cached_bytes("c", key, ".missing", lambda: _missing(compiler, watch.flags))
    if missing:
        raise NotWatchedError(f"{compiler.command[0]} has no {watch.name} ({missing.decode()}); {_REMEDY}")
    sources = [caller, *map(_text, watch.sources)]

    def build(path: Path) -> None:
        complaint = _built(job, sources, watch, path)
        if complaint is not None:
            cc.expect_room(complaint, path)
            raise cc.failure(job.subject, complaint)

    try:
        key = "\0".join([job.whole_key, *_FLAGS, *watch.flags, *sources])
        return cached("c", key, ".sanitized", build).read_bytes()
    except CompileError as error:
        raise NotWatchedError(f"it cannot be built with {watch.name}, {error}") from error


def _built(job: Job, sources: Sequence[str], watch: Watch, path: Path) -> cc.Complaint | None:
    """Builds a program of a kernel and of sources of ours; returns what the compiler complains of."""
    with slow("tempfile").TemporaryDirectory(prefix="opsdk-") as folder:
        kernel, flags = f"{folder}/kernel.o", [*_FLAGS, *watch.flags]
        own = [word for word in job.arguments if word not in ("-shared", "-fPIC")]
        _, complaint = cc.run(job.compiler, [*own, *flags, "-c", "-o", kernel, "-"], job.source.unit)
        if complaint is not None:
            return complaint
        files = [Path(folder, f"source{i}.c") for i in range(len(sources))]
        for file, text in zip(files, sources, strict=True):
            file.write_text(text, encoding="utf-8")
        openmp = ["-fopenmp"] if job.options.uses_openmp and not watch.is_threaded else []
        libraries = [word for word in job.last if word not in cc.LINKED or word == "-lm"]
        command = [
            "-std=c11",
            "-D_GNU_SOURCE",
            "-include",
            str(HEADER),
            *flags,
            *openmp,
            "-o",
            str(path),
            *map(str, files),
        ]
        return cc.run(job.compiler, [*command, "-x", "none", kernel, *libraries, "-pthread"], "")[1]


def _missing(compiler: cc.Compiler, flags: Sequence[str]) -> bytes:
    """Returns what a compiler says that cannot build with flags; nothing of one that can."""
    with slow("tempfile").TemporaryDirectory(prefix="opsdk-") as folder:
        _, complaint = cc.run(compiler, [*flags, "-o", f"{folder}/probe", "-"], _PROBE)
    return b"" if complaint is None else complaint.text.encode()


def _calling(opdef: OpDef, job: Job, functions: Iterable[str]) -> Iterator[str]:
    """Yields the lines of C that read the arguments of functions and call them."""
    library = library_of(opdef, job.kernel)
    sizes = size_symbols(opdef.schema, job.options.decides).values()
    yield "static void opsdk_call(int64_t function) {"
    yield "  switch (function) {"
    for number, function in enumerate(functions):
        declared = parameters(opdef.schema, job.options.decides, fills=function not in sizes)
        kinds = library.ffi.typeof(getattr(library.lib, function)).args
        yield f"    case {number}: {{"
        given = []
        for i, (kind, text) in enumerate(zip(kinds, declared, strict=True)):
            given.append(f"(void *)v{i}" if kind.kind == "pointer" else f"v{i}")
            name = re.findall(_NAME, text)[-1]
            yield f"      {_reading(kind, f'v{i}', name)}"
        yield f"      {function}({', '.join(given)});"
        yield "      break;"
        yield "    }"
    yield "  }"
    yield "}"


def _reading(kind: Any, variable: str, name: str) -> str:  # Any: a type of cffi
    """Returns C that reads an argument."""
    if kind.kind != "pointer":
        return f"{kind.cname} {variable}; opsdk_read(&{variable}, sizeof {variable});"
    if "DLTensor" in kind.cname:
        if kind.item.kind == "pointer":
            return f'DLTensor **{variable} = opsdk_tensors("{name}");'
        return f'DLTensor *{variable} = opsdk_tensor("{name}", 0);'
    return f"void *{variable} = {'opsdk_texts' if kind.item.kind == 'pointer' else 'opsdk_block'}();"


def _run(program: bytes, calls: bytes) -> tuple[str, int]:
    """Returns what a program says that makes calls, and its status.

    Raises:
        NotWatchedError: it takes too long, or cannot be run.
    """
    subprocess = slow("subprocess")
    with slow("tempfile").TemporaryDirectory(prefix="opsdk-") as folder:
        path, given = Path(folder, "replay"), Path(folder, "calls")
        path.write_bytes(program)
        given.write_bytes(calls)
        path.chmod(0o700)
        try:
            done = subprocess.run(
                [str(path), str(given)],
                capture_output=True,
                check=False,
                timeout=_LONGEST,
                env={**os.environ, **_OPTIONS},
            )
        except subprocess.TimeoutExpired as error:
            raise NotWatchedError(f"the program takes more than {_LONGEST:g} s") from error
        except OSError as error:
            raise NotWatchedError(f"the program does not run, {error}") from error
    return done.stderr.decode("utf-8", errors="replace"), done.returncode
