"""What `verify` says of a reference that has no number, though its inputs are finite."""

import numpy as np
import pytest

import opsdk

is_wide = pytest.mark.skipif(
    np.finfo(np.longdouble).maxexp <= np.finfo(np.float64).maxexp, reason="longdouble is float64 on this machine"
)


def overflowing(x):
    e = np.exp(x)
    return e / (1 + e)


def stable_grad(x, dy):
    s = 0.5 * (1 + np.tanh(0.5 * x))
    return dy * s * (1 - s)


def told_of(define, forward, *values, backward=None, reason="huge", kernel=None):
    op = define(forward, backward)
    op.samples(lambda rng: [opsdk.Sample(np.array([0.5, 2.0]))] + [opsdk.Sample(v, reason=reason) for v in values])
    if kernel is not None:
        op.kernel("cpu", language="numba", dtype="float64")(kernel)
    return opsdk.verify(op)


@is_wide
def test_nan_of_a_sample_is_found_where_longdouble_has_a_number(define):
    report = told_of(define, overflowing, np.array([-900.0, 800.0, 900.0]), backward=stable_grad)
    (finding,) = report.findings
    assert (finding.check, finding.row, finding.index) == ("value.y", "cpu,float64,numpy", (1,))
    assert finding.message.endswith(
        "output 'y': wrong in 2 of 3 elements, worst y[1] at x[1] = 800: this kernel gives nan, longdouble gives 1"
    )
    assert finding.sample == "(float64(3,)) huge"


@is_wide
def test_an_infinity_is_found_where_longdouble_has_a_number_that_float64_has_room_for(define):
    def norm(x):
        return np.sqrt(x * x) + 0 * np.exp(np.minimum(x, 0))

    (finding,) = told_of(define, norm, np.array([1e200, 2.0])).findings
    assert finding.message.endswith("worst y[0] at x[0] = 1e+200: this kernel gives inf, longdouble gives 1e+200")


@is_wide
def test_a_reference_that_computes_in_float64_is_widened_too(define):
    report = told_of(define, lambda x: overflowing(x.astype("float64")).astype(x.dtype), np.array([800.0]))
    assert [finding.message.rpartition(": ")[2] for finding in report.findings] == [
        "this kernel gives nan, longdouble gives 1"
    ]


@is_wide
def test_nan_of_a_gradient_is_found_where_longdouble_has_a_number(define):
    def stable(x):
        return 0.5 * (1 + np.tanh(0.5 * x))

    def overflowing_grad(x, dy):
        e = np.exp(x)
        return dy * e / (1 + e) ** 2

    report = told_of(define, stable, np.array([800.0]), backward=overflowing_grad)
    assert any("gives nan, longdouble gives" in f.message and f.check == "value.dx" for f in report.findings)


@pytest.mark.parametrize(
    ("forward", "value"), [(lambda x: np.exp(x), 800.0), (lambda x: 1 / x, 0.0), (lambda x: np.exp(1e9 * x), 1.0)]
)
def test_an_infinity_that_is_right_is_no_finding(define, forward, value):
    report = told_of(define, forward, np.array([value]))
    assert (report.findings, report.coverage.warnings[1:]) == ((), ())  # the first: it has no backward


def test_nan_that_cannot_be_shown_wrong_is_told_with_sample_and_element(define):
    report = told_of(define, lambda x: np.sqrt(x), np.array([4.0, -1.0]), reason="a root")
    assert report.findings == ()
    assert [text for text in report.coverage.warnings if "nan" in text] == [
        "planted::f: gives nan in 1 of 2 elements of sample (float64(2,)) a root, first at x[1] = -1; nothing is "
        "judged there, mend the reference, or say nan in the sample's reason where it is meant",
    ]


@is_wide
def test_a_stable_kernel_beside_a_reference_that_overflows_is_right(define):
    def stable(x, y):
        for i in range(x.size):
            y.flat[i] = 0.5 * (1 + np.tanh(0.5 * x.flat[i]))

    report = told_of(define, overflowing, np.array([800.0, 900.0, 1000.0]), backward=stable_grad, kernel=stable)
    assert [(finding.row, finding.check) for finding in report.findings] == [("cpu,float64,numpy", "value.y")]


def test_a_reference_that_overflows_beyond_every_format_is_blamed_and_not_the_kernel(define):
    def stable(x, y):
        for i in range(x.size):
            y.flat[i] = 0.5 * (1 + np.tanh(0.5 * x.flat[i]))

    report = told_of(define, overflowing, np.array([1e9]), backward=stable_grad, kernel=stable)
    (finding,) = report.findings
    assert (finding.row, finding.check) == ("cpu,float64,numpy", "value.y")
    assert finding.message.endswith(
        "output 'y': expected numbers of finite inputs, got nan in 1 of 1 elements, first y[0] at x[0] = 1e+09: the "
        "reference overflows where kernel numba (cpu, float64) gives 1"
    )


def test_a_kernel_that_differs_from_nan_of_no_overflow_is_told_with_the_doubt(define):
    def root(x, y):
        for i in range(x.size):
            y.flat[i] = np.sqrt(abs(x.flat[i]))

    report = told_of(define, lambda x: np.sqrt(x), np.array([-4.0]), kernel=root)
    (finding,) = report.findings
    assert (finding.row, finding.compare) == (
        "cpu,float64,numba",
        "the reference gives nan of finite inputs; mend that first, unless it is meant",
    )


def test_a_kernel_that_makes_no_nan_of_nan_is_told_what_is_to_be_decided_and_not_that_it_alone_is_wrong(define):
    def hidden(x, y):
        for i in range(x.size):
            y.flat[i] = 2 * x.flat[i] if x.flat[i] == x.flat[i] else 0.0

    report = told_of(define, lambda x: 2 * x, np.array([np.nan, 1.0]), kernel=hidden)
    (finding,) = report.findings
    assert finding.compare == (
        "nan or an infinity of the inputs makes nan in the reference and none in this kernel; decide which is meant"
    )
