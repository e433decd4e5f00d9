import json
from dataclasses import fields

import pytest

from opsdk.core.errors import TargetError
from opsdk.ship.check import json as check_json
from opsdk.ship.check.result import Checked, Run
from opsdk.verify.report import Coverage, Finding, Row, VerifyReport

NAN = float("nan")
IT = {"id": "a[cpu,*,c]::vjp.x", "op": "a", "row": "cpu,*,c"}
FINDING = Finding("vjp.x", "wrong", index=(1, 2), analytic=NAN, numeric=2.0, **IT)
ROWS = (Row("a", "cpu,*,c", "fail", 1e-9, float("inf"), 0.5, "note", ("runs", "value")),)
REPORT = VerifyReport("a", "fail", (FINDING,), ROWS, Coverage(("vjp",), ("one",), 3, warnings=("look",)), 7, 0.25)
RUN = Run((Checked(REPORT, ("numpy", "c"), "a.py:3", "a.py:a"),), ("a.py",), 7, 0.5, "0.1", "numpy", "here", "facts")


@pytest.fixture
def written(here):
    def write(text):
        (here / "r.json").write_text(text)
        return "r.json"

    return write


def test_what_is_read_is_what_was_written(written):
    read = check_json.read(written(check_json.render(RUN, "as printed")))
    assert repr(read) == repr(RUN)  # nan is not equal to itself
    assert json.loads(check_json.render(RUN, "as printed"))["rendered"] == "as printed"


def test_a_report_with_pictures_comes_back_whole(run, wrong, here):
    run("check", "bad.py", "--json", "r.json")
    read = check_json.read("r.json")
    (finding,) = read.checked[0].findings
    assert finding.picture.gradient.status.count("wrong") > 0
    text = (here / "r.json").read_text()
    assert check_json.render(read, json.loads(text)["rendered"]) == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: [], "schema 1, got no report; write it again"),
        (lambda d: {**d, "schema": 2}, "schema 1, got schema 2; write it again with this version"),
        (lambda d: {k: v for k, v in d.items() if k != "seed"}, "that was changed: nothing under 'seed'; write it"),
        (lambda d: {**d, "seed": "7"}, "got one that was changed: expected int, got '7'"),
        (lambda d: {**d, "seed": True}, "got one that was changed: expected int, got True"),
        (lambda d: {**d, "targets": "a.py"}, "got one that was changed: expected tuple"),
        (lambda d: {**d, "reports": [{**d["reports"][0], "verdict": "pass"}]}, "a with verdict 'pass' and 1 find"),
        (lambda d: {**d, "reports": 3}, "got one that was changed: 'int' object is not iterable"),
        (lambda d: {**d, "reports": [{**d["reports"][0], "verdict": "good"}]}, "expected .*Literal.*, got 'good'"),
        (lambda d: {**d, "reports": [{**d["reports"][0], "seconds": "soon"}]}, "expected float, got 'soon'"),
    ],
)
def test_what_was_changed_is_refused(written, change, message):
    document = json.loads(check_json.render(RUN, ""))
    path = written(json.dumps(change(document)))
    with pytest.raises(TargetError, match=rf"^r.json: expected a report of opsdk check --json, .*{message}"):
        check_json.read(path)


def test_what_is_no_file_or_no_json_is_refused(written):
    with pytest.raises(TargetError, match="expected a report of opsdk check --json, got: No such file or directory"):
        check_json.read("nowhere.json")
    for text in ("{", "[" * 100_000):
        with pytest.raises(TargetError, match="expected a report of opsdk check --json, got no JSON: "):
            check_json.read(written(text))


def test_a_finding_is_written_with_all_that_it_has_in_the_order_of_reading():
    (report,) = json.loads(check_json.render(RUN, ""))["reports"]
    names = list(report["findings"][0])
    assert names[:6] == ["id", "op", "row", "check", "message", "at"]
    assert set(names) == {field.name for field in fields(Finding)}
