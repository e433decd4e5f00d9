"""Pure renderings of a report: text for people, JSON for machines."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from gradcheck.errors import UsageError
from gradcheck.report import Coverage, Report, counted, labelled, notes_of, verdict_word

SCHEMA = 1


def render_text(report: Report) -> str:
    """Writes a report for people.

    Args:
        report: any report.

    Returns:
        Lines without trailing newline. The first line is the verdict; each finding's first line is complete alone;
        then what was skipped or inconclusive, kinks, notes, and the traces of elements where they were asked for.

    Raises:
        UsageError: it is no report of gradcheck.
    """
    require_report(report)
    coverage = report.coverage
    lines = [f"{verdict_word(report.verdict)}  {_totals(report)}"]
    for finding in report.findings:
        lines.append(f"{finding.check}: {finding.headline}")
        lines += labelled(notes_of(finding, report))
    lines += labelled(left_out(coverage))
    for trace in report.trace:
        first, *steps = trace.lines()
        lines += [f"  trace    {first}", *(f"  {line}" for line in steps)]
    return "\n".join(lines)


def left_out(coverage: Coverage) -> list[tuple[str, str]]:
    """Gives the labelled lines about what was not judged, or not as exact, conventions and limits."""
    lines = [
        (label, f"{counted(count, 'element')}: {reason}")
        for label, counts in (("skipped", coverage.skipped), ("unsure", coverage.inconclusive))
        for reason, count in counts
    ]
    if coverage.accuracy:
        bound = f"errors up to {coverage.accuracy:g} of the gradient's largest element are declared"
        lines.append(("accuracy", f"{bound}, the largest met is {coverage.largest_error:.1e}"))
    return [*lines, *(("kink", kink) for kink in coverage.kinks), *(("note", note) for note in coverage.notes)]


def to_json(report: Report) -> str:
    """Writes a report for machines.

    Args:
        report: any report.

    Returns:
        A JSON object with `schema`, `verdict`, `seed`, `findings`, `coverage` and `rendered` (the text for people).
        Numbers that JSON has no word for become the strings "nan", "inf" and "-inf".

    Raises:
        UsageError: it is no report of gradcheck.
    """
    require_report(report)
    document = {"schema": SCHEMA, **asdict(report), "rendered": render_text(report)}
    return json.dumps(portable(document), allow_nan=False, sort_keys=True)


def require_report(report: object) -> None:
    """Refuses what is no report of this package, such as one of opsdk.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(report, Report):
        raise UsageError(
            f"report: expected a gradcheck.Report, got {type(report).__name__}; pass what gradcheck.check returned, "
            "and write another package's report with that package"
        )


def _totals(report: Report) -> str:
    coverage = report.coverage
    text = f"{counted(len(report.findings), 'finding')}, {counted(coverage.tested, 'element')} judged"
    text += f" at {counted(len(coverage.points), 'point')}"
    if coverage.skipped_count:
        text += f", {coverage.skipped_count} skipped"
    if coverage.inconclusive_count:
        text += f", {coverage.inconclusive_count} inconclusive"
    if math.isfinite(coverage.smallest_error_seen):
        text += f"; sees down to {coverage.smallest_error_seen:.0e}"
    return f"{text}; seed {report.seed}"


# Any: values of JSON.
def portable(value: Any) -> Any:
    """Gives a value of which numbers that JSON has no word for have become strings, and tuples lists."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(item) for item in value]
    return value
