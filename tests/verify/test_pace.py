"""Pace: by default derivatives of an op whose calls take much are judged less far, and what is left out is said."""

import cProfile
import math
import sys

import numpy as np
import pytest

import opsdk
from opsdk.define.op import REGISTRY
from opsdk.verify import pace
from opsdk.verify.pace import work_of

SAMPLES = [np.linspace(0.5, 1.5, size) for size in (2, 3, 4)]
LEFT = "planted::f, gradient of its gradient at {}: not judged for the time that it takes; --thorough does"


@pytest.fixture(autouse=True)
def _forgotten():
    with REGISTRY.scoped():
        yield


@pytest.fixture
def little(monkeypatch):
    """There is work for nothing but the least."""
    monkeypatch.setattr(pace, "_WORK", dict.fromkeys(pace._WORK, 1))


def squares(second=2.0, first_beyond=2.0, flagged=2.0):
    """x², with factors of its first and its second derivative that are wrong where they are not 2."""

    def forward(x, flag):
        return x * x

    def grad(x, dy, flag):
        return np.where(x > 3, first_beyond, 2.0).astype(x.dtype) * x * dy

    def grad_grad(x, dy, ddx, flag):
        factor = flagged if flag else second
        return factor * dy * ddx, 2 * x * ddx

    op = opsdk.op("planted::f(Tensor x, *, bool flag=False) -> Tensor y", infer=opsdk.infer.like("x"))(forward)
    op.backward(grad)
    op.grad.backward(grad_grad)
    op.samples(lambda rng: [*(opsdk.Sample(x) for x in SAMPLES), opsdk.Sample(SAMPLES[1] * 10, reason="far")])
    return op


def left_out(report):
    return [text for text in report.coverage.skipped if "gradient of its gradient" in text and "not judged" in text]


def test_work_is_the_number_of_functions_that_are_called():
    def calls(times):
        return lambda x: [abs(0) for _ in range(times)]

    assert work_of(calls(9), [np.ones(2)]) - work_of(calls(4), [np.ones(2)]) == 5


def test_beside_a_profiler_no_work_is_counted_and_the_profiler_goes_on():
    profiler = cProfile.Profile()
    profiler.enable()
    made = work_of(np.sum, [np.ones(2)])
    is_on = sys.getprofile() is not None
    profiler.disable()
    assert (made, is_on) == (0, True)


@pytest.mark.slow  # a second: every order at every sample
def test_all_calls_are_judged_where_they_take_little():
    report = opsdk.verify(squares())
    assert (report.verdict, left_out(report)) == ("pass", [])


@pytest.mark.usefixtures("little")
def test_gradients_of_gradients_are_left_out_where_there_is_no_work_for_them_and_it_is_said():
    report = opsdk.verify(squares())
    told = left_out(report)
    assert report.verdict == "pass"
    assert len(told) == 3
    assert told[-1] == LEFT.format("(float64(3,)) far")
    assert (
        "planted::f, gradient of its gradient at (float64(2,)): judged by its values alone, its inputs moved as one, "
        "for the time that it takes; --thorough looks at how it behaves" in report.coverage.skipped
    )
    assert (
        "planted::f, gradient at (float64(3,)) far: judged at its own values alone, for the time that it takes; "
        "--thorough varies them" in report.coverage.skipped
    )


# Proofs that leave nothing out, a second each.
@pytest.mark.slow
@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("how", [{"level": "thorough"}, {"budget": 600}])
def test_a_thorough_check_and_one_with_a_budget_leave_nothing_out(how):
    assert [text for text in opsdk.verify(squares(), **how).coverage.skipped if "time that it takes" in text] == []


@pytest.mark.usefixtures("little")
def test_a_gradient_that_is_wrong_at_the_last_call_alone_is_found_all_the_same():
    report = opsdk.verify(squares(first_beyond=3.0))
    assert "vjp.x" in [finding.check for finding in report.findings]


@pytest.mark.usefixtures("little")
def test_a_second_order_that_is_wrong_is_found_at_the_first_call():
    assert "vjp2.x" in [finding.check for finding in opsdk.verify(squares(second=3.0)).findings]


@pytest.mark.usefixtures("little")
def test_what_is_chosen_at_one_call_alone_is_judged_there_in_the_second_order_too():
    op = squares(flagged=3.0)
    op.samples(lambda rng: [*(opsdk.Sample(x) for x in SAMPLES), opsdk.Sample(SAMPLES[0], flag=True)])
    assert "vjp2.x" in [finding.check for finding in opsdk.verify(op).findings]


# Wrong at values below 0 alone, which no sample has.
@pytest.mark.parametrize(("work", "found"), [(math.inf, True), (1, False)])
def test_other_values_are_tried_at_every_call_where_there_is_work_for_it(monkeypatch, work, found):
    monkeypatch.setitem(pace._WORK, "default", work)

    def grad(x, dy):
        return 2 * x * dy * np.where((x.size == 4) & (x < 0), 1.5, 1.0).astype(x.dtype)

    op = opsdk.op("planted::f(Tensor x) -> Tensor y", infer=opsdk.infer.like("x"))(lambda x: x * x)
    op.backward(grad)
    report = opsdk.verify(op, samples=[opsdk.Sample(x) for x in SAMPLES])
    assert ("vjp.x" in [finding.check for finding in report.findings]) is found


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("wrong", ["x", "w"])
def test_a_gradient_of_one_of_two_inputs_that_is_wrong_at_a_later_call_alone_is_found_and_named(wrong):
    def grad(x, w, dy):
        factor = np.where(x.size > 3, 1.001, 1.0).astype(x.dtype)
        made = {"x": w * dy, "w": x * dy}
        return {**made, wrong: factor * made[wrong]}

    op = opsdk.op("planted::f(Tensor x, Tensor w) -> Tensor y", infer=opsdk.infer.like("x"))(lambda x, w: x * w)
    op.backward(grad)
    report = opsdk.verify(op, samples=[opsdk.Sample(x, x[::-1].copy()) for x in SAMPLES])
    assert f"vjp.{wrong}" in [finding.check for finding in report.findings]


@pytest.mark.usefixtures("little")
def test_the_work_of_a_call_is_counted_once_for_all_that_is_asked_there(monkeypatch):
    counted = []
    monkeypatch.setattr(pace, "work_of", lambda function, inputs: counted.append(function) or 1)
    report = opsdk.verify(squares(), samples=[opsdk.Sample(x) for x in SAMPLES])
    assert report.verdict == "pass"
    assert len(counted) <= 4 * len(SAMPLES)  # of both orders, of the op and of its gradient op


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_float32_kernel_is_judged_as_little_as_can_be_and_that_is_said(factor):
    op = opsdk.op("planted::f(Tensor x, Tensor w) -> Tensor y", infer=opsdk.infer.like("x"))(lambda x, w: x * w)
    op.backward(lambda x, w, dy: (w * dy, x * dy))
    op.grad.kernel("cpu", language="numpy", dtype="float32")(lambda x, w, dy: (w * dy, np.float32(factor) * x * dy))
    report = opsdk.verify(op, samples=[opsdk.Sample(x, x[::-1].copy()) for x in SAMPLES])
    assert report.verdict == ("pass" if factor == 1 else "fail")
    assert (
        "planted::f, float32 gradient at (float32(2,), float32(2,)): judged at few elements, its inputs moved as one, "
        "for the time that it takes; --thorough takes more" in report.coverage.skipped
    )
