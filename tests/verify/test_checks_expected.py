"""Findings that an author expects: notes with a reason; one that does not show is a finding."""

import numpy as np
import pytest

import opsdk
from opsdk.verify import render_text, verify


def cube(x):
    return x * x * x


def cube_grad(x, dy):
    return 3 * x * x * dy


def straight(dy):
    return dy


def test_an_expected_finding_is_a_note_with_its_reason(define):
    op = define(cube, straight)
    assert [finding.check for finding in verify(op).findings] == ["vjp.x"]
    op.expect("vjp.x", reason="the gradient goes straight through")
    report = verify(op)
    assert (report.verdict, report.findings) == ("pass", ())
    assert "planted::f: vjp.x is found, as expected: the gradient goes straight through" in report.coverage.notes
    assert "as expected: the gradient goes straight through" in render_text(report)
    assert {row.verdict for row in report.rows} == {"pass"}
    assert "vjp" not in next(row for row in report.rows if row.op == "planted::f").passed


def test_what_is_not_expected_is_still_found(define):
    op = define(lambda x, w: x * w, lambda x, w, dy: (2 * dy * w, 2 * dy * x))
    op.expect("vjp.w", reason="w is doubled on purpose")
    report = verify(op)
    assert report.verdict == "fail"
    assert [finding.check for finding in report.findings] == ["vjp.x"]


def test_an_expectation_that_does_not_show_is_a_finding(define):
    op = define(cube, cube_grad)
    op.expect("vjp.x", reason="it was wrong once")
    report = verify(op)
    (finding,) = report.findings
    assert report.verdict == "fail"
    assert finding.id == "planted::f[cpu,float64,numpy]::expect.vjp.x"
    assert finding.message == (
        "op 'planted::f': expected the finding 'vjp.x' (it was wrong once), got none; take the expect out"
    )
    assert "test_checks_expected.py" in finding.at
    assert next(row.verdict for row in report.rows if row.row == "cpu,float64,numpy") == "fail"


def test_an_expectation_of_one_row_covers_no_other(define):
    pytest.importorskip("numba")

    def coarse(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] ** 3 + x.flat[i] / 1000

    op = define(cube, cube_grad)
    op.kernel("cpu", coarse, language="numba")
    op.expect("value", reason="the kernel is a model of the reference", row="c")
    assert ("value.y", "cpu,float64,numba") in [(finding.check, finding.row) for finding in verify(op).findings]
    op.expect("value", reason="the kernel is a model of the reference", row="numba")
    assert [finding for finding in verify(op).findings if finding.check.startswith("value")] == []


def test_where_not_all_is_looked_at_nothing_is_missed(define):
    op = define(cube, cube_grad)
    op.expect("vjp.x", reason="it was wrong once")
    assert verify(op, rows="numpy").findings == ()
    assert verify(op, samples=[opsdk.Sample(np.ones(3))]).findings == ()


def test_a_row_that_cannot_run_here_misses_nothing(define):
    op = define(cube, cube_grad)
    op.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"))
    op.expect("value", reason="a device rounds otherwise", row="cuda")
    assert verify(op).findings == ()


def test_a_row_that_the_op_does_not_have_is_told(define):
    op = define(cube, cube_grad)
    op.expect("value", reason="it rounds", row="nmuba")
    (finding,) = verify(op).findings
    assert finding.message == (
        "op 'planted::f': expected the finding 'value' in kernel 'nmuba' (it rounds), got none; "
        "it has the kernels numpy (cpu, *)"
    )


def test_of_a_gradient_the_gradient_op_says_it(define):
    op = define(cube, cube_grad)
    op.grad.backward(lambda x, dy, ddx: (3 * x * dy * ddx, 3 * x * x * ddx), name="f_grad_grad")
    found = list(verify(op).findings)
    assert found
    for finding in found:
        target = op if finding.op == "planted::f" else op.grad
        target.expect(finding.check, reason="half is enough here")
    assert verify(op).verdict == "pass"
