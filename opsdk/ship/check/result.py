"""Results of a check: what one op's report and a whole run leave behind, without the ops themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from shlex import quote

from opsdk.define.op import Op
from opsdk.ship.describe.catalog import rows_of
from opsdk.ship.targets.target import Selection
from opsdk.verify.report import Finding, VerifyReport


@dataclass(frozen=True)
class Checked:
    """One op's report, and what readers want to know of the op beside it.

    Args:
        report: its findings have ids and commands that can be pasted back as targets.
        languages: what the op's own kernels are written in.
        origin: where the op is defined.
        target: what names the op in another process.
    """

    report: VerifyReport
    languages: tuple[str, ...] = ()
    origin: str = ""
    target: str = ""

    @classmethod
    def of(cls, report: VerifyReport, op: Op, selection: Selection) -> Checked:
        """Returns the result for an op of a selection; ids and commands name a loose file's op by its file."""
        findings = tuple(_pasteable(finding, selection, report.seed) for finding in report.findings)
        target = selection.paste(op.opdef.name)
        return cls(replace(report, findings=findings), rows_of(op.opdef), str(op.opdef.origin), target)

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`; an op that was only skipped could not be judged."""
        return "inconclusive" if self.report.verdict == "skipped" else self.report.verdict

    @property
    def strict_verdict(self) -> str:
        """The verdict under `--strict`: an op fails that lacks its backward, has a warning, or elements not decided."""
        report = self.report
        is_open = report.lacks_backward or report.coverage.warnings or report.coverage.inconclusive
        return "fail" if is_open else self.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with the op."""
        return self.report.findings


@dataclass(frozen=True)
class Run:
    """All that a run of `opsdk check` found: every report is a rendering of it.

    Args:
        checked: one entry per op, in the order of the targets.
        targets: as typed.
        seed: of every random choice.
        seconds: wall time of all.
        version: of opsdk.
        machine: NumPy and processor, for the first line.
        environment: opsdk, Python, packages and processor in one line.
        facts: what the machine has, as a block of lines.
    """

    checked: tuple[Checked, ...]
    targets: tuple[str, ...] = ()
    seed: int = 0
    seconds: float = field(default=0.0, compare=False)
    version: str = ""
    machine: str = ""
    environment: str = ""
    facts: str = ""


def _pasteable(finding: Finding, selection: Selection, seed: int) -> Finding:
    pasted = finding.id.replace(f"{finding.op}[", f"{selection.paste(finding.op)}[", 1)
    apart = " --jobs 1" if finding.check == "crash" else ""
    return replace(finding, id=pasted, repro=f"opsdk check {quote(pasted)} --seed {seed}{apart}")


def restricted(report: VerifyReport, selection: Selection) -> VerifyReport:
    """Returns a report held to the check of a finding's id; one that names no check is returned as it is."""
    if not selection.check:
        return report
    kept = tuple(finding for finding in report.findings if finding.check == selection.check)
    verdict = "fail" if kept else "pass" if report.verdict == "fail" else report.verdict
    return replace(report, findings=kept, verdict=verdict)
