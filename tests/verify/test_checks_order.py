"""Findings come in the order of their causes, each cause once."""

import json

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import LANGUAGES, PyFunc
from opsdk.verify import render_text, verify
from opsdk.verify.checks import in_order, in_order_of_all
from opsdk.verify.report import Finding
from opsdk.verify.session import Session


def cube(x):
    return x * x * x


def cube_grad(x, dy):
    return 3 * x * x * dy


def finding(check, message, row="cpu,float64,numpy"):
    return Finding(check, message, id=f"f[{row}]::{check}", op="f", row=row)


def test_a_cause_comes_before_what_follows_from_it():
    order = in_order([finding("vjp.x", "a"), finding("value.y", "b"), finding("compile", "c")])
    assert [one.check for one in order] == ["compile", "value.y", "vjp.x"]


def test_numbers_that_are_wrong_in_float32_alone_come_after_those_of_float64():
    order = in_order([finding("value.y", "a", "cpu,float32,numpy"), finding("vjp.x", "b"), finding("value.z", "c")])
    assert [one.message for one in order] == ["c", "b", "a"]


def test_a_row_of_float32_that_does_not_compile_comes_first_all_the_same():
    order = in_order([finding("vjp.x", "a"), finding("compile", "b", "cpu,float32,numba")])
    assert [one.message for one in order] == ["b", "a"]


def test_an_overflow_in_float32_does_not_lead_before_the_gradient_that_shows_its_input(define):
    report = verify(define(lambda x: np.log(1 + np.exp(x)), lambda x, dy: dy * np.exp(x) / (2 + np.exp(x))))
    assert [one.check for one in report.findings[:2]] == ["vjp.x", "value.y"]
    assert " x[" in report.findings[0].message


def test_the_same_exception_in_both_runtimes_is_one_line():
    (one,) = in_order(
        [
            finding("vjp", "backward raised ValueError: no"),
            finding("dynamic", "on tensors raised ValueError: no"),
            finding("static", "in a Program raised ValueError: no"),
        ]
    )
    assert one.also == "the same on tensors and in a Program"


def test_another_exception_is_told_by_itself():
    order = in_order([finding("vjp", "raised ValueError: no"), finding("dynamic", "raised TypeError: other")])
    assert len(order) == 2


def test_what_another_row_does_is_told_by_itself():
    order = in_order([finding("value.y", "a", "cpu,float32,numba"), finding("dynamic.y", "b")])
    assert len(order) == 2


def test_a_backward_that_raises_is_one_finding(define):
    def broken(x, dy):
        raise RuntimeError("out of order")

    report = verify(define(cube, broken))
    assert len(report.findings) == 1
    assert "  also     the same on tensors and in a Program" in render_text(report)


def test_a_numba_row_that_does_not_compile_is_one_finding_of_that_row(define):
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.kernel("cpu", language="numba")
    def broken(x, y):
        y[...] = json.loads("1") * x

    report = verify(op)
    assert [one.row.rpartition(",")[2] for one in report.findings] == ["numba"]
    assert "the same on tensors" in report.findings[0].also


def test_a_gradient_row_that_does_not_compile_is_put_down_to_that_row(define):
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.grad.kernel("cpu", language="numba")
    def broken(x, dy, dx):
        dx[...] = json.loads("1") * x * dy

    report = verify(op)
    assert {one.row.rpartition(",")[2] for one in report.findings} == {"numba"}
    assert len(report.findings) == 1


def test_a_wrong_numba_row_leaves_the_reference_innocent(define):
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.kernel("cpu", language="numba")
    def wrong(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] ** 2

    report = verify(op)
    assert {one.row.rpartition(",")[2] for one in report.findings} == {"numba"}
    assert report.findings[0].check == "value.y"


def minus_cube_grad(x, dy):
    return -3 * x * x * dy


@pytest.fixture
def with_kernel(define, monkeypatch):
    """Gives a cube with a backward, and a kernel of that in a language of Python functions."""
    spoken = PyFunc("spoken")
    monkeypatch.setitem(LANGUAGES, ("spoken", "cpu", spoken.form), spoken)

    def with_kernel(backward, kernel):
        op = define(cube, backward)
        op.grad.kernel("cpu", language="spoken")(kernel)
        return op

    return with_kernel


