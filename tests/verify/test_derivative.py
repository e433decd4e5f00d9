"""Gradients and their gradients are judged."""

import numpy as np
import pytest

import opsdk
from opsdk.autograd import tape
from opsdk.backends.call.plan import make_plan
from opsdk.core.errors import ShapeError
from opsdk.verify import verify
from opsdk.verify.inputs.calls import Call
from opsdk.verify.run import examine
from opsdk.verify.subjects import first_order


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


def with_a_row_for_float32(op, backward):
    """Gives an op whose backward names y and dy a float32 kernel."""
    op.grad.kernel("cpu", backward, language="numba", dtype="float32")
    return op


def test_a_float32_row_is_not_held_to_digits_that_its_saved_output_does_not_have(define):
    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def backward(y, dy):
        return y * (dy - (y * dy).sum(axis=-1, keepdims=True))

    def row(y, dy):
        return y * (dy - (y * dy).sum())

    op = with_a_row_for_float32(define(softmax, backward), row)
    op.samples(lambda rng: iter([opsdk.Sample(rng.normal(size=6), reason="a row")]))
    assert opsdk.verify(op, seed=1).findings == ()  # at a seed that would choose a point where one y is nearly 1


def test_a_float32_row_that_is_wrong_is_found(define):
    op = define(lambda x: np.maximum(x, 0), lambda y, dy: dy * (y > 0))
    report = opsdk.verify(with_a_row_for_float32(op, lambda y, dy: dy * (y >= 0)))
    assert report.verdict == "fail"
    assert report.findings[0].row == "cpu,float32,numba"


def test_a_backward_is_sent_no_cotangents_of_other_inputs_where_data_decide_sizes(define):
    op = define(lambda x: x[x > 0], infer=lambda x: opsdk.TensorSpec((None,), x.dtype))

    @op.backward
    def backward(x, dy):
        raise AssertionError("compiled, it would read beyond dy")

    subject = first_order(op.opdef, Call([np.array([1.0, -2, 3])], {}), None)
    with pytest.raises(ShapeError, match=r"expected cotangents of the shapes \[\(3,\)\] here, got \[\(2,\)\]"):
        subject.vjp((np.ones(3),), (np.ones(3),), (np.ones(2),))


def test_the_plans_of_a_derivative_through_the_tape_are_made_once_for_each_kind_of_call(monkeypatch):
    made = []
    monkeypatch.setattr(tape, "make_plan", lambda *given, **beside: made.append(1) or make_plan(*given, **beside))
    assert examine(opsdk.find_op("square").opdef, samples=[opsdk.Sample(np.array([0.5, 2]))]).verdict == "pass"
    assert 0 < len(made) < 50  # some thousand calls


def test_a_second_backward_is_sent_zeros_for_the_gradient_of_an_input_that_is_absent(define):
    @define
    def scaled(x, w=None):
        return x * x if w is None else x * x * w

    @scaled.backward
    def scaled_grad(x, w, dy):
        return (2 * x * dy, None) if w is None else (2 * x * w * dy, x * x * dy)

    @scaled_grad.backward
    def scaled_grad_grad(x, w, dy, ddx, ddw):
        if w is None:
            return 2 * dy * ddx, None, 2 * x * ddx
        return 2 * w * dy * ddx + 2 * x * dy * ddw, 2 * x * dy * ddx, 2 * x * w * ddx + x * x * ddw

    assert opsdk.verify(scaled, samples=[opsdk.Sample(np.array([1.0, 2.0]))]).findings == ()


def of_vectors(define, forward, backward, count=1):
    op = define(forward, backward, infer=(lambda x: x) if count == 1 else (lambda x, z: x))
    op.samples(lambda rng: [opsdk.Sample(*rng.normal(size=(count, 4)))])
    return op


def test_a_backward_that_reads_what_the_last_forward_kept_is_found(define):
    kept = {}

    def forward(x):
        kept["mask"] = x > 0
        return np.maximum(x, 0)

    (finding,) = opsdk.verify(of_vectors(define, forward, lambda dy: dy * kept["mask"])).findings
    assert finding.check == "repeats.dx"
    assert finding.message == (
        "op 'planted::f', gradient of 'x': expected the same after another call of the op, got another; name in the "
        "backward what it reads, and keep nothing between calls"
    )


def test_a_backward_that_tells_one_array_passed_twice_from_two_is_found(define):
    def backward(x, z, dy):
        return (dy * x, np.zeros_like(x)) if np.shares_memory(x, z) else (dy * z, dy * x)

    (finding,) = opsdk.verify(of_vectors(define, lambda x, z: x * z, backward, count=2)).findings
    assert finding.check == "vjp.z"
    assert "expected the same for one array passed as 'x' and 'z' as for two equal ones" in finding.message


@pytest.mark.parametrize(("second", "found"), [(lambda x: 3 * x, {"nondifferentiable.m"}), (np.round, set())])
def test_a_nondifferentiable_output_beside_one_with_a_gradient_is_found_where_it_has_a_derivative(second, found):
    @opsdk.op("t::both(Tensor x) -> (Tensor y, Tensor m)", infer=lambda x: (x, x), nondifferentiable=["m"])
    def both(x):
        return 2 * x, second(x)

    both.backward(lambda dy: 2 * dy)
    report = opsdk.verify(both, samples=[opsdk.Sample(np.array([0.3, -1.2, 2.6]))])
    assert {finding.check for finding in report.findings} == found
