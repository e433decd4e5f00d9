"""Ops that do not do the same at every call: findings, whatever verify was doing when they did another thing."""

import operator

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.rounding import Rounding


def raises(y):
    raise ZeroDivisionError("the cache is empty")


def refuses(y):
    raise ShapeError("op 'f': expected shape (3,), got (4,)")


UNSTEADY = {
    "raises": raises,
    "refuses": refuses,
    "one number": lambda y: np.zeros(()),
    "another shape": lambda y: np.zeros((2, *y.shape)),
    "another dtype": lambda y: y.astype("int32"),
    "complex": lambda y: y * 1j,
    "nothing": lambda y: None,
    "two": lambda y: (y, y),
}


# the calls at which the reference runs, is compared, repeated and moved
@pytest.mark.parametrize("first", [2, 3, 4, 6, 9, 14])
@pytest.mark.parametrize("what", UNSTEADY)
def test_a_forward_that_does_something_else_from_some_call_on_is_a_finding(define, what, first):
    calls = []

    def forward(x):
        calls.append(1)
        return x * x if len(calls) < first else UNSTEADY[what](x * x)

    report = opsdk.verify(define(forward, lambda x, dy: 2 * x * dy), budget=200)
    assert report.verdict == "fail"
    assert all("tests" in finding.at for finding in report.findings)


def test_what_an_op_does_at_a_later_call_is_said_to_be_its_own(define):
    calls = []

    def forward(x):
        calls.append(1)
        return x * x if len(calls) < 9 else raises(x)

    (finding,) = opsdk.verify(define(forward, lambda x, dy: 2 * x * dy), budget=200).findings
    assert finding.check == "runs"
    message = "expected its code to do the same at every call, ZeroDivisionError after others that ran: the cache is"
    assert message in finding.message


def test_a_backward_that_keeps_what_it_saw_by_address_is_a_finding_and_never_an_error():
    kept = {}

    def backward(x, dy):
        return 2 * kept.setdefault(x.ctypes.data % 64, x.copy()) * dy

    op = opsdk.op(name="f", namespace="planted")(lambda x: x * x)
    op.backward(backward)
    assert opsdk.verify(op).verdict == "fail"


def test_an_error_of_opsdk_itself_is_raised(define, monkeypatch):
    monkeypatch.setattr("opsdk.verify.run.check_layouts", operator.itemgetter(0))  # raises in no line of this file
    with pytest.raises(TypeError, match="'Session' object is not subscriptable"):
        opsdk.verify(define(lambda x: x * x, lambda x, dy: 2 * x * dy))


def test_runs_of_another_form_say_nothing_about_rounding():
    x = np.array([1.0, 2.0])
    call = Call((x,), {})
    shapes = iter([(3,), (2,), (2, 2)] * 20)
    (moved,) = Rounding(lambda there: [np.ones(next(shapes))], call, 1e-7, 0, center=[x]).together
    assert moved.shape == (2,)
    forms = iter([[x], [x, x], [x.astype("int64")], [np.ones(3)], [np.ones((2, 2))]] * 20)
    assert all(found is None for found in Rounding(lambda there: next(forms), call, 1e-7, 0).lost)
