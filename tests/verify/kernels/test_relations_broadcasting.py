"""Broadcasting that was not declared is said."""

import opsdk
from opsdk.verify import verify


def scaled(x, gamma):
    return x * gamma


def test_undeclared_broadcasting_is_said_and_no_fault(define):
    report = verify(define(scaled, lambda x, gamma, dy: (dy * gamma, dy * x)))
    assert report.verdict == "pass"
    assert report.coverage.warnings == (
        "planted::f: x and gamma broadcast, but gradients are not summed: declare infer=opsdk.infer.broadcast",
    )


def test_declared_broadcasting_is_not(define):
    op = define(scaled, lambda x, gamma, dy: (dy * gamma, dy * x), infer=opsdk.infer.broadcast)
    assert verify(op).coverage.warnings == ()


def test_a_backward_that_sums_by_itself_is_left_alone(define):
    def backward(x, gamma, dy):
        dgamma = dy * x
        while dgamma.ndim > gamma.ndim:
            dgamma = dgamma.sum(0)
        return dy * gamma, dgamma

    assert verify(define(scaled, backward)).coverage.warnings == ()


def test_a_reference_that_does_not_broadcast_is_left_alone(define):
    def strict(x, gamma):
        if x.shape != gamma.shape:
            raise ValueError("one shape, please")
        return x * gamma

    assert verify(define(strict, lambda x, gamma, dy: (dy * gamma, dy * x))).coverage.warnings == ()
