from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from gradcheck import (
    Coverage,
    Finding,
    GradcheckError,
    Report,
    UsageError,
    check,
    render_html,
    render_text,
    to_json,
)
from gradcheck.errors import attach_note
from gradcheck.report import Tally, annotate, labelled, tallied

FINDING = Finding(
    "vjp value", "gradient of 'x': wrong in 1 of 2 elements", "x", (1,), math.nan, 1.0, 1e-9, "a sign", "rerun()"
)
COVERAGE = Coverage(checks=("gradient count", "vjp value"), points=("given",), tested=2, skipped=(("a jump", 3),))


def test_a_failure_raises_with_the_finding_first_and_the_rest_as_notes() -> None:
    report = Report("fail", (FINDING, Finding("layouts", "output 0: differs")), COVERAGE)
    with pytest.raises(GradcheckError) as caught:
        report.raise_if_failed("op 'relu'")
    assert str(caught.value) == "op 'relu', gradient of 'x': wrong in 1 of 2 elements; a sign"
    assert caught.value.__notes__ == [
        "  passed   1 other check: gradient count",
        "  rerun    rerun()",
        "  also     output 0: differs",
    ]


def test_labels_stand_in_a_column_and_an_error_names_four_others() -> None:
    assert labelled([("at", "here"), ("rerun", "it()")], indent="") == ["at       here", "rerun    it()"]
    error = GradcheckError("first")
    annotate(error, [("at", "here")], ["b", "c", "d", "e", "f"])
    assert error.__notes__ == ["  at       here", *(f"  also     {other}" for other in "bcde")]


def test_verdicts_are_counted_in_the_order_of_their_words() -> None:
    words = {"fail": "failed", "inconclusive": "inconclusive", "pass": "passed"}
    assert tallied(["pass", "fail", "pass"], words) == "1 failed, 2 passed"
    assert tallied([], words) == ""


@pytest.mark.parametrize("verdict", ["pass", "inconclusive"])
def test_nothing_else_raises(verdict: str) -> None:
    Report(verdict).raise_if_failed("op")  # type: ignore[arg-type]


def test_a_report_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Report("pass").seed = 3  # type: ignore[misc]


def test_the_text_starts_with_the_verdict_and_has_every_line() -> None:
    text = render_text(Report("fail", (FINDING,), COVERAGE)).splitlines()
    assert text[0] == "FAIL  1 finding, 2 elements judged at 1 point, 3 skipped; seed 0"
    assert text[1] == "vjp value: gradient of 'x': wrong in 1 of 2 elements; a sign"
    assert "  skipped  3 elements: a jump" in text


def test_what_passed_is_said_under_the_first_finding_only() -> None:
    text = render_text(Report("fail", (FINDING, Finding("layouts", "output 0: differs", repro="again()")), COVERAGE))
    assert text.splitlines()[1:] == [
        "vjp value: gradient of 'x': wrong in 1 of 2 elements; a sign",
        "  passed   1 other check: gradient count",
        "  rerun    rerun()",
        "layouts: output 0: differs",
        "  rerun    again()",
        "  skipped  3 elements: a jump",
    ]


@pytest.mark.parametrize("render", [render_text, to_json, render_html])
def test_what_is_no_report_is_refused(render: Any) -> None:
    with pytest.raises(UsageError, match=r"report: expected a gradcheck.Report, got list; pass what gradcheck.check"):
        render([1])


def test_json_has_a_schema_and_only_portable_numbers() -> None:
    document = json.loads(to_json(Report("fail", (FINDING,), COVERAGE)))
    assert document["schema"] == 1
    assert document["findings"][0]["analytic"] == "nan"
    assert document["findings"][0]["index"] == [1]
    assert document["coverage"]["smallest_error_seen"] == "inf"
    assert document["rendered"].startswith("FAIL")


def test_a_real_report_goes_through_both_renderers() -> None:
    report = check(np.sin, lambda i, o, c: (c[0],), (np.ones((2, 2)),))
    assert json.loads(to_json(report))["rendered"] == render_text(report)


def test_coverage_counts_and_keeps_the_bluntest_input() -> None:
    tally = Tally()
    tally.skipped["a"] += 2
    tally.inconclusive["b"] += 0
    tally.saw_down_to("x", 1e-9)
    tally.saw_down_to("x", 1e-3)
    tally.saw_down_to("w", 1e-7)
    coverage = tally.freeze(12)
    assert coverage.skipped == (("a", 2),)
    assert coverage.inconclusive == ()
    assert coverage.skipped_count == 2
    assert coverage.smallest_error_seen == 1e-7
    assert coverage.evaluations == 12


def test_a_note_is_kept_where_python_has_no_add_note() -> None:
    class Old(Exception):
        add_note = property()  # reading it raises AttributeError, as on Python 3.10

    error = Old()
    attach_note(error, "first")
    assert error.__dict__["__notes__"] == ["first"]