def test_a_kernel_that_is_right_beside_a_wrong_reference_of_a_backward_is_told_with_that(with_kernel):
    report = verify(with_kernel(minus_cube_grad, lambda x, dy: 3 * x * x * dy))
    (finding,) = report.findings
    assert (finding.op, finding.check, finding.row) == ("planted::f", "vjp.x", "cpu,float64,numpy")
    assert finding.cause == "yours has the opposite sign everywhere"
    agrees = "not in the spoken kernel of op 'planted::f_grad', which agrees with the derivative"
    assert finding.also == agrees
    assert f"also     {agrees}" in render_text(report)
    assert "only this kernel is wrong" not in render_text(report)
    verdicts = {(row.op, row.row): row.verdict for row in report.rows}
    assert verdicts["planted::f_grad", "cpu,float64,spoken"] == "pass"
    assert verdicts["planted::f", "cpu,float64,numpy"] == "fail"


def test_a_kernel_that_is_wrong_beside_a_wrong_reference_is_not_called_right(with_kernel):
    findings = verify(with_kernel(minus_cube_grad, lambda x, dy: 2 * x * x * dy)).findings
    assert findings[0].check == "vjp.x"
    assert findings[-1].compare == "the reference is wrong itself, in the gradient of 'x'; mend that first"
    assert findings[-1].row == "cpu,float64,spoken"


def test_a_kernel_that_differs_from_a_right_reference_is_alone_in_it(with_kernel):
    report = verify(with_kernel(cube_grad, lambda x, dy: 2 * x * x * dy))
    first = report.findings[0]
    assert (first.op, first.check, first.compare) == ("planted::f_grad", "value.dx", "")
    assert "compare  the reference kernel passes; only this kernel is wrong" in render_text(report)


@pytest.mark.parametrize(("got", "told"), [(0.0, True), (-0.25, False)])
def test_a_value_that_is_not_zero_gets_no_pattern_of_zeros_from_other_elements(define, got, told):
    op = define(cube, cube_grad)
    pattern = "yours is zero everywhere; the gradient is never computed"
    common = {"row": "cpu,float64,spoken", "analytic": got, "numeric": 1.0}
    of_op, of_gradient = (Session(each, [], 0, 200) for each in (op.opdef, op.grad.opdef))
    of_op.settled = [Finding(id="1", op="f", check="vjp.x", message="a", input="x", cause=pattern, **common)]
    of_gradient.settled = [Finding(id="2", op="f_grad", check="value.dx", message="b", **common)]
    causes = {finding.id: finding.cause for finding in in_order_of_all([of_op, of_gradient])}
    assert causes == {"1": pattern, "2": pattern if told else None}


def test_a_wrong_value_of_a_gradient_is_told_at_its_own_input_with_the_pattern_of_the_derivative():
    pytest.importorskip("numba")

    @opsdk.op("two(Tensor w, Tensor u, Tensor k) -> Tensor y", namespace="planted", infer=opsdk.infer.like("k"))
    def two(w, u, k):
        return w * k + u * k * k

    @two.backward
    def two_grad(w, u, k, dy):
        return (dy * k).sum(0), (dy * k * k).sum(0), dy * (w + 2 * u * k)

    @two_grad.kernel("cpu", language="numba", dtype="float64")
    def two_grad_numba(w, u, k, dy, dw, du, dk):
        for j in range(k.shape[1]):
            dw[j] = du[j] = 0.0
            for i in range(k.shape[0]):
                dw[j] += dy[i, j] * k[i, j]
                du[j] = dy[i, j] * k[i, j] * k[i, j]  # not added
                dk[i, j] = dy[i, j] * (w[j] + 2 * u[j] * k[i, j])

    @two.samples
    def two_samples(rng):
        yield opsdk.Sample(rng.normal(size=3), rng.normal(size=3), rng.normal(size=(4, 3)))

    value, vjp = verify(two).findings
    assert (value.check, vjp.check) == ("value.du", "vjp.u")
    assert f"worst du[{value.index[0]}] at u[{value.index[0]}] = " in value.message
    assert (
        value.cause
        == vjp.cause
        == ("yours is the contribution of the last output alone: '=' where '+=' is meant does this")
    )


def test_a_wrong_value_of_an_output_that_comes_out_otherwise_each_time_is_not_told_beside_it():
    found = [finding("value.y", "a", "cpu,float32,numpy"), finding("repeats.y", "b"), finding("value.z", "c")]
    assert [f.message for f in in_order(found)] == ["b", "c"]
