"""Reports of `verify`: the frozen outcome, as text for people and as a dictionary for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gradcheck import report as gradchecks
from gradcheck.report import counted, labelled, tallied, verdict_word
from gradcheck.show.render import portable
from opsdk.core.errors import GradcheckError
from opsdk.define.kernel.kernel import ANY, COMPOSITE, REFERENCE, KernelId
from opsdk.verify.level import Level

Verdict = Literal["pass", "fail", "inconclusive", "skipped"]

SCHEMA = 1
# What a kernel does with elements that are no values of the inputs: of an output, or of memory that it asked for.
UNWRITTEN = ("leaves it as the memory was", "reads memory that it asked for and never wrote")
# The parts of a finding in the order of a document: what it is about, what is wrong, what to do.
_FINDING = (
    *("id", "op", "row", "check", "message", "at", "sample", "input", "index", "analytic", "numeric", "error_bar"),
    *("cause", "compare", "repro", "code", "also", "picture", "help"),
)
# The gravest first: the first that occurs is the verdict of several kernels.
VERDICTS = {"fail": "failed", "inconclusive": "inconclusive", "pass": "passed", "skipped": "skipped"}


@dataclass(frozen=True, kw_only=True)
class Finding(gradchecks.Finding):
    """One thing that is wrong with an op: gradcheck's finding, with the kernel that it is about.

    Args:
        id: names the op, the kernel and the check; `opsdk check <id>` runs exactly that again.
        op: qualified name of the op.
        row: place, dtype and language of the kernel, as `cpu,float64,numba`.
        at: file and line of the code concerned.
        sample: the call that shows it.
        compare: what is known of the reference that a kernel was compared with, where that is wrong itself.
        code: stable code of the kind of finding.
        also: where else the same shows.
        help: what to do where the finding tells nothing about how the op is meant to be used.
    """

    id: str
    op: str
    row: str
    at: str = ""
    sample: str = ""
    compare: str = ""
    code: str = "OP301"
    also: str = ""
    help: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the table: a kernel at one dtype.

    Args:
        op: qualified name of the op.
        row: place, dtype and language.
        verdict: of this kernel alone; `skipped` where it cannot run here.
        worst_error: greatest relative error of its values against the reference in float64; None when not compared.
        sees_down_to: smallest relative error of a gradient that would have been seen; None when none was judged.
        seconds: time spent on it.
        note: why it was skipped.
        passed: the checks that ran on it and found nothing.
    """

    op: str
    row: str
    verdict: Verdict
    worst_error: float | None = None
    sees_down_to: float | None = None
    seconds: float = field(default=0.0, compare=False)
    note: str = ""
    passed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coverage:
    """What was looked at, and what was not.

    Args:
        checks: names of the checks that ran.
        samples: the calls they ran on, in words.
        tested: number of gradient elements judged.
        skipped: what was left out, with the reason.
        inconclusive: what could not be judged, with the reason and the remedy.
        notes: declarations that were taken at their word, conventions at kinks.
        warnings: those of the notes that everybody should see, also where the op passes.
        traces: lines that tell how gradcheck judged the worst element of each input, where that was asked for.
    """

    checks: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    tested: int = 0
    skipped: tuple[str, ...] = ()
    inconclusive: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spent:
    """How long one check of an op took, on all samples and kernels.

    Args:
        op: qualified name of the op, or of a gradient op of it.
        check: its name; `value` is also for what runs kernels beside the reference.
        seconds: of time.
    """

    op: str
    check: str
    seconds: float


