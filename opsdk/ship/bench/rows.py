"""Rows made ready to be timed: which run here, what their first call took, whether they are right."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opsdk.backends.cache.places import cache_folder
from opsdk.backends.cache.store import cache_info
from opsdk.backends.call.arrays import with_mutated
from opsdk.backends.call.available import missing_packages
from opsdk.backends.call.plan import make_plan
from opsdk.backends.cuda.runtime import is_simulated, missing_device
from opsdk.backends.memory.device import memory_at
from opsdk.backends.numba.failure import is_compile_failure
from opsdk.core.errors import DTypeError, KernelNotFoundError, MissingDependencyError
from opsdk.core.place import CPU, Place
from opsdk.define.kernel.kernel import COMPOSITE, REFERENCE, Kernel
from opsdk.define.opdef import OpDef
from opsdk.ship.bench.inputs import placed
from opsdk.ship.bench.result import Measured
from opsdk.ship.bench.right import Truth
from opsdk.ship.bench.timing import Sampler
from opsdk.verify.inputs.calls import Call, each, flat, outputs_of
from opsdk.verify.kernels.rows import serves
from opsdk.verify.session import cannot_run_here

INTERPRETED = (REFERENCE, COMPOSITE)  # languages of which nothing is compiled
_DEVICE = Place("cuda", 0)


@dataclass(frozen=True)
class RowBench:
    """Makes the rows of one call ready.

    Args:
        opdef: the op.
        call: the call that is timed.
        truth: what is right for it.
        seconds: about how long one sample takes.
        is_first: whether nothing of this op has run at another size before.
    """

    opdef: OpDef
    call: Call
    truth: Truth
    seconds: float
    is_first: bool = True

    def ready(self) -> Iterator[tuple[Measured, Sampler | None]]:
        """Yields every row, the reference first, with what times it; None where it is not timed, and says why."""
        reference = self.opdef.kernels.reference()
        rows = sorted(self.opdef.kernels, key=lambda row: row is not reference)
        for row, name in zip(rows, names_of(rows), strict=True):
            absent = self._absence(row)
            if absent:
                yield Measured(name, str(row), note=absent), None
            else:
                yield self._tried(row, name)

    def _absence(self, row: Kernel) -> str:
        """Returns why a row cannot run here; nothing where it can."""
        if row.key.place != "cpu":
            return "simulated, which has no speed" if is_simulated() else missing_device()
        if not serves(self.opdef, row, self.call):
            dtypes = ", ".join(dict.fromkeys(str(array.dtype) for array in flat(self.call.inputs)))
            return f"serves {'floating numbers' if row.key.floating else row.key.dtype}, got {dtypes}"
        missing = missing_packages(row)
        return f"needs {' and '.join(missing)}, not installed" if missing else ""

    def _tried(self, row: Kernel, name: str) -> tuple[Measured, Sampler | None]:
        """Calls a row as a first call goes, with every check."""
        opdef, attrs = self.opdef, dict(self.call.attrs)
        files, started = _built_files(), time.perf_counter()
        try:
            memory: Any = None if row.key.place == "cpu" else memory_at(_DEVICE, opdef.subject)
            bring = placed if memory is None else memory.from_host
            inputs = each(self.call.inputs, bring)
            plan = make_plan(opdef, inputs, attrs, place=CPU if memory is None else _DEVICE, row=row)
            made = outputs_of(opdef, with_mutated(opdef, plan.run_checked(inputs, attrs), inputs))
            made = made if memory is None else each(made, memory.to_host)
        except (MissingDependencyError, KernelNotFoundError) as error:
            return Measured(name, str(row), note=str(error)), None
        except Exception as error:
            is_wrong = not _is_refusal(error)
            note = f"raised {type(error).__name__}: {error}" if is_wrong else str(error)
            return Measured(name, str(row), note=note, is_wrong=is_wrong), None
        first = time.perf_counter() - started
        problem = self.truth.problem(made) if opdef.traits.deterministic else ""
        if problem:
            return Measured(name, str(row), note=problem, is_wrong=True), None
        measured = Measured(name, str(row))
        if row.language not in INTERPRETED and self.is_first:
            measured = Measured(name, str(row), first, "cached" if files == _built_files() else "compiled")
        # What a call changes is put back before each: a decay would end in denormal numbers, which are slow.
        changed = [(inputs[i], bring(self.call.inputs[i])) for i in opdef.schema.mutated_inputs]

        def restore() -> None:
            for held, kept in changed:
                held[...] = kept

        return measured, Sampler(
            lambda: plan.run(inputs, attrs),
            self.seconds,
            prepare=restore if changed else None,
            finish=None if memory is None else memory.module.cuda.runtime.deviceSynchronize,
        )


def _is_refusal(error: Exception) -> bool:
    """Whether the machine is to blame for an error, or Numba, which has no such dtype; and not the row."""
    if isinstance(error, DTypeError):
        return error.__cause__ is not None and is_compile_failure(error.__cause__)
    return cannot_run_here(error)


def names_of(rows: Sequence[Kernel]) -> list[str]:
    """Returns a short name per row: its language, its place where that is not the CPU, its dtype where it has one."""
    names = []
    for row in rows:
        place = [] if row.key.place == "cpu" else [row.key.place]
        names.append(" ".join([row.language, *place, *([row.key.dtype.name] if row.key.dtype is not None else [])]))
    return [name if names.count(name) == 1 else str(row) for name, row in zip(names, rows, strict=True)]


def _built_files() -> int:
    """Returns how many compiled files the cache holds; where it cannot be written, another number each time."""
    folder = cache_folder()
    if folder.is_dir() and not os.access(folder, os.W_OK):
        return time.monotonic_ns()
    return cache_info().files
