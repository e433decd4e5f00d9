"""A backward is held to the surrogate that its op declares."""

import numpy as np
import pytest

import gradcheck
import opsdk
from opsdk.ship.describe import catalog
from opsdk.verify import verify


def straight(x):
    return x.copy()


def round_half(x):
    return np.round(x)


def test_a_straight_through_gradient_is_judged_and_right(define):
    report = verify(define(round_half, lambda dy: dy.copy(), surrogate=straight))
    assert report.findings == ()
    assert report.verdict == "pass"
    assert report.coverage.tested > 20
    assert "planted::f: judged as the gradient of the declared surrogate" in report.coverage.notes
    assert not any("not compared" in note for note in report.coverage.notes)


def test_a_gradient_that_is_not_the_surrogates_is_found(define):
    report = verify(define(round_half, lambda dy: 2 * dy, surrogate=straight))
    assert report.verdict == "fail"
    assert {finding.check for finding in report.findings} == {"vjp.x"}
    assert "yours 2, derivative 1" in report.findings[0].message


def test_the_gradient_of_the_forward_is_wrong_beside_another_surrogate(define):
    report = verify(define(lambda x: np.sin(x), lambda x, dy: dy * np.cos(x), surrogate=straight))
    assert {finding.check for finding in report.findings} == {"vjp.x"}


def test_every_row_of_the_gradient_is_held_to_it(define):
    op = define(round_half, lambda x, dy: dy * (np.abs(x) <= 1), surrogate=lambda x: np.clip(x, -1.0, 1.0))

    def row(x, dy):
        return dy * 1.0

    op.grad.kernel("cpu", row, language="numpy", dtype="float32")
    report = verify(op)
    assert {f.row for f in report.findings if f.check == "vjp.x" and f.op == "planted::f"} == {"cpu,float32,numpy"}


def test_inputs_go_by_name_and_attributes_reach_the_surrogate(define):
    def quantise(x, step, *, low: float = -2.0, high: float = 3.0):
        return step * np.round(np.clip(x / step, low, high))

    def surrogate(step, x, *, high, low):
        ratio = np.clip(x / step, low, high)
        return step * (ratio + gradcheck.stop_gradient(np.round(ratio) - ratio))

    def backward(x, step, dy, low, high):
        ratio = x / step
        inside = (ratio > low) & (ratio < high)
        dstep = dy * np.where(inside, np.round(ratio) - ratio, np.clip(ratio, low, high))
        return dy * inside, np.sum(dstep)

    def samples(rng):
        yield opsdk.Sample(rng.normal(size=(3, 4)), np.array(0.4), reason="a learned step")
        yield opsdk.Sample(rng.normal(size=6), np.array(0.7), low=-1.0, high=1.0, reason="other bounds")

    options = {"surrogate": surrogate, "domain": {"step": (0.1, 4.0)}, "infer": lambda x, step, low, high: x}
    op = define(quantise, backward, **options)
    op.samples(samples)
    assert [finding.message for finding in verify(op).findings] == []

    def forgets_rounding(x, step, dy, low, high):
        dx, _ = backward(x, step, dy, low, high)
        return dx, np.sum(dy * np.clip(x / step, low, high))

    op = define(quantise, forgets_rounding, replace=True, **options)
    op.samples(samples)
    assert {finding.check for finding in verify(op).findings} == {"vjp.step"}


def test_a_surrogate_of_another_shape_or_that_raises_is_found(define):
    report = verify(define(round_half, lambda dy: dy.copy(), surrogate=lambda x: np.sum(x)))
    assert "vjp.surrogate" in {finding.check for finding in report.findings}
    assert report.findings[0].message.startswith("op 'planted::f', surrogate: expected ")

    def broken(x):
        raise RuntimeError("not written")

    report = verify(define(round_half, lambda dy: dy.copy(), surrogate=broken, replace=True))
    assert "RuntimeError: not written" in report.findings[0].message


@pytest.mark.parametrize(
    ("surrogate", "has_kernel", "is_told"),
    [
        (straight, False, True),
        (True, False, True),
        (straight, True, False),
        (lambda x: x + gradcheck.stop_gradient(np.round(x) - x), False, False),
    ],
    ids=["other values", "none given", "a kernel", "the same values"],
)
def test_it_is_said_where_nothing_judges_the_values(define, surrogate, has_kernel, is_told):
    op = define(round_half, lambda dy: dy.copy(), surrogate=surrogate)
    if has_kernel:
        op.kernel("cpu", lambda x: np.rint(x), language="numpy", dtype="float64")
    report = verify(op)
    told = "planted::f: its values are compared with nothing, since the gradient is a surrogate's, and no kernel is "
    assert [text.startswith(told) for text in report.coverage.skipped if "its values are" in text] == [True] * is_told
    by_surrogate = "planted::f: its values are those of the declared surrogate" in report.coverage.notes
    assert by_surrogate == (not has_kernel and not is_told)


def test_the_identity_is_a_surrogate_that_hands_its_input_on(define):
    assert verify(define(round_half, lambda dy: dy.copy(), surrogate=lambda x: x)).verdict == "pass"


def test_of_several_outputs_the_surrogate_gives_each(define):
    @opsdk.op(
        "planted::codes(Tensor x) -> (Tensor y, Tensor half, Tensor code)",
        nondifferentiable=["code"],
        infer=lambda x: (x, x, x),
        surrogate=lambda x: (x, x / 2, np.zeros_like(x)),
    )
    def codes(x):
        return np.round(x), np.round(x / 2), np.round(x) % 2

    sample = opsdk.Sample(np.array([0.3, -1.2, 2.6]))
    codes.backward(lambda dy, dhalf: dy + dhalf / 2)
    assert verify(codes, samples=[sample]).verdict == "pass"
    codes.backward(lambda dy, dhalf: dy + dhalf, replace=True)
    assert {finding.check for finding in verify(codes, samples=[sample]).findings} == {"vjp.x"}


def test_the_page_of_an_op_names_its_surrogate(define):
    op = define(round_half, lambda dy: dy.copy(), surrogate=straight)
    assert "the derivative of the surrogate straight" in catalog.derivative_of(op.opdef)


def test_a_surrogate_of_an_op_with_residuals_is_told_to_return_them_too(define):
    @opsdk.op(
        "planted::kept(Tensor x) -> Tensor y, residuals (Tensor slope)",
        infer=lambda x: (x, x),
        surrogate=lambda x: np.sin(x),
    )
    def kept(x):
        return np.round(x), np.cos(x)

    sample = opsdk.Sample(np.array([0.3, -1.2, 2.6]))
    kept.backward(lambda slope, dy: dy * slope)
    (finding,) = verify(kept, samples=[sample]).findings
    assert finding.check == "vjp.surrogate"
    assert finding.help == "a surrogate returns what the op does, residuals too: (y, residual slope)"
