"""`accuracy=` of an op: its gradients of every order, and their kernels, beside the bound that its author declared."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.ship.describe.op_facts import facts_of


def define(error=0.0, second_error=0.0, **options):
    """Defines exp with a backward and a second order that are off by these shares."""

    @opsdk.op(namespace="accuracy", replace=True, **options)
    def growth(x):
        return np.exp(x)

    @growth.backward
    def growth_grad(x, dy):
        return (dy * np.exp(x) * (1.0 + error * np.cos(5.0 * x))).astype(x.dtype)

    @growth_grad.backward
    def growth_grad_grad(x, dy, ddx):
        return (ddx * dy * np.exp(x) * (1.0 + second_error)).astype(x.dtype), ddx * np.exp(x)

    return growth


SAMPLE = [opsdk.Sample(np.linspace(-1.0, 1.0, 6), reason="both signs")]


def test_a_gradient_within_its_accuracy_passes_and_the_report_says_so():
    report = opsdk.verify(define(1e-6, accuracy=1e-5), samples=SAMPLE)
    assert report.verdict == "pass"
    said = "accuracy::growth, vjp: declared accurate to 1e-05 of the gradient's largest element, the largest error met"
    assert any(note.startswith(said) for note in report.coverage.notes)


def test_an_accuracy_that_is_not_met_is_a_finding_with_bound_and_error():
    report = opsdk.verify(define(1e-3, accuracy=1e-5), samples=SAMPLE)
    assert report.verdict == "fail"
    assert "1e-05 of the gradient's largest element as declared, got" in report.findings[0].message


def test_a_second_order_beyond_it_is_a_finding():
    report = opsdk.verify(define(second_error=1e-3, accuracy=1e-5), samples=SAMPLE)
    assert [(finding.op, finding.check) for finding in report.findings] == [
        ("accuracy::growth_grad", "vjp.x"),
        ("accuracy::growth", "vjp2.x"),
    ]


def test_kernels_of_the_gradient_may_be_off_by_it_and_those_of_the_op_may_not():
    op = define(accuracy=1e-2)

    @op.kernel("cpu", language="numba")
    def growth_numba(x, y):
        for i in range(x.size):
            y.flat[i] = np.exp(x.flat[i]) * (1.0 + 1e-3)

    @op.grad.kernel("cpu", language="numba")
    def growth_grad_numba(x, dy, dx):
        for i in range(x.size):
            dx.flat[i] = dy.flat[i] * np.exp(x.flat[i]) * (1.0 + 1e-3)

    report = opsdk.verify(op, samples=SAMPLE)
    assert [finding.check for finding in report.findings] == ["value.y"]


def test_show_says_how_accurate_the_gradient_is():
    assert "gradient accurate to 1e-05" in facts_of(define(accuracy=1e-5)).declared


@pytest.mark.parametrize("accuracy", [0.0, 0.2, "1e-5", True])
def test_what_is_no_accuracy_is_refused_at_definition(accuracy):
    with pytest.raises(DefinitionError, match=r"accuracy: expected a share of the gradient's largest element, above 0"):
        define(accuracy=accuracy)
