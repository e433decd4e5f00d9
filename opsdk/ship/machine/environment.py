"""The environment: versions, processor, threads, and what works here, found by trying it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import opsdk
from opsdk.core.fast import state
from opsdk.ship.output.table import wrapped

OK, MISSING, BROKEN = "ok", "missing", "broken"
PACKAGES = ("numpy", "ml_dtypes", "safetensors", "numba", "llvmlite", "cffi", "click", "rich", "jinja2")
OTHERS = ("scikit-learn", "matplotlib", "cupy", "numba-cuda")
FRAMEWORKS = ("torch", "jax", "paddlepaddle", "onnxruntime")
_LISTED = {"packages": PACKAGES, "also": OTHERS, "frameworks": FRAMEWORKS}  # sections of several facts on one line

# Instruction sets that decide how fast a kernel is; the others of a processor say nothing here.
_FEATURES = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512dq", "avx512vl", "avx512_bf16", "asimd", "sve")
_VARIABLES = ("CC", "CFLAGS", "OMP_NUM_THREADS", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES")
_PREFIXES = ("OPSDK_", "NUMBA_")
_COLUMNS = 100  # of the block, wherever it is pasted


@dataclass(frozen=True)
class Fact:
    """One line, or one entry of a line.

    Args:
        name: what it is about.
        text: what was found.
        state: `ok`, `missing`, `broken`, or nothing where it was only read.
        remedy: what to do where it does not work.
        how: by what it was seen to work.
        section: the line that it stands on, with others; its own where empty.
    """

    name: str
    text: str
    state: str = ""
    remedy: str = ""
    how: str = ""
    section: str = ""

    @property
    def short(self) -> str:
        """The fact beside others on a line."""
        return f"{self.name} {self}"

    def __str__(self) -> str:
        said = " ".join(part for part in (self.text, self.state, f"({self.how})" if self.how else "") if part)
        return f"{said} – {self.remedy}" if self.remedy else said


def facts(*, exercise: bool) -> tuple[Fact, ...]:
    """Returns what this machine has; home folders are written `~`.

    Args:
        exercise: also compiles a C program and two loops, writes to the cache folder and launches a CUDA kernel, each
            in a process of its own.
    """
    found = [
        Fact("opsdk", f"{opsdk.__version__} at {home_hidden(str(Path(opsdk.__file__).parent))}"),
        Fact("python", f"{platform.python_version()} {platform.system().lower()} {platform.machine()}"),
        Fact("cpu", f"{cpu_model()}, {cores()} cores"),
        Fact("features", " ".join(cpu_features()) or "unknown"),
        Fact("threads", f"{opsdk.get_flags()['threads'] or cores()} for a kernel of opsdk"),
        fast_path(),
    ]
    found += [_package(section, name) for section, names in _LISTED.items() for name in names]
    found += [Fact("variables", ", ".join(variables()) or "none that matter")]
    if exercise:
        from opsdk.ship.machine import probes  # deferred: its neighbours are asked what works only here

        found += [gradcheck_home(), *probes.tried()]
    return tuple(found)


def fast_path() -> Fact:
    """Returns whether small calls take the fast path, and what to do where they do not."""
    found = state()
    if found == "built":
        return Fact("fast path", "", OK)
    if found == "off":
        return Fact("fast path", "switched off by OPSDK_FAST_PATH=0")
    remedy = "install a C compiler and Python.h, then opsdk again; small calls are slower"
    return Fact("fast path", found, MISSING, remedy)


def rendered(found: Sequence[Fact]) -> str:
    """Returns the facts as a block to paste: a line for each, packages of a section beside each other."""
    lines: dict[str, list[str]] = {}
    for fact in found:
        label, said = (fact.section, fact.short) if fact.section in _LISTED else (fact.name, str(fact))
        lines.setdefault(label, []).append(said)
    longest = max(map(len, lines), default=0) + 2
    blocks = [wrapped(f"{label:<{longest}}", " · ".join(texts), _COLUMNS) for label, texts in lines.items()]
    return "\n".join(line for block in blocks for line in block)


def version_of(package: str) -> str:
    """Returns a distribution's version, or `missing`; nothing is imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return MISSING


def cpu_model() -> str:
    """Returns the processor's name."""
    return _of_processor("model name") or platform.processor() or platform.machine()


def cpu_features() -> tuple[str, ...]:
    """Returns the instruction sets that matter and are there, as the system calls them; nothing where it does not."""
    has = set((_of_processor("flags") or _of_processor("Features")).split())
    return tuple(name for name in _FEATURES if name in has)


def cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def variables() -> list[str]:
    """Returns the environment variables that change what opsdk does, with their values."""
    names = [name for name in sorted(os.environ) if name in _VARIABLES or name.startswith(_PREFIXES)]
    return [f"{name}={home_hidden(os.environ[name])}" for name in names]


def home_hidden(text: str) -> str:
    """Returns a text with the user's home folder as `~`."""
    try:
        home = str(Path.home())
    except RuntimeError:  # there is none
        return text
    if home == "/":
        return text
    return "~" if text == home else text.replace(f"{home}{os.sep}", f"~{os.sep}")


def gradcheck_home() -> Fact:
    """Returns which package `gradcheck` is: the name is a common one, and another of that name hides ours."""
    import gradcheck

    file = Path(gradcheck.__file__ or "").parent
    ours = file.parent == Path(opsdk.__file__).parent.parent
    where = home_hidden(str(file))
    return Fact("gradcheck", where, OK) if ours else Fact("gradcheck", where, BROKEN, "not opsdk's: uninstall that one")


def described() -> str:
    """Returns one line for the head of a report: opsdk, Python, NumPy, Numba, processor."""
    return (
        f"opsdk {opsdk.__version__} · python {platform.python_version()} · numpy {version_of('numpy')} · "
        f"numba {version_of('numba')} · {cpu_model()}, {cores()} cores · {sys.platform}"
    )


def _package(section: str, name: str) -> Fact:
    version = version_of(name)
    if version != MISSING:
        return Fact(name, version, section=section)
    return Fact(name, "", MISSING, f"pip install {name}" if section == "packages" else "", section=section)


def _of_processor(key: str) -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    return ""