@dataclass(frozen=True)
class VerifyReport:
    """The outcome of `verify`.

    Args:
        op: qualified name of the op.
        verdict: `fail` when there is a finding; `inconclusive` when there is none but too little could be judged.
        findings: what is wrong, gravest first.
        rows: one entry per kernel and dtype, of the op and of its gradient ops.
        coverage: what was looked at.
        seed: of the run; the same seed gives an equal report.
        seconds: time spent.
        lacks_backward: whether the op could have a gradient and nobody said how; `--strict` counts it as a finding.
        level: how much was looked at: `quick`, `default` or `thorough`.
        spent: how long each check took.
    """

    op: str
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    rows: tuple[Row, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    seed: int = 0
    seconds: float = field(default=0.0, compare=False)
    lacks_backward: bool = False
    level: Level = "default"
    spent: tuple[Spent, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return render_text(self)

    def raise_if_failed(self) -> None:
        """Raises when the verdict is `fail`.

        Raises:
            GradcheckError: its message is that of the gravest finding; the others follow as notes.
        """
        if self.verdict != "fail":
            return
        first, rest = self.findings[0], self.findings[1:]
        error = GradcheckError(first.message, code=first.code, details={"id": first.id, "seed": self.seed})
        gradchecks.annotate(error, notes_of(first, self), [finding.message for finding in rest])
        notes: list[str] = getattr(error, "__notes__")  # noqa: B009 - Python 3.10 has it because attach_note sets it
        notes.append(notes.pop(0))  # the code, which every error notes first, belongs at the end
        raise error


def no_backward(op: str) -> str:
    """Returns the note of an op that could have a gradient and nobody said how."""
    return f"{op}: no backward declared"


def kind_of(check: str) -> str:
    """Returns the kind of check that a finding's `check` is of: `vjp` of `vjp.x`."""
    return check.partition(".")[0]


def notes_of(finding: Finding, report: VerifyReport) -> list[tuple[str, str]]:
    """Returns the labelled lines that follow a finding's first line."""
    passed = [c for row in report.rows if (row.op, row.row) == (finding.op, finding.row) for c in row.passed]
    is_about_numbers = finding.cause or finding.error_bar is not None
    is_alone = not is_reference(finding.row) and _reference_passes(finding, report)
    lines = [
        ("kernel", f"{finding.op}[{finding.row}]"),
        ("pattern", (finding.cause or "none recognised") if is_about_numbers else ""),
        ("compare", finding.compare or ("the reference kernel passes; only this kernel is wrong" if is_alone else "")),
        ("sample", finding.sample),
        ("passed", f"{counted(len(passed), 'other check')}: {', '.join(passed)}" if passed else ""),
        ("also", finding.also),
        ("at", finding.at),
        ("help", finding.help),
        ("rerun", finding.repro),
    ]
    return [(label, text) for label, text in lines if text]


def _reference_passes(finding: Finding, report: VerifyReport) -> bool:
    """Whether the reference did what a finding is about, and did it right; values are compared with its own."""
    same = [other for other in report.findings if (other.op, other.check) == (finding.op, finding.check)]
    if any(is_reference(other.row) for other in same):
        return False
    check = kind_of(finding.check)
    its = [row for row in report.rows if row.op == finding.op and is_reference(row.row)]
    if check == "value":  # it is what it is compared with; right it is where it has the gradient that is its own
        return not any(
            f.op == finding.op and is_reference(f.row) and kind_of(f.check) == "vjp" for f in report.findings
        )
    return any(check in row.passed for row in its)


def is_reference(row: str) -> bool:
    """Whether a kernel, by its name, is the one that the others are compared with."""
    return KernelId.parse(row).language in (REFERENCE, COMPOSITE, ANY)


def render_text(report: VerifyReport) -> str:
    """Returns a report for people, in at most 100 columns where the messages allow.

    Args:
        report: any report.

    Returns:
        A table with one line per op, one block per finding, what was not judged, and a last line of totals.
    """
    lines = _table(report)
    for position, finding in enumerate(report.findings):
        lines += ["", f"FAIL {finding.message}"]
        notes = notes_of(finding, report)
        lines += labelled(note for note in notes if position == 0 or note[0] != "passed")
    coverage = report.coverage
    for label, entries in (("unsure", coverage.inconclusive), ("skipped", coverage.skipped), ("note", coverage.notes)):
        lines += labelled((label, entry) for entry in entries)
    lines += [f"  {line}" for line in coverage.traces]
    return "\n".join([*lines, "", _totals(report)])


# Any: values of JSON.
def to_dict(report: VerifyReport) -> dict[str, Any]:
    """Returns a report for machines: JSON's types only, with the text for people under `rendered`."""
    document = portable(asdict(report))
    document["findings"] = [{name: finding[name] for name in _FINDING} for finding in document["findings"]]
    return {"schema": SCHEMA, **document, "rendered": render_text(report)}


def _table(report: VerifyReport) -> list[str]:
    names = list(dict.fromkeys(row.op for row in report.rows))
    width = max([len(name) for name in names] + [2])
    headings = f"{'kernels':<20} {'verdict':<13} {'worst rel. error':>16} {'sees down to':>14} {'time':>9}"
    lines = [f"{'op':<{width}}  {headings}"]
    for name in names:
        rows = [row for row in report.rows if row.op == name]
        verdict = next(word for word in VERDICTS if any(row.verdict == word for row in rows))
        languages = " ".join(dict.fromkeys(KernelId.parse(row.row).language for row in rows))
        seen = _number([row.sees_down_to for row in rows])
        lines.append(
            f"{name:<{width}}  {languages:<20} {verdict_word(verdict):<13} "
            f"{_number([row.worst_error for row in rows]):>16} {seen:>14} {sum(row.seconds for row in rows):>7.2f} s"
        )
    return lines


def _number(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{max(known):.0e}" if known else "–"


def _totals(report: VerifyReport) -> str:
    listed = tallied((row.verdict for row in report.rows), VERDICTS) or "no kernels"
    rows = counted(len(report.rows), "kernel")
    missing = ", no backward" if report.lacks_backward else ""
    return f"{verdict_word(report.verdict)}{missing}: {listed} of {rows} in {report.seconds:.2f} s; seed {report.seed}"
