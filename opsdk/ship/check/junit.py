"""The report of `opsdk check` as JUnit XML: a suite per op, a test per row and check."""

from __future__ import annotations

from collections.abc import Sequence

from gradcheck.show.junit import Case, failure, write_suites
from opsdk.ship.check.result import Checked
from opsdk.verify.report import notes_of


def render(checked: Sequence[Checked]) -> str:
    """Returns the document.

    Args:
        checked: one entry per op.
    """
    return write_suites([(one.report.op, _cases(one)) for one in checked])


def _cases(one: Checked) -> list[Case]:
    report = one.report
    cases = [
        Case(finding.check, f"{finding.op}[{finding.row}]", (failure(finding.message, notes_of(finding, report)),))
        for finding in one.findings
    ]
    for row in report.rows:
        group = f"{row.op}[{row.row}]"
        if row.verdict == "skipped":
            cases.append(Case("runs", group, skipped=row.note or "it cannot run here"))
        cases += [Case(check, group) for check in row.passed]
    if one.verdict == "inconclusive":
        reasons = report.coverage.inconclusive or report.coverage.skipped or ("nothing could be judged",)
        cases.append(Case("judged", report.op, skipped="; ".join(reasons)))
    return cases
