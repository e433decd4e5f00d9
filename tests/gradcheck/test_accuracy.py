"""`accuracy=`: gradients that approximate, held to the bound that was declared of them."""

import json

import numpy as np
import pytest

import gradcheck

X = np.linspace(-1.0, 1.0, 7)
MATRIX = np.random.default_rng(0).normal(size=(5, 7))


def mixed(x, a):
    return a @ np.sin(x)


def mixed_vjp(error):
    """Gives the vjp of `mixed` with an error of that share of the largest element, of another sign in each."""

    def vjp(inputs, outputs, cotangents):
        x, a = inputs
        gradient = (a.T @ cotangents[0]) * np.cos(x)
        largest = np.abs(gradient).max()
        return gradient + error * largest * np.where(np.arange(x.size) % 2, 1.0, -1.0), np.outer(
            cotangents[0], np.sin(x)
        )

    return vjp


def elementwise_vjp(error):
    return lambda inputs, outputs, cotangents: (cotangents[0] * outputs[0] * (1.0 + error * np.cos(9.0 * inputs[0])),)


@pytest.mark.parametrize(
    ("forward", "vjp", "inputs"), [(np.exp, elementwise_vjp, (X,)), (mixed, mixed_vjp, (X, MATRIX))]
)
def test_an_error_within_the_declared_accuracy_passes_and_one_beyond_it_fails(forward, vjp, inputs):
    assert gradcheck.check(forward, vjp(5e-6), inputs, accuracy=1e-5, budget=2000).verdict == "pass"
    assert gradcheck.check(forward, vjp(5e-5), inputs, accuracy=1e-5, budget=2000).verdict == "fail"


def test_the_same_error_fails_where_nothing_is_declared():
    assert gradcheck.check(np.exp, elementwise_vjp(5e-6), (X,), budget=2000).verdict == "fail"


def test_a_finding_says_the_bound_and_the_error():
    report = gradcheck.check(np.exp, lambda i, o, c: (1.01 * c[0] * o[0],), (np.array([0.0]),), accuracy=1e-3)
    assert "expected an error of at most 0.00" in report.findings[0].message
    assert "0.001 of the gradient's largest element as declared, got 0.01" in report.findings[0].message


def test_a_wrong_sign_and_a_transposed_factor_fail_at_the_coarsest_accuracy_too():
    negative = gradcheck.check(np.exp, lambda i, o, c: (-c[0] * o[0],), (X,), accuracy=0.1, budget=2000)
    turned = gradcheck.check(
        lambda x, a: a @ x,
        lambda i, o, c: (i[1] @ c[0], np.outer(c[0], i[0])),
        (X[:5], MATRIX[:, :5]),
        accuracy=0.1,
        budget=2000,
    )
    assert negative.verdict == turned.verdict == "fail"


def test_text_json_and_html_say_what_was_declared_and_met():
    report = gradcheck.check(np.exp, elementwise_vjp(5e-6), (X,), accuracy=1e-5, budget=2000)
    coverage = json.loads(gradcheck.to_json(report))["coverage"]
    assert coverage["accuracy"] == 1e-5
    assert 1e-6 < coverage["largest_error"] <= 5.1e-6
    said = "errors up to 1e-05 of the gradient's largest element are declared, the largest met is 5.0e-06"
    assert f"accuracy {said}" in gradcheck.render_text(report)
    assert said.replace("'", "&#x27;") in gradcheck.render_html(report)


def test_an_exact_gradient_is_said_to_be_held_to_no_accuracy():
    report = gradcheck.check(np.exp, elementwise_vjp(0.0), (X,), budget=2000)
    assert (report.coverage.accuracy, report.coverage.largest_error) == (0.0, 0.0)
    assert "accuracy" not in gradcheck.render_text(report)


def test_second_derivatives_are_held_to_it_too():
    def vjp2(error):
        def made(inputs, cotangents, gradients, weights):
            slope = weights[0] * np.exp(inputs[0])
            return (slope * cotangents[0] * (1.0 + error),), (slope,)

        return made

    right, wrong = (
        gradcheck.check(np.exp, elementwise_vjp(0.0), (X,), vjp2=vjp2(error), accuracy=1e-4, vary=False)
        for error in (5e-5, 1e-3)
    )
    assert right.verdict == "pass"
    assert [finding.check for finding in wrong.findings][:1] == ["vjp2 value"]


def test_a_tangent_is_held_to_it_too():
    def jvp(error):
        return lambda inputs, tangents: (tangents[0] * np.exp(inputs[0]) * (1.0 + error),)

    right, wrong = (
        gradcheck.check(np.exp, elementwise_vjp(0.0), (X,), jvp=jvp(error), accuracy=1e-4, vary=False)
        for error in (5e-5, 1e-3)
    )
    assert right.verdict == "pass"
    assert "jvp value" in [finding.check for finding in wrong.findings]


@pytest.mark.parametrize("accuracy", [0.0, -1e-5, 0.5, np.nan, True, "1e-5"])
def test_what_is_no_accuracy_is_refused(accuracy):
    with pytest.raises(gradcheck.UsageError, match="accuracy: expected a share of the gradient's largest element"):
        gradcheck.check(np.exp, elementwise_vjp(0.0), (X,), accuracy=accuracy)
