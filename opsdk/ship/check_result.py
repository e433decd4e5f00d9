"""Results of a check: an op's report, with ids that can be pasted back as targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from opsdk.define.op import Op
from opsdk.ship.target import Selection

if TYPE_CHECKING:
    from opsdk.verify.report import Finding, VerifyReport


@dataclass(frozen=True)
class Checked:
    """One op's report, and the target that led to it."""

    report: VerifyReport
    op: Op
    selection: Selection

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`; an op that was only skipped could not be judged."""
        return "inconclusive" if self.report.verdict == "skipped" else self.report.verdict

    @property
    def strict_verdict(self) -> str:
        """The verdict under `--strict`: an op that lacks its backward, or of which a reader is warned, fails."""
        return "fail" if self.report.lacks_backward or self.report.coverage.warnings else self.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, with ids and commands that name a loose file's op by its file."""
        return tuple(self._pasteable(finding) for finding in self.report.findings)

    # Any: values of JSON.
    def as_dict(self) -> dict[str, Any]:
        """Returns the report for machines."""
        from opsdk.verify.render import to_dict

        return to_dict(replace(self.report, findings=self.findings))

    def _pasteable(self, finding: Finding) -> Finding:
        name = self.selection.paste(finding.op)
        pasted = finding.id.replace(f"{finding.op}[", f"{name}[", 1)
        apart = " --jobs 1" if finding.check == "crash" else ""
        return replace(
            finding,
            id=pasted,
            repro=f"opsdk check '{pasted}' --seed {self.report.seed}{apart}",
        )


def restricted(report: VerifyReport, selection: Selection) -> VerifyReport:
    """Returns a report held to the check of a finding's id; one that names no check is returned as it is."""
    if not selection.check:
        return report
    kept = tuple(finding for finding in report.findings if finding.check == selection.check)
    verdict = "fail" if kept else "pass" if report.verdict == "fail" else report.verdict
    return replace(report, findings=kept, verdict=verdict)
