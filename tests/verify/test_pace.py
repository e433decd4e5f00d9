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
    return [text for text in report.coverage.skipped if "for the time that it takes" in text]


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


# Proofs that leave nothing out, a second each.
@pytest.mark.slow
@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("how", [{"level": "thorough"}, {"budget": 600}])
def test_a_thorough_check_and_one_with_a_budget_leave_nothing_out(how):
    assert left_out(opsdk.verify(squares(), **how)) == []


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
