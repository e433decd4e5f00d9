"""Pure renderings of a report: text for people, a dictionary for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gradcheck.report import counted, labelled, tallied, verdict_word
from gradcheck.show.render import portable
from opsdk.define.kernel.kernel import KernelId
from opsdk.verify.report import VerifyReport, notes_of

SCHEMA = 1
# The parts of a finding in the order of a document: what it is about, what is wrong, what to do.
_FINDING = (
    *("id", "op", "row", "check", "message", "at", "sample", "input", "index", "analytic", "numeric", "error_bar"),
    *("cause", "repro", "code", "also", "picture", "help"),
)
# The gravest first: the first that occurs is the verdict of several rows.
VERDICTS = {"fail": "failed", "inconclusive": "inconclusive", "pass": "passed", "skipped": "skipped"}


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
    lines = [f"{'op':<{width}}  {'rows':<20} {'verdict':<13} {'worst rel. error':>16} {'sees down to':>14} {'time':>9}"]
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
    listed = tallied((row.verdict for row in report.rows), VERDICTS) or "no rows"
    rows = counted(len(report.rows), "row")
    missing = ", no backward" if report.lacks_backward else ""
    return f"{verdict_word(report.verdict)}{missing}: {listed} of {rows} in {report.seconds:.2f} s; seed {report.seed}"
