"""The work of `opsdk build`: compile the C kernels of a target before anybody calls them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from opsdk.backends.c.job import Job
from opsdk.backends.c.prebuilt import build_ahead, place_of, remove_outdated
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.core.lazy import optional
from opsdk.core.origin import shorten
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.op import REGISTRY, Op
from opsdk.define.opdef import OpDef
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.terminal import narrate, narrate_error
from opsdk.ship.targets.loading import is_module, load_module
from opsdk.ship.targets.target import resolve

Row = tuple[OpDef, Kernel]  # a C kernel after the op that it is of


def run_build(text: str, out: Path | None) -> Exit:
    """Builds the C kernels of a target, and prints the path of each library.

    Args:
        text: the target as typed.
        out: where the libraries are put, each in its package's folder; beside the sources unless given.

    Returns:
        The exit status. A kernel that does not compile is told, and the others are built all the same.

    Raises:
        TargetError: the target names nothing, or the folder cannot be written.
        BrokenDefinitionError: a file or module cannot be loaded.
        CompileError: there is no C compiler.
    """
    chosen = {op.opdef.name for op in resolve(text).ops}
    # Of ops and of their gradients, as far as these are registered.
    rows = [row for op in REGISTRY if chosen & {_forward(op), op.opdef.name} for row in _c_rows(op)]
    if all(part.isidentifier() for part in text.split(".")) and is_module(text):
        rows += _of_module(text)
    if not rows:
        narrate(f"nothing to build: {text} has no C kernel; a kernel is op.kernel('cpu', language='c', source=...)")
        return Exit.NOTHING
    return build(dict.fromkeys(rows), out)


def build_modules(modules: Sequence[str]) -> Exit:
    """Builds the C kernels that modules register, beside their sources; what `setup.py` runs.

    Raises:
        CompileError, BrokenDefinitionError, TargetError: see `run_build`.
        ModuleNotFoundError: there is no such module.
    """
    for module in modules:
        load_module(module)
    rows = list(dict.fromkeys(row for module in modules for row in _of_module(module)))
    if not rows:
        narrate(
            f"{', '.join(modules)}: expected C kernels to build, got none; leave distclass= out of setup.py, "
            "so that the wheel is for every platform"
        )
        return Exit.NOTHING
    return build(rows, None)


def build(rows: Iterable[Row], out: Path | None) -> Exit:
    """Builds kernels and prints the path of each library.

    Raises:
        CompileError: there is no C compiler.
        TargetError: the folder cannot be written.
    """
    optional("cffi", extra="c", subject="building C kernels")
    built: list[Path] = []
    failed = 0
    tried: set[Path] = set()  # kernels of one source, for several dtypes, have one library
    for opdef, kernel in rows:
        try:
            job = Job.of(opdef, kernel)
            _ = job.compiler  # without one, no kernel is told to be wrong
            made = place_of(job, out)
            if made in tried:
                continue
            tried.add(made)
            build_ahead(job, made)
        except OpsdkError as error:
            if error.code == "OP402":
                raise
            narrate_error(error)
            failed += 1
        except OSError as error:
            where = error.filename or out
            raise TargetError(f"{where}: expected a folder that can be written, got: {error.strerror}") from error
        else:
            built.append(made)
            print(shorten(str(made)))
    if not failed:
        remove_outdated(built)
        return Exit.PASS
    narrate(f"{failed} not built, {len(built)} built")
    return Exit.FINDING


def main() -> None:
    """Builds the modules that are given as arguments; `opsdk.ship.wheel` runs it in a process of its own."""
    try:
        sys.exit(build_modules(sys.argv[1:]))
    except (OpsdkError, ModuleNotFoundError) as error:
        narrate_error(error)
        sys.exit(Exit.USAGE)


def _of_module(name: str) -> list[Row]:
    """Returns the C kernels that a module, or one below it, registers: those of other packages' ops count."""
    rows = [row for op in REGISTRY for row in _c_rows(op)]
    return [(opdef, kernel) for opdef, kernel in rows if f"{kernel.origin.module}.".startswith(f"{name}.")]


def _c_rows(op: Op) -> list[Row]:
    return [(op.opdef, kernel) for kernel in op.opdef.kernels if kernel.language == "c"]


def _forward(op: Op) -> str:
    """Returns the name of the op that an op is a gradient of, of whatever order."""
    opdef = op.opdef
    while opdef.gradient_of is not None:
        forward = REGISTRY.get(opdef.gradient_of)
        if forward is None:
            break
        opdef = forward.opdef
    return opdef.name
