"""Session: one op under examination, and what has been found about it so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from gradcheck.report import Trace
from opsdk.backends.call.language import is_usable, language_of
from opsdk.backends.call.lines import Spot
from opsdk.core.errors import AliasError, CompileError, MissingDependencyError, MutationError, OpsdkError
from opsdk.core.origin import shorten
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelId
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.expr.primitives.own import primitive_of
from opsdk.verify.inputs.calls import Call, Invented, flat
from opsdk.verify.inputs.stock import is_ordinary
from opsdk.verify.level import Level
from opsdk.verify.report import Finding, Row, kind_of

_ABSENT = ("OP402", "OP403")  # codes of compile errors where no compiler, or no room, is there
# Kinds of finding that have a code of their own.
_CODES = {"mutation": MutationError.default_code, "alias": AliasError.default_code}


def cannot_run_here(error: Exception) -> bool:
    """Whether this machine is to blame, which lacks a package, a compiler or room for what it makes, and not the op."""
    return isinstance(error, MissingDependencyError) or (isinstance(error, CompileError) and error.code in _ABSENT)


def said(error: Exception) -> str:
    """Returns an exception as messages tell it: its type, and what it says."""
    return f"{type(error).__name__}: {error}"


def target_of(opdef: OpDef) -> str | None:
    """Returns what names an op to `opsdk check`; None where no new process could find it, as one made in a function."""
    origin = opdef.origin
    if origin.module.partition(".")[0] == "opsdk":
        return opdef.name
    module = sys.modules.get(origin.module)
    owner = opdef.gradient_of or opdef.name
    if module is None or not any(owner == _name_of(value) for value in vars(module).values()):
        return None
    is_of_package = "." in origin.module or Path(origin.file).name == "__init__.py"
    if origin.module != "__main__" and is_of_package:
        return f"{origin.module}:{opdef.schema.name}"
    if not origin.file.endswith(".py") or not Path(origin.file).is_file():
        return None
    return f"{shorten(origin.file)}:{opdef.schema.name}"


# Any: what a module holds.
def _name_of(value: Any) -> str:
    """Returns the name of an op, or of a primitive; empty of what is neither."""
    if isinstance(value, Op):
        return value.opdef.name
    primitive = primitive_of(value) if callable(value) else None
    return "" if primitive is None else primitive.full_name


def command(opdef: OpDef, row: str, check: str, seed: int) -> str:
    """Returns the command that shows a finding again in a new process, or nothing."""
    target = target_of(opdef)
    return "" if target is None else f"opsdk check {quote(f'{target}[{row}]::{check}')} --seed {seed}"


def _gravity(trace: Trace) -> tuple[bool, bool]:
    return trace.verdict.startswith("wrong"), trace.verdict.startswith("unsure")


@dataclass
class _Line:
    """A line of the table while it is being filled."""

    worst: float | None = None
    sees: float | None = None
    seconds: float = 0.0
    skipped: str = ""
    checks: dict[str, None] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)


@dataclass
class Session:
    """One op under examination.

    Args:
        opdef: the op.
        calls: what it is tried on.
        seed: of everything random.
        budget: forward calls for one derivative.
        rows: languages or kernel names to look at; all where empty.
        trace: whether gradcheck tells how it judged the worst element of each input.
        met: kinds of calls that were asked of.
        counted: by kernel which of its lines calls reached, where that was counted.
        level: how much of what can be judged is.
    """

    opdef: OpDef
    calls: list[Call]
    seed: int
    budget: int
    rows: Sequence[str] = ()
    trace: bool = False
    level: Level = "default"
    met: set[Hashable] = field(default_factory=set)
    findings: dict[tuple[KernelId, str], Finding] = field(default_factory=dict)
    lines: dict[str, _Line] = field(default_factory=dict)
    settled: list[Finding] = field(default_factory=list)
    table: list[Row] = field(default_factory=list)
    skipped: dict[str, None] = field(default_factory=dict)
    inconclusive: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    traces: dict[tuple[str, str, str], Trace] = field(default_factory=dict)
    doubts: dict[tuple[KernelId, str], dict[Invented, None]] = field(default_factory=dict)
    counted: dict[str, dict[Spot, bool]] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    inner: float = 0.0
    tested: int = 0
    ran: int = 0
    lacks_backward: bool = False
    gives_nan: bool = False

    @property
    def is_quick(self) -> bool:
        """Whether only what a second or so allows is looked at."""
        return self.level == "quick"

    @property
    def thorough(self) -> bool:
        """Whether kernels are also run as a build of theirs that watches itself, which takes seconds."""
        return self.level == "thorough"

    @property
    def has_extremes_alone(self) -> bool:
        """Whether the op takes, of samples that nobody gave, some, and none of ordinary elements."""
        ordinary = [call.declared or is_ordinary(call) or not flat(call.inputs) for call in self.calls]
        return bool(ordinary) and not any(ordinary) and self.opdef.gradient_of is None

    def tell_extremes(self) -> None:
        """Says that what the op takes is no evidence of how it computes."""
        if self.has_extremes_alone:
            taken = ", ".join(dict.fromkeys(call.reason for call in self.calls))
            self.inconclusive[
                f"{self.opdef.name}: it refuses every default sample but these: {taken}; give it samples: "
                f"@{self.opdef.schema.name}.samples"
            ] = None

    def others(self, place: str = "cpu") -> list[Kernel]:
        """Returns an author's kernels beside the reference, of a thorough check those of expressions too."""
        kernels, reference = self.opdef.kernels, self.opdef.kernels.reference()
        wanted = [kernel for kernel in kernels if self.wants(kernel) and not self.races(kernel)]
        here = [kernel for kernel in wanted if kernel is not reference and kernel.key.place == place]
        return [kernels.loaded(k) for k in here if language_of(k).changes_inputs or self._is_derived(k)]

    def _is_derived(self, kernel: Kernel) -> bool:
        """Whether a kernel is compiled from an expression, and looked at here."""
        is_compiled = language_of(kernel).is_derived and kernel.language != REFERENCE
        return self.thorough and is_compiled and kernel.key.place == "cpu" and is_usable(kernel)

    @contextmanager
    def spending(self, check: str) -> Iterator[None]:
        """Counts the time of a `with` block as that of a check; what is another check's inside of it is that one's."""
        start, outer, self.inner = time.perf_counter(), self.inner, 0.0
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.spent[check] = self.spent.get(check, 0.0) + seconds - self.inner
            self.inner = outer + seconds

    def is_new(self, *kind: Hashable) -> bool:
        """Whether this is the first time that it is asked, of whatever kind names."""
        is_first = kind not in self.met
        self.met.add(kind)
        return is_first

    def wants(self, kernel: Kernel) -> bool:
        """Whether a kernel was asked for."""
        return not self.rows or any(map(KernelId.of(kernel, kernel.key.dtype).is_selected, self.rows))

    def case(self, kernel: Kernel, call: Call, dtype: object = None) -> Case:
        """Returns a call on a kernel, which is named at the floating dtype of the call, or at another one."""
        row = str(KernelId.of(kernel, call.float_dtype or dtype))
        return Case(self, row, call, str(kernel.origin), kernel)

    def reference(self, call: Call | None = None, dtype: object = None) -> Case:
        """Returns a call, or all of the op, on the reference; what is found there is of the op as it was written."""
        kernel = self.opdef.kernels.reference() or next(iter(self.opdef.kernels))
        at = "float64" if call is None else call.float_dtype or dtype
        return Case(self, str(KernelId.of(kernel, at)), call, str(self.opdef.origin), kernel)

    def warn(self, text: str) -> None:
        """Records what a reader should see of an op that passes too."""
        self.warnings[text] = self.notes[text] = None

    def drop_doubtful_calls(self) -> None:
        """Leaves out the calls of which a doubt is known: a kernel that fails there would fail every later check."""
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

    def keep_error(self, check: str, error: float) -> None:
        """Records the largest error of a gradient that is held to a declared accuracy, as a share."""
        self.errors[check] = max(self.errors.get(check, 0.0), error)

    def tell_errors(self) -> None:
        """Notes how far gradients are from what they approximate."""
        for check, error in self.errors.items():
            self.notes[
                f"{self.opdef.name}, {check}: declared accurate to {self.opdef.traits.accuracy:g} of the gradient's "
                f"largest element, the largest error met is {error:.1e}"
            ] = None

    @property
    def is_judged(self) -> bool:
        """Whether its kernels run on its calls as they should, so that there is something to judge."""
        return not self.has("samples", "runs", "bounds", "mutation", "alias", "infer")

    def races(self, kernel: Kernel) -> bool:
        """Whether threads of a kernel meet, so that its numbers are other ones at times."""
        return (KernelId.of(kernel, None).at_any_dtype, "race") in self.findings

    def has(self, *checks: str) -> bool:
        """Whether a finding of one of some kinds of check is there."""
        return any(kind_of(finding.check) in checks for finding in self.findings.values())

    def trace_lines(self) -> Iterator[str]:
        """Yields the lines that tell how gradcheck judged the elements that were kept."""
        for (row, check, _), trace in self.traces.items():
            first, *steps = trace.lines()
            yield f"trace    {self.opdef.name}[{row}] {check}, {first}"
            yield from (f"         {line}" for line in steps)


