"""A gradient kernel of a short dtype may be off by what the reference loses in that dtype, and by no more."""

from dataclasses import replace

import numpy as np
import pytest

from opsdk.verify.conceded import within_rounding
from opsdk.verify.derivative import check_gradient
from opsdk.verify.inputs.calls import Call
from opsdk.verify.session import Session
from opsdk.verify.subjects import first_order

# Of each row one number is all but 1: what is left of dy - sum(y dy) there is the rounding of y to float32.
STEEP = np.array([[41.0, 29.0, 11.0, 7.0], [3.0, 16.0, -9.0, 1.0], [-5.0, -4.0, 12.0, -1.5]])


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_grad(y, dy):
    return y * (dy - (y * dy).sum(axis=-1, keepdims=True))


def in_order(y, dy):
    total = np.zeros(len(y), np.float32)
    for j in range(y.shape[1]):
        total = total + y[:, j] * dy[:, j]
    return total[:, None]


def in_more_digits(y, dy):
    return softmax_grad(y.astype("float64"), dy).astype("float32")


def judged(define, row, x=STEEP):
    op = define(softmax, softmax_grad)
    op.grad.kernel("cpu", row, language="numpy", dtype="float32")
    session = Session(op.opdef, [Call([x], {}, reason="saturated")], 0, 2000, rows=("cpu,float32,numpy",))
    check_gradient(session)
    return list(session.findings.values())


RIGHT = {
    "in float64, of float32 outputs": in_more_digits,
    "in float32": lambda y, dy: y * (dy - in_order(y, dy)),
    "in two terms": lambda y, dy: y * dy - y * in_order(y, dy),
}
WRONG = {
    "a term dropped": lambda y, dy: y * dy,
    "factor": lambda y, dy: np.float32(1.5) * y * (dy - in_order(y, dy)),
    "sign": lambda y, dy: -y * (dy - in_order(y, dy)),
    "a last term dropped": lambda y, dy: y * (dy - in_order(y[:, :-1], dy[:, :-1])),
    "index": lambda y, dy: (y * (dy - in_order(y, dy)))[:, ::-1].copy(),
    "the first row's": lambda y, dy: y * (dy - in_order(y[:1], dy[:1])),
}


def of_each(rows, quick):
    slow = pytest.mark.slow  # every kind of kernel; the first of them stand for the others in make test
    return [pytest.param(row, id=name, marks=[slow] * (k >= quick)) for k, (name, row) in enumerate(rows)]


@pytest.mark.parametrize("right", of_each(RIGHT.items(), 1))
def test_a_gradient_that_is_off_by_the_rounding_of_what_was_saved_is_right(define, right):
    assert [finding.message for finding in judged(define, right)] == []


def test_digits_that_float32_takes_back_by_chance_are_no_fault_of_a_kernel_that_keeps_them(define):
    x = 30 * np.random.default_rng(7).normal(size=(1, 5))  # summed in float32 the row is 1 again, and dx exactly 0
    assert [finding.message for finding in judged(define, in_more_digits, x)] == []


@pytest.mark.parametrize("wrong", of_each(WRONG.items(), 2))
def test_a_wrong_gradient_is_found_beside_that_rounding(define, wrong):
    assert "vjp.x" in {finding.check for finding in judged(define, wrong)}


def test_what_is_off_by_rounding_is_replaced_and_what_is_off_by_more_is_kept(define):
    op = define(softmax, softmax_grad)

    @op.grad.kernel("cpu", language="numpy", dtype="float32")
    def row(y, dy):
        made = in_more_digits(y, dy)
        made[2, 1] += np.float32(1e-5)
        return made

    short = np.dtype("float32")
    call = Call([STEEP.astype(short)], {})
    kernel = next(k for k in op.grad.opdef.kernels if k.key.dtype == short)
    subject = within_rounding(op.opdef, call, first_order(op.opdef, call, kernel), short, 0)
    y, dy = softmax(STEEP), np.ones((3, 4))
    dy[:, 0] = -0.5
    (got,) = subject.vjp([STEEP.astype(short)], [softmax(STEEP.astype(short))], [dy.astype(short)])
    right = softmax_grad(y, dy)
    assert got.dtype == short
    assert got[2, 1] == pytest.approx(right[2, 1] + 1e-5, rel=1e-2)
    got[2, 1] = right[2, 1]
    np.testing.assert_allclose(got, right, rtol=1e-6)


@pytest.mark.parametrize("held_to", ["float64", "float32"])
def test_beside_a_reference_that_runs_in_one_dtype_alone_nothing_is_replaced(define, held_to):
    def narrow(x):
        if x.dtype != held_to:
            raise TypeError(f"expected {held_to}")
        return softmax(x)

    op = define(narrow, softmax_grad)
    short = np.dtype("float32")
    call = Call([STEEP.astype(short)], {})
    given = [STEEP.astype(short)], [softmax(STEEP.astype(short))], [np.ones((3, 4), short)]
    plain = replace(first_order(op.opdef, call, None), vjp=lambda *_: (STEEP.astype(short),))
    (got,) = within_rounding(op.opdef, call, plain, short, 0).vjp(*given)
    assert got.tobytes() == STEEP.astype(short).tobytes()
