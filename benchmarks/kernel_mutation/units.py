"""Units: the functions of which kernels of contrib_ops and of the examples consist, in C and in Numba, CUDA's too."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.kernel_mutation import c_tokens
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.op import Op
from opsdk.ship.check.command import judged_ops
from opsdk.ship.targets.target import resolve
from opsdk.verify.run import chain

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLES = "examples/kernels"
LANGUAGES = ("c", "numba", "cuda")
_WORDS_FOR_PEOPLE = frozenset({"opsdk_message"})  # says what a status means


@dataclass(frozen=True)
class Unit:
    """A function of a kernel, or one that kernels call.

    Args:
        file: where it stands, below the repository.
        name: of the function; of a macro in C that holds no function, the macro's.
        language: of the kernels that run it.
        text: of the whole file.
        subjects: the ops that run it, as (target of `opsdk check`, qualified name); those of its own name first.
    """

    file: str
    name: str
    language: str
    text: str = field(repr=False)
    subjects: tuple[tuple[str, str], ...]

    @property
    def family(self) -> str:
        """The folder of contrib_ops, or `examples`."""
        first, second, *_ = self.file.split("/")
        return second if first == "contrib_ops" else first

    @property
    def digest(self) -> str:
        """Of the text: what was found of another one holds no longer."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.language} {self.file}:{self.name}"


@dataclass
class _File:
    """A file with kernels: the ops that run each, and the functions that start them."""

    ops: dict[tuple[str, str], None] = field(default_factory=dict)
    roots: dict[str, None] = field(default_factory=dict)


def units(root: Path = REPOSITORY) -> list[Unit]:
    """Returns all functions of kernels, in the order of their files."""
    files: defaultdict[tuple[str, str], _File] = defaultdict(_File)
    for target, op, kernel in _kernels(root):
        language = "cuda" if kernel.key.place == "cuda" else kernel.language
        path, function = _place(kernel)
        for each in (path, *_headers(path)) if language == "c" else (path,):
            found = files[language, str(each.relative_to(root))]
            found.ops[target, op.opdef.name] = None
            found.roots[function] = None
    made = []
    for (language, file), found in sorted(files.items(), key=lambda item: (item[0][1], item[0][0])):
        text = (root / file).read_text(encoding="utf-8")
        names = c_names(text) if language == "c" else python_names(text, found.roots)
        for name in names:
            subjects = sorted(found.ops, key=lambda subject: not name.startswith(subject[1].rpartition("::")[2]))
            made.append(Unit(file, name, language, text, tuple(subjects)))
    return made


def _kernels(root: Path) -> Iterator[tuple[str, Op, Kernel]]:
    """Yields the target, the op and the kernel of everything that is written in C or Numba."""
    examples = [str(path.relative_to(root)) for path in sorted((root / EXAMPLES).glob("*.py"))]
    for text in ("contrib_ops", *examples):
        for op in judged_ops(resolve(text)):
            target = op.opdef.origin.module if text == "contrib_ops" else text
            for opdef in chain(op.opdef):
                for kernel in opdef.kernels:
                    if kernel.language in ("c", "numba") and not kernel.form and not _is_expression(kernel):
                        yield target, op, kernel


def _is_expression(kernel: Kernel) -> bool:
    """Whether a kernel was made from an expression, which has no text of its own."""
    return not isinstance(kernel.source, str) and not hasattr(_function(kernel.source), "__code__")


# Any: a function of Python, or what Numba made of it.
def _function(source: Any) -> Any:
    return getattr(source, "py_func", source)


def _place(kernel: Kernel) -> tuple[Path, str]:
    """Returns the file of a kernel, and the function that starts it; in C every one that is defined may."""
    if not isinstance(kernel.source, str):
        function = _function(kernel.source)
        return Path(function.__code__.co_filename), function.__name__
    module, colon, name = kernel.source.partition(":")
    if not colon:
        return Path(kernel.source), ""
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None, kernel
    return Path(found.origin), name


def _headers(path: Path) -> list[Path]:
    """Returns the headers of its author's that a C file includes, directly or not, each once."""
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        here = waiting.pop()
        for name in re.findall(r'^#include "(.*)"', here.read_text(encoding="utf-8"), re.MULTILINE):
            header = (here.parent / name).resolve()
            if header not in found:
                found[header] = None
                waiting.append(header)
    return list(found)


def c_names(text: str) -> list[str]:
    """Returns the functions, and the macros without one, of a C text."""
    return [name for name in c_tokens.bodies(text) if name not in _WORDS_FOR_PEOPLE]


def python_names(text: str, roots: Iterable[str]) -> list[str]:
    """Returns the functions of a module that kernels reach, but for those that other functions reach too."""
    tree = ast.parse(text)
    calls = {node.name: _named(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:  # tap_numba = njit(tap)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            calls[node.targets[0].id] = _named(node.value)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    mine = _reached(calls, roots)
    of_host = _reached(calls, [name for name in functions if name not in mine])
    return [name for name in functions if name in mine and (name in roots or name not in of_host)]


def _named(node: ast.AST) -> set[str]:
    """Returns the names that the body of a function uses, and not its decorators."""
    within = node.body if isinstance(node, ast.FunctionDef) else [node]
    return {each.id for part in within for each in ast.walk(part) if isinstance(each, ast.Name)}


def _reached(calls: dict[str, set[str]], roots: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = [name for name in roots if name in calls]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in calls[name] if other in calls]
    return found
