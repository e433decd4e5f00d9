"""JUnit XML: suites, tests, failures, and text that XML cannot hold."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from gradcheck import Coverage, Finding, Report, UsageError, check, render_junit
from gradcheck.show.junit import Case, write_suites

RIGHT = Report("pass", coverage=Coverage(checks=("mutation", "vjp value"), tested=3))
WRONG = Report(
    "fail",
    (Finding("vjp value", "gradient of 'x': wrong", "x", cause="a sign", repro="rerun()"),),
    Coverage(checks=("mutation", "vjp value")),
)
UNSURE = Report("inconclusive", coverage=Coverage(checks=("mutation", "vjp value"), inconclusive=(("too wide", 4),)))


def parsed(text: str) -> ET.Element:
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    return ET.fromstring(text.encode())


def test_a_subject_is_a_suite_and_a_check_a_test() -> None:
    root = parsed(render_junit({"good": RIGHT, "bad": WRONG}))
    assert root.attrib == {"tests": "4", "failures": "1", "errors": "0", "skipped": "0"}
    assert [suite.get("name") for suite in root] == ["good", "bad"]
    assert [(case.get("classname"), case.get("name")) for case in root[0]] == [
        ("good", "mutation"),
        ("good", "vjp value"),
    ]
    assert root[1].get("failures") == "1"


def test_a_finding_is_the_failure_of_its_check() -> None:
    mutation, value = parsed(render_junit({"bad": WRONG}))[0]
    assert list(mutation) == []
    (failure,) = value
    assert failure.get("message") == "gradient of 'x': wrong; a sign"
    assert failure.text == "gradient of 'x': wrong; a sign\npassed   1 other check: mutation\nrerun    rerun()"


def test_one_report_without_a_name_is_refused() -> None:
    text = r"reports: expected a mapping from names to reports, got Report; write {name: report}"
    with pytest.raises(UsageError, match=text):
        render_junit(RIGHT)  # type: ignore[arg-type]


def test_two_findings_of_one_check_are_two_failures_of_one_test() -> None:
    report = Report("fail", tuple(Finding("vjp value", message) for message in "ab"))
    (case,) = parsed(render_junit({"s": report}))[0]
    assert [failure.get("message") for failure in case] == ["a", "b"]


def test_an_inconclusive_report_skips_the_test_of_values() -> None:
    root = parsed(render_junit({"s": UNSURE, "empty": Report("inconclusive")}))
    assert root.get("skipped") == "2"
    assert [[skip.get("message") for skip in case] for case in root[0]] == [[], ["4 elements: too wide"]]
    assert [skip.get("message") for skip in root[1][0]] == ["nothing could be judged"]


def test_what_xml_has_no_place_for_becomes_a_question_mark() -> None:
    hostile = 'a\x00b\x1bc<d>&"e"\ufffe\ud800\U0001f600]]>'
    root = parsed(write_suites([(hostile, [Case(hostile, hostile, ((hostile, hostile),))])]))
    clean = 'a?b?c<d>&"e"??\U0001f600]]>'
    assert root[0].get("name") == root[0][0].get("name") == root[0][0][0].text == clean


def test_a_real_report_fails_the_test_of_its_finding_only() -> None:
    report = check(np.sin, lambda i, o, c: (2 * c[0],), (np.ones((2, 2)),))
    root = parsed(render_junit({"sin": report}))
    assert [case.get("name") for case in root[0] if case.find("failure") is not None] == ["vjp value"]
    assert int(str(root.get("tests"))) == len(report.coverage.checks)
