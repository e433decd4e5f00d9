"""What a report says is true of the kernel it says it of."""

import json

import numpy as np
import pytest

import opsdk
from opsdk.verify import render_text, verify


def cube(x):
    return x * x * x


def cube_grad(x, dy):
    return 3 * x * x * dy


def row_of(report, name, op="planted::f"):
    return next(row for row in report.rows if (row.op, row.row) == (op, name))


def test_a_printed_report_is_its_text(define):
    report = verify(define(cube, cube_grad))
    assert str(report) == render_text(report)


def test_what_failed_on_a_row_is_not_among_what_passed(define):
    report = verify(define(cube, lambda x, dy: 2 * x * dy))
    passed = row_of(report, "cpu,float64,numpy").passed
    assert "vjp" not in passed
    assert {"runs", "mutation", "infer", "dynamic"} <= set(passed)


def test_what_passed_is_told_with_the_first_finding_only(define):
    op = define(lambda x, w: x * w, lambda x, w, dy: (2 * dy * w, 2 * dy * x))
    report = verify(op)
    assert [finding.check for finding in report.findings] == ["vjp.x", "vjp.w"]
    lines = render_text(report).splitlines()
    first, second = [number for number, line in enumerate(lines) if line.startswith("FAIL op")]
    (passed,) = [number for number, line in enumerate(lines) if line.startswith("  passed ")]
    assert first < passed < second


def test_only_this_row_is_wrong_where_the_reference_did_the_same_check(define):
    pytest.importorskip("numba")

    def beyond(x, y):
        for i in range(x.size + 1):
            y.flat[i] = x.flat[i] ** 3

    def changing(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] ** 3
            x.flat[i] = 0

    for row, check, compared in ((beyond, "bounds", False), (changing, "mutation", True)):
        op = define(cube, cube_grad)
        op.kernel("cpu", row, language="numba", dtype="float64")
        report = verify(op)
        assert [finding.check.partition(".")[0] for finding in report.findings] == [check]
        assert ("only this kernel is wrong" in render_text(report)) is compared


def test_an_op_that_cannot_be_called_has_passed_nothing(define):
    report = verify(define(lambda x: np.linalg.inv(x)), samples=[opsdk.Sample(np.ones(3))])
    assert report.verdict == "fail"
    assert "passed" not in [line.split()[0] for line in render_text(report).splitlines() if line]


def test_a_row_that_does_not_compile_has_not_run(define):
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.kernel("cpu", language="numba")
    def broken(x, y):
        y[...] = json.loads("1") * x

    report = verify(op)
    finding = report.findings[0]
    assert (finding.check, finding.code) == ("compile", "OP411")
    assert not {"runs", "value"} & set(row_of(report, finding.row).passed)


def test_the_worst_error_of_a_row_is_also_that_of_its_gradient(define):
    report = verify(define(cube, lambda x, dy: 6 * x * x * dy))
    assert row_of(report, "cpu,float64,numpy").worst_error == pytest.approx(1.0)
    wrong = verify(define(lambda x: np.maximum(x, 0), lambda y, dy: dy * (y >= 0)))
    assert wrong.verdict == "fail"
    assert "0e+00" not in render_text(wrong).splitlines()[1]


@pytest.mark.parametrize(
    ("forward", "backward", "code"),
    [
        (lambda x: np.multiply(x, 2, out=x).copy(), None, "OP206"),
        (lambda x: x[...], None, "OP207"),
        (lambda x: np.atleast_1d(x.sum()), None, "OP203"),
        (lambda x: x.astype("float32"), None, "OP202"),
        (cube, lambda x, dy: (dy, dy), "OP201"),
        (lambda x: x.sum() * x, lambda x, dy: dy.sum(), "OP203"),
        (cube, lambda x, dy: dy, "OP301"),
    ],
    ids=["mutation", "alias", "shape", "dtype", "arity", "gradient shape", "value"],
)
def test_a_finding_carries_the_code_of_its_kind(define, forward, backward, code):
    assert verify(define(forward, backward)).findings[0].code == code
