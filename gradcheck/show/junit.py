"""Reports as JUnit XML, which build servers show as tests."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradcheck.errors import UsageError
from gradcheck.report import Report, counted, labelled, notes_of
from gradcheck.show.render import require_report

_VALUES = "vjp value"
# Neither as characters nor as references may these occur in XML 1.0.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One test.

    Args:
        name: of the test.
        group: what it belongs to; the class name, in JUnit's words.
        failures: (message, details) of each thing that is wrong.
        skipped: why it could not be judged; None where it could.
    """

    name: str
    group: str
    failures: tuple[tuple[str, str], ...] = ()
    skipped: str | None = None


def render_junit(reports: Mapping[str, Report]) -> str:
    """Writes reports as JUnit XML 1.0.

    Args:
        reports: one report for each subject's name.

    Returns:
        A document with one suite per subject and one test per check that ran. A finding fails its check's test; an
        inconclusive report skips the test of values. Control characters, which XML has no place for, become "?".

    Raises:
        UsageError: `reports` is no mapping, or one of them is no report of gradcheck.
    """
    if not isinstance(reports, Mapping):
        kind = type(reports).__name__
        raise UsageError(f"reports: expected a mapping from names to reports, got {kind}; write {{name: report}}")
    for report in reports.values():
        require_report(report)
    return write_suites([(name, _cases(name, report)) for name, report in reports.items()])


def write_suites(suites: Sequence[tuple[str, Sequence[Case]]]) -> str:
    """Writes tests, in suites with names, as an XML document."""
    root = ET.Element("testsuites")
    for name, cases in suites:
        suite = ET.SubElement(root, "testsuite", {"name": _clean(name), **_counts(cases)})
        for case in cases:
            element = ET.SubElement(suite, "testcase", {"classname": _clean(case.group), "name": _clean(case.name)})
            for message, details in case.failures:
                ET.SubElement(element, "failure", {"message": _clean(message)}).text = _clean(details)
            if case.skipped is not None and not case.failures:
                ET.SubElement(element, "skipped", {"message": _clean(case.skipped)})
    root.attrib.update(_counts([case for _, cases in suites for case in cases]))
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _cases(subject: str, report: Report) -> list[Case]:
    names = dict.fromkeys((*report.coverage.checks, *(finding.check for finding in report.findings)))
    unsure = _unsure(report) if report.verdict == "inconclusive" else None
    if unsure is not None:
        names[_VALUES] = None
    return [
        Case(
            check,
            subject,
            tuple(failure(f.headline, notes_of(f, report)) for f in report.findings if f.check == check),
            unsure if check == _VALUES else None,
        )
        for check in names
    ]


def _unsure(report: Report) -> str:
    coverage = report.coverage
    reasons = [
        f"{counted(count, 'element')}: {reason}" for reason, count in (*coverage.inconclusive, *coverage.skipped)
    ]
    return "; ".join([*reasons, *coverage.notes]) or "nothing could be judged"


def failure(message: str, notes: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Gives what a case says of a finding: its message, and the details below that."""
    return message, "\n".join([message, *labelled(notes, indent="")])


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    counts = {
        "tests": len(cases),
        "failures": sum(bool(case.failures) for case in cases),
        "errors": 0,
        "skipped": sum(case.skipped is not None and not case.failures for case in cases),
    }
    return {name: str(count) for name, count in counts.items()}


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
