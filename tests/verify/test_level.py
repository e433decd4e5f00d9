import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError
from opsdk.verify.inputs.calls import Call, Invented
from opsdk.verify.level import few, in_every_dtype


def squared(x):
    return x**2


def test_a_quick_check_judges_less_and_says_what_it_left_out(define):
    op = define(squared, lambda x, dy: 2 * x * dy)
    quick, whole = opsdk.verify(op, level="quick"), opsdk.verify(op)
    assert (quick.verdict, quick.level, whole.level) == ("pass", "quick", "default")
    assert 0 < quick.coverage.tested < whole.coverage.tested
    assert len(quick.coverage.samples) <= 3
    (left,) = [line for line in quick.coverage.skipped if line.startswith("planted::f, not checked")]
    count = len(whole.coverage.samples)
    assert f"{count - len(quick.coverage.samples)} of {count} samples; sizes and values that no sample has" in left
    assert "gradients of gradients" in left


def test_what_a_quick_check_leaves_out_is_among_no_checks_that_passed(define):
    op = define(squared, lambda x, dy: 2 * x * dy)
    op.grad.backward(lambda x, dy, ddx: (2 * dy * ddx, 2 * x * ddx))
    quick, whole = opsdk.verify(op, level="quick"), opsdk.verify(op)
    passed = [{check for row in report.rows for check in row.passed} for report in (quick, whole)]
    assert "vjp2" in passed[1]
    assert passed[1] - passed[0] == {"vjp2", "static2"}


@pytest.mark.parametrize(
    ("forward", "backward", "check"),
    [
        (squared, lambda x, dy: x * dy, "vjp.x"),
        (lambda x: np.maximum(x, 0), lambda y, dy: dy * (y >= 0), "vjp.x"),
        (lambda x: np.multiply(x, 2, out=x), lambda dy: 2 * dy, "mutation.x"),
    ],
)
def test_a_quick_check_finds_the_usual_faults(define, forward, backward, check):
    report = opsdk.verify(define(forward, backward), level="quick")
    assert report.verdict == "fail"
    assert check in [finding.check for finding in report.findings]


def test_a_kernel_that_is_wrong_beside_its_reference_is_found_quickly(define):
    op = define(squared, lambda x, dy: 2 * x * dy)
    op.kernel("cpu", language="numpy", dtype="float32")(lambda x: x * x * np.float32(1.01))
    (finding,) = opsdk.verify(op, level="quick").findings
    assert (finding.check, finding.row) == ("value.y", "cpu,float32,numpy")


def test_an_expected_finding_that_a_quick_check_cannot_see_is_not_missed(define):
    op = define(squared, lambda x, dy: 2 * x * dy)
    op.grad.backward(lambda x, dy, ddx: (3 * dy * ddx, 2 * x * ddx))
    op.expect("vjp2.x", reason="planted")
    op.grad.expect("vjp.x", reason="planted")
    assert opsdk.verify(op).verdict == "pass"
    assert opsdk.verify(op, level="quick").verdict == "pass"


def test_samples_that_are_given_are_tried_quickly_all(define):
    op = define(squared, lambda x, dy: 2 * x * dy)
    samples = [opsdk.Sample(np.full(size, 0.5)) for size in (1, 2, 3, 4, 5)]
    assert len(opsdk.verify(op, samples=samples, level="quick").coverage.samples) == 5


def test_a_level_that_is_none_is_refused(define):
    message = "verify: level expected one of 'quick', 'default', 'thorough', got 'fast'; leave it out for 'default'"
    with pytest.raises(AttributeValueError, match=f"^{message}"):
        opsdk.verify(define(squared), level="fast")


def call(*sizes, **fields):
    return Call([np.zeros(size) for size in sizes], {}, **fields)


def test_the_few_calls_are_the_first_the_smallest_and_the_largest_with_numbers():
    calls = [call(5), call(0), call(2), call(3, 40), call(6), call(1), call(90, invented=Invented("n", 1, 2))]
    assert few(calls) == [calls[0], calls[3], calls[5]]
    assert few(calls[1:2]) == calls[1:2]
    assert few(calls[6:]) == calls[6:]
    assert few([]) == []


def test_by_default_a_kernel_is_compiled_in_a_second_dtype_for_the_first_and_the_largest_call():
    calls = [call(5), call(0), call(2), call(3, 40), call(6)]
    assert in_every_dtype(calls, "quick") == []
    assert in_every_dtype(calls, "default") == [calls[0], calls[3]]
    assert in_every_dtype(calls, "thorough") == calls


def test_a_numba_kernel_that_is_wrong_in_float32_alone_is_found(define):
    pytest.importorskip("numba")
    op = define(squared, lambda x, dy: 2 * x * dy)

    @op.kernel("cpu", language="numba")
    def multiplied(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * x.flat[i] * (1.01 if x.itemsize == 4 else 1.0)

    (finding,) = opsdk.verify(op).findings
    assert (finding.check, finding.row) == ("value.y", "cpu,float32,numba")


def test_the_report_says_how_long_each_check_took(define):
    report = opsdk.verify(define(squared, lambda x, dy: 2 * x * dy))
    spent = {(each.op, each.check): each.seconds for each in report.spent}
    assert all(seconds >= 0 for seconds in spent.values())
    assert {("planted::f", "value"), ("planted::f", "vjp"), ("planted::f", "static")} <= set(spent)
    assert 0.2 * report.seconds <= sum(spent.values()) <= report.seconds


def test_a_quick_check_compiles_an_expression_in_the_dtype_of_the_sample_alone():
    pytest.importorskip("numba")
    op = opsdk.elementwise("planted::square(Tensor x) -> Tensor y")(squared)
    quick = opsdk.verify(op, level="quick")
    rows = {row.row for row in quick.rows if row.row.startswith("cpu") and "numba" in row.row}
    assert (quick.verdict, rows) == ("pass", {"cpu,float64,numba"})
