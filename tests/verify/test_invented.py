"""Attribute values that verify invents: what shows at them only is said to, and is no finding far from the default."""

import numpy as np
import pytest

from opsdk.verify import render_text, verify
from opsdk.verify.inputs.calls import Invented


def smooth(x, *, beta: float = 1.0):
    size = np.abs(x)
    return np.where(size < beta, x * x / 2, beta * (size - beta / 2)).astype(x.dtype)


def smooth_grad(x, dy, beta):
    """Right where beta > 0, like what everybody writes."""
    return dy * np.clip(x, -abs(beta), abs(beta)).astype(x.dtype)


def values_tried(report):
    return [text.partition(", beta=")[2].partition(")")[0] for text in report.coverage.samples if "beta=" in text]


WARNING = (
    "planted::f is wrong at beta=-2.0, which was tried although the default is 1.0: refuse such values in the op, "
    'bound them by domain={"beta": (0, None)}, or give samples'
)


def test_a_fault_that_shows_at_a_value_of_another_sign_only_is_a_warning(define):
    report = verify(define(smooth, smooth_grad))
    assert (report.verdict, report.findings) == ("pass", ())
    assert WARNING in report.coverage.warnings
    assert f"note     {WARNING}" in render_text(report)
    assert max(row.worst_error or 0.0 for row in report.rows) < 1e-5  # that of the wrong gradient is not the op's


def test_a_fault_at_the_default_is_a_finding_and_no_warning(define):
    report = verify(define(smooth, lambda x, dy, beta: 2 * smooth_grad(x, dy, beta)))
    assert [finding.check for finding in report.findings] == ["vjp.x"]
    assert report.findings[0].help == ""
    assert not any("was tried" in text for text in report.coverage.warnings)


def test_bounds_of_an_attribute_hold_the_values_that_are_tried(define):
    assert values_tried(verify(define(smooth, smooth_grad))) == ["2.0", "-2.0"]
    for bounds, tried in {
        (0, None): ["2.0", "0.5"],
        (0.5, 1.5): ["1.25", "0.75"],
        (1.0, 1.0): [],
    }.items():
        report = verify(define(smooth, smooth_grad, domain={"beta": bounds}, replace=True))
        assert (bounds, values_tried(report)) == (bounds, tried)
        assert report.verdict == "pass"


def test_a_fault_at_a_value_that_bounds_allow_is_a_finding_whatever_its_sign(define):
    report = verify(define(smooth, smooth_grad, domain={"beta": (None, 1)}))
    assert values_tried(report) == ["-2.0"]
    assert [finding.check for finding in report.findings] == ["vjp.x"]


def test_a_whole_number_stays_inside_its_bounds(define):
    op = define(lambda x, *, n=2: x**n, lambda x, n, dy: dy * n * x ** (n - 1), domain={"n": (2, 5)})
    tried = [text for text in verify(op).coverage.samples if "n=" in text]
    assert tried == ["(float64(3, 5), n=3) another n"]


def test_an_infer_rule_that_raises_at_a_value_of_another_sign_is_not_asked_further(define):
    op = define(scaled, lambda by, dy: by * dy)

    @op.infer
    def scaled_infer(x, by):
        if by < 0:
            raise ValueError("planted")
        return x

    report = verify(op)
    assert (report.verdict, report.findings) == ("pass", ())
    assert [text.partition(",")[0] for text in report.coverage.warnings] == ["planted::f is wrong at by=-2.0"]


def scaled(x, *, by: float = 1.0):
    return by * x


def test_another_fault_at_a_value_that_was_invented_says_so(define):
    report = verify(define(scaled, lambda dy: 1 * dy))
    finding = report.findings[0]
    assert "by=2.0" in finding.sample
    assert finding.help == (
        "by=2.0 was tried by verify, the default is 1.0: where it is not meant to be given, refuse such values in the "
        'op, bound them by domain={"by": (least, greatest)}, or give samples'
    )
    assert f"  help     {finding.help}" in render_text(report).splitlines()


def test_a_flag_has_no_bounds(define):
    report = verify(define(lambda x, *, twice=False: 2 * x if twice else 1 * x, lambda dy: dy * 1))
    assert report.findings[0].help == (
        "twice=True was tried by verify, the default is False: where it is not meant to be given, refuse such values "
        "in the op, or give samples"
    )


@pytest.mark.parametrize(
    ("value", "default", "far", "bounds"),
    [
        (-2.0, 1.0, True, "(0, None)"),
        (2.0, -1.0, True, "(None, 0)"),
        (0, 1, True, "(1, None)"),
        (0, -1, True, "(None, -1)"),
        (2.0, 1.0, False, "(least, greatest)"),
        (-0.3, 0.0, False, "(least, greatest)"),
        (1, 0, False, "(least, greatest)"),
    ],
)
def test_another_sign_than_the_default_is_far(value, default, far, bounds):
    invented = Invented("k", value, default)
    assert invented.is_far is far
    assert invented.remedies == (
        f'refuse such values in the op, bound them by domain={{"k": {bounds}}}, or give samples'
    )