@dataclass(frozen=True)
class Case:
    """A call on a kernel: what a check looks at, and what the findings are of.

    Args:
        session: of the op.
        row: the name of the kernel at a dtype, as `cpu,float64,numba`.
        call: the call; None where all of the op is meant.
        at: file and line of the code that runs.
        kernel: what runs.
    """

    session: Session
    row: str
    call: Any  # Any: a Call, which whoever takes one knows to be there, or None
    at: str
    kernel: Kernel

    @property
    def opdef(self) -> OpDef:
        """The op."""
        return self.session.opdef

    @property
    def line(self) -> _Line:
        """The line of the table."""
        return self.session.lines.setdefault(self.row, _Line())

    @contextmanager
    def timed(self, check: str) -> Iterator[None]:
        """Adds the time of a `with` block to the line, and to that of a check."""
        line, start = self.line, time.perf_counter()
        try:
            with self.session.spending(check):
                yield
        finally:
            line.seconds += time.perf_counter() - start

    def did(self, *checks: str) -> None:
        """Records that checks ran; one of which there is a finding has not passed all the same."""
        if self.row in self.session.lines:  # one that nobody asked for has none
            self.line.checks.update(dict.fromkeys(checks))

    def keep_traces(self, check: str, traces: Sequence[Trace]) -> None:
        """Keeps one trace for each input of a kernel and check: of several calls a wrong one, or else an unsure one."""
        kept = self.session.traces
        for trace in traces:
            key = self.row, check, trace.element.partition("[")[0]
            if key not in kept or _gravity(trace) > _gravity(kept[key]):
                kept[key] = trace

    # Any: the other fields of a finding.
    def find(self, check: str, message: str, **fields: Any) -> None:
        """Records a finding; a later call, or another dtype, that shows the same fault of a kernel again adds nothing.

        What showed in float32 first is told in the dtype that shows it too, where no overflow can be the reason.
        What shows only at an attribute value of a sign that nobody named is a doubt and no finding.
        """
        session, name = self.session, self.opdef.name
        key = KernelId.parse(self.row).at_any_dtype, check
        invented = None if self.call is None else self.call.invented
        if invented is not None:
            if invented.is_far:
                session.doubts.setdefault(key, {})[invented] = None
                return
            fields["help"] = (
                f"{invented} was tried by verify, the default is {invented.default!r}: where it is not meant to be "
                f"given, {invented.remedies}"
            )
        self.line.wrong.add(kind_of(check))
        if key not in session.findings or self._shows_more(session.findings[key]):
            session.findings[key] = Finding(
                id=f"{name}[{self.row}]::{check}",
                op=name,
                row=self.row,
                check=check,
                message=message,
                sample="" if self.call is None else str(self.call),
                repro=command(self.opdef, self.row, check, session.seed),
                **{"at": self.at, "code": _CODES.get(kind_of(check), "OP301"), **fields},
            )

    def _shows_more(self, known: Finding) -> bool:
        """Whether this kernel's dtype tells more of a wrong number than the one that a finding was made in."""
        dtypes = [KernelId.parse(row).dtype for row in (known.row, self.row)]
        return kind_of(known.check) in ("value", "vjp") and dtypes == ["float32", "float64"]

    # Any: as for `find`.
    def find_raised(self, check: str, message: str, error: Exception, **fields: Any) -> None:
        """Records an exception as a finding, under its own code where it has one; what this machine lacks is none."""
        if cannot_run_here(error):
            self.skip(error)
            return
        code = {"code": error.code} if isinstance(error, OpsdkError) else {}
        self.find(check, message, **code, **fields)

    def skip(self, reason: object) -> None:
        """Records that a kernel cannot run here."""
        self.line.skipped = str(reason)
        self.session.skipped[f"{self.opdef.name}[{self.row}]: {reason}"] = None
