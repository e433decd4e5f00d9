"""The table of `opsdk check`."""

import json
import xml.etree.ElementTree as ET

import pytest

from opsdk.ship.check.render import _sees_down_to
from opsdk.verify.report import Coverage, Row, VerifyReport

LONG, SHORT, UNJUDGED = (
    Row("t::f", "cpu,float64,numpy", "pass", sees_down_to=2e-9),
    Row("t::f", "cpu,float32,c", "pass", sees_down_to=5e-5),
    Row("t::f", "cpu,float64,c", "pass"),
)


@pytest.mark.parametrize(
    ("rows", "shown"),
    [((LONG, SHORT, UNJUDGED), "2e-09"), ((SHORT, UNJUDGED), "5e-05"), ((UNJUDGED,), "–"), ((), "–")],
)
def test_what_a_run_sees_is_told_of_float64_rows_and_of_others_where_there_is_none(rows, shown):
    assert _sees_down_to(rows) == shown


def failing(root):
    return [
        (case.get("classname"), case.get("name")) for case in root.iter("testcase") if case.find("failure") is not None
    ]


def test_junit_has_a_test_per_row_and_check(run, right, wrong, here):
    result = run("check", "good.py", "bad.py", "--junit", "report.xml")
    assert result.exit_code == 1
    assert "wrote report.xml" in result.stderr
    root = ET.fromstring((here / "report.xml").read_bytes())
    assert [suite.get("name") for suite in root] == ["good::clamp", "bad::clamp"]
    assert failing(root) == [("bad::clamp[cpu,float64,numpy]", "vjp.x")]
    names = {case.get("name") for case in root[0]}
    assert {"runs", "mutation", "vjp"} <= names
    failure = root.find(".//failure")
    assert failure.get("message").startswith("op 'bad::clamp', gradient of 'x': wrong in ")
    assert "pattern  wrong exactly where x < 0" in failure.text


def test_a_dash_writes_junit_to_standard_output(run, right):
    result = run("check", "good.py", "--junit", "-")
    assert ET.fromstring(result.stdout.encode()).get("failures") == "0"
    assert "1 passed in " in result.stderr


@pytest.mark.parametrize(
    ("verdict", "coverage", "message"),
    [
        ("inconclusive", Coverage(inconclusive=("no sample runs",)), "no sample runs"),
        ("inconclusive", Coverage(), "nothing could be judged"),
    ],
    ids=["reason", "none"],
)
def test_an_op_that_cannot_be_judged_is_a_skipped_test(run, right, monkeypatch, verdict, coverage, message):
    rows = (
        Row("good::clamp", "cpu,float64,numpy", "pass", passed=("runs",)),
        Row("good::clamp", "cpu,float64,numba", "skipped", note="numba is not installed"),
    )
    report = VerifyReport("good::clamp", verdict, rows=rows, coverage=coverage)
    monkeypatch.setattr("opsdk.verify", lambda op, **options: report, raising=False)
    result = run("check", "good.py", "--junit", "-")
    root = ET.fromstring(result.stdout.encode())
    assert [skip.get("message") for skip in root.iter("skipped")] == ["numba is not installed", message]
    assert (root.get("tests"), root.get("skipped")) == ("3", "2")


def test_the_page_has_the_pictures_of_a_wrong_gradient(run, wrong, here):
    run("check", "bad.py", "--html", "report.html")
    text = (here / "report.html").read_text()
    assert "Heat map of the gradient of x" in text
    assert "Heat map of the Jacobian&#x27;s error" in text
    assert "Step curve at x[" in text
    assert ".picture .over" in text


def test_json_has_the_numbers_of_the_pictures(run, wrong, here):

    run("check", "bad.py", "--json", "report.json")
    ((report,), *_) = (json.loads((here / "report.json").read_text())["reports"],)
    gradient = report["findings"][0]["picture"]["gradient"]
    assert gradient["shape"] == [3, 5]
    assert set(gradient["status"]) == {"right", "wrong"}
