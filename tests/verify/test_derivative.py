"""Gradients and their gradients are judged."""

import numpy as np

import opsdk
from opsdk.verify import verify


def test_a_composite_forward_with_a_wrong_second_derivative_fails(define):
    def mish(x):
        softplus = opsdk.maximum(x, 0.0) + opsdk.log(1.0 + opsdk.exp(-opsdk.abs(x)))
        return x * opsdk.tanh(softplus)

    report = verify(define(mish, composite=True))
    assert report.verdict == "fail"
    assert {finding.check for finding in report.findings} == {"vjp2.x"}


def test_a_composite_forward_that_is_right_passes_in_both_orders(define):
    report = verify(define(lambda x: x * opsdk.tanh(x), composite=True))
    assert [finding.message for finding in report.findings] == []
    assert "vjp2" in report.coverage.checks


def test_an_op_without_a_backward_says_so_in_its_report(define):
    report = verify(define(lambda x: x * x * x))
    assert report.verdict == "pass"
    assert report.lacks_backward
    assert str(report).splitlines()[-1].startswith("pass, no backward: 2 passed")
    assert report.coverage.warnings == ("planted::f: no backward declared",)


def test_an_op_with_nothing_to_differentiate_lacks_no_backward(define):
    assert not verify(define(lambda x: np.sign(x), nondifferentiable=("x", "y"))).lacks_backward
