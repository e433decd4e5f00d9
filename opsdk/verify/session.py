"""Session: one op under examination, and what has been found about it so far."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.report import Trace
from opsdk.core.errors import AliasError, CompileError, MissingDependencyError, MutationError, OpsdkError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.kernel_id import KernelId
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, Invented
from opsdk.verify.kernels.launch import label
from opsdk.verify.report import Coverage, Finding, Row, Verdict
from opsdk.verify.rerun import command

_ABSENT = ("OP402", "OP403")  # codes of compile errors where no compiler, or no room, is there
# Kinds of finding that have a code of their own.
_CODES = {"mutation": MutationError.default_code, "alias": AliasError.default_code}


def cannot_run_here(error: Exception) -> bool:
    """Whether this machine is to blame, which lacks a package, a compiler or room for what it makes, and not the op."""
    return isinstance(error, MissingDependencyError) or (isinstance(error, CompileError) and error.code in _ABSENT)


def _gravity(trace: Trace) -> tuple[bool, bool]:
    return trace.verdict.startswith("wrong"), trace.verdict.startswith("unsure")


@dataclass
class _Line:
    """A line of the table while it is being filled."""

    worst: float | None = None
    sees: float | None = None
    seconds: float = 0.0
    failed: bool = False
    skipped: str = ""
    checks: dict[str, None] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)

    def frozen(self, op: str, row: str) -> Row:
        """Returns the line of a report."""
        verdict: Verdict = "fail" if self.failed else "skipped" if self.skipped and not self.checks else "pass"
        passed = tuple(check for check in self.checks if check not in self.wrong)
        return Row(op, row, verdict, self.worst, self.sees, self.seconds, self.skipped, passed)


@dataclass
class Session:
    """One op under examination.

    Args:
        opdef: the op.
        calls: what it is tried on.
        seed: of everything random.
        budget: forward calls for one derivative.
        rows: languages or row names to look at; all where empty.
        trace: whether gradcheck tells how it judged the worst element of each input.
    """

    opdef: OpDef
    calls: list[Call]
    seed: int
    budget: int
    rows: Sequence[str] = ()
    trace: bool = False
    findings: dict[tuple[KernelId, str], Finding] = field(default_factory=dict)
    lines: dict[str, _Line] = field(default_factory=dict)
    skipped: dict[str, None] = field(default_factory=dict)
    inconclusive: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    traces: dict[tuple[str, str, str], Trace] = field(default_factory=dict)
    doubts: dict[tuple[KernelId, str], dict[Invented, None]] = field(default_factory=dict)
    tested: int = 0
    ran: int = 0
    lacks_backward: bool = False
    gives_nan: bool = False

    def wants(self, kernel: Kernel) -> bool:
        """Whether a row was asked for."""
        return not self.rows or any(map(KernelId.of(kernel, kernel.key.dtype).is_selected, self.rows))

    def line(self, row: str) -> _Line:
        """Returns the table line of a row."""
        return self.lines.setdefault(row, _Line())

    @contextmanager
    def timed(self, row: str) -> Iterator[_Line]:
        """Adds the time of a `with` block to a row."""
        line = self.line(row)
        start = time.perf_counter()
        try:
            yield line
        finally:
            line.seconds += time.perf_counter() - start

    def did(self, row: str, *checks: str) -> None:
        """Records that checks ran on a row; one of which there is a finding has not passed all the same."""
        if row in self.lines:  # one that nobody asked for has none
            self.lines[row].checks.update(dict.fromkeys(checks))

    def warn(self, text: str) -> None:
        """Records what a reader should see of an op that passes too."""
        self.warnings[text] = self.notes[text] = None

    def keep_traces(self, row: str, check: str, traces: Sequence[Trace]) -> None:
        """Keeps one trace for each input of a row and check: of several calls a wrong one, or else an unsure one."""
        for trace in traces:
            key = row, check, trace.element.partition("[")[0]
            if key not in self.traces or _gravity(trace) > _gravity(self.traces[key]):
                self.traces[key] = trace

    # Any: the other fields of a finding.
    def find(self, row: str, check: str, message: str, call: Call | None = None, **fields: Any) -> None:
        """Records a finding; a later call, or another dtype, that shows the same fault of a row again adds nothing.

        What shows only at an attribute value of a sign that nobody named is a doubt and no finding.
        """
        name = self.opdef.name
        identity = f"{name}[{row}]::{check}"
        kernel = KernelId.parse(row).at_any_dtype
        invented = None if call is None else call.invented
        if invented is not None:
            if invented.is_far:
                self.doubts.setdefault((kernel, check), {})[invented] = None
                return
            fields["help"] = (
                f"{invented} was tried by verify, the default is {invented.default!r}: where it is not meant to be "
                f"given, {invented.remedies}"
            )
        self.line(row).failed = True
        self.line(row).wrong.add(check.partition(".")[0])
        if (kernel, check) not in self.findings:
            self.findings[kernel, check] = Finding(
                id=identity,
                op=name,
                row=row,
                check=check,
                message=message,
                sample="" if call is None else str(call),
                repro=command(self.opdef, row, check, self.seed),
                **{"at": str(self.opdef.origin), "code": _CODES.get(check.partition(".")[0], "OP301"), **fields},
            )

    def drop_doubtful_calls(self) -> None:
        """Leaves out the calls of which a doubt is known: a row that fails there would fail every later check."""
        doubtful = {invented for each in self.doubts.values() for invented in each}
        self.calls = [call for call in self.calls if call.invented not in doubtful]

    def tell_doubts(self) -> None:
        """Warns of the doubts; one that is a finding at other calls too is told by that."""
        for key, doubtful in self.doubts.items():
            for each in doubtful if key not in self.findings else ():
                self.warn(
                    f"{self.opdef.name} is wrong at {each}, which was tried although the default is {each.default!r}: "
                    f"{each.remedies}"
                )

    # Any: as for `find`.
    def find_raised(
        self, row: str, check: str, message: str, error: Exception, call: Call | None = None, **fields: Any
    ) -> None:
        """Records an exception as a finding, under its own code where it has one; what this machine lacks is none."""
        if cannot_run_here(error):
            self.skip(row, error)
            return
        code = {"code": error.code} if isinstance(error, OpsdkError) else {}
        self.find(row, check, message, call, **code, **fields)

    def skip(self, row: str, error: Exception) -> None:
        """Records that a row cannot run here."""
        self.line(row).skipped = str(error)
        self.skipped[f"{self.opdef.name}[{row}]: {error}"] = None

    def has(self, *checks: str) -> bool:
        """Whether a finding of one of some kinds of check is there."""
        return any(finding.check.partition(".")[0] in checks for finding in self.findings.values())

    def reference_row(self, dtype: np.dtype[Any] | None) -> str:
        """Returns the name of the reference row at a dtype."""
        reference = self.opdef.kernels.reference() or next(iter(self.opdef.kernels))
        return label(reference, dtype)

    def table(self) -> tuple[Row, ...]:
        """Returns the lines, frozen."""
        return tuple(line.frozen(self.opdef.name, row) for row, line in self.lines.items())

    def coverage(self) -> Coverage:
        """Returns what was looked at, frozen."""
        return Coverage(
            tuple(dict.fromkeys(check for line in self.lines.values() for check in line.checks)),
            tuple(map(str, self.calls)),
            self.tested,
            tuple(self.skipped),
            tuple(self.inconclusive),
            tuple(self.notes),
            tuple(self.warnings),
            tuple(self._trace_lines()),
        )

    def _trace_lines(self) -> Iterator[str]:
        for (row, check, _), trace in self.traces.items():
            first, *steps = trace.lines()
            yield f"trace    {self.opdef.name}[{row}] {check}, {first}"
            yield from (f"         {line}" for line in steps)
