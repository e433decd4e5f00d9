from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def relu_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * (inputs[0] > 0),)


def sin_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def test_a_right_relu_passes_and_says_what_it_saw() -> None:
    report = gradcheck.check(relu, relu_vjp, (X,))
    assert report.verdict == "pass"
    assert report.findings == ()
    assert report.coverage.tested >= X.size
    assert report.coverage.smallest_error_seen <= 1e-8
    assert report.coverage.points[0] == "the given inputs"


def test_a_finding_names_input_count_index_and_both_values() -> None:
    def passes_everything(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0].copy(),)

    report = gradcheck.check(relu, passes_everything, (X,))
    (finding,) = report.findings
    assert (finding.check, finding.input, finding.index) == ("vjp value", "x", (0, 1))
    assert (finding.analytic, finding.numeric) == (1.0, 0.0)
    assert finding.message.startswith(
        "gradient of 'x': wrong in 2 of 6 elements, worst x[0, 1] = -1.2: yours 1, derivative 0 ± "
    )
    assert finding.cause == "wrong exactly where x < 0; there yours equals the cotangent"


def test_equal_seeds_give_equal_reports() -> None:
    assert gradcheck.check(relu, relu_vjp, (X,), seed=7) == gradcheck.check(relu, relu_vjp, (X,), seed=7)


def test_without_variation_only_the_given_inputs_are_judged() -> None:
    report = gradcheck.check(relu, relu_vjp, (X,), vary=False)
    assert report.coverage.points == ("the given inputs",)


def test_variation_finds_a_fault_that_the_given_inputs_hide() -> None:
    def for_positive(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * np.ones_like(inputs[0]),)

    assert gradcheck.check(relu, for_positive, (np.abs(X),), vary=False).verdict == "pass"
    (finding,) = gradcheck.check(relu, for_positive, (np.abs(X),)).findings
    assert finding.message.endswith("at signs flipped")


def test_the_domain_is_never_left() -> None:
    seen = []

    def watched(x: Any) -> Any:
        seen.append((x.min(), x.max()))
        return np.sqrt(x)

    report = gradcheck.check(
        watched, lambda i, o, c: (c[0] / (2 * o[0]),), (np.array([1e-3, 0.5, 1.0]),), domain=(1e-4, 1.0)
    )
    assert report.verdict == "pass"
    assert min(low for low, _ in seen) >= 1e-4
    assert max(high for _, high in seen) <= 1.0


def test_a_kink_convention_outside_the_interval_fails() -> None:
    def two_at_zero(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * np.where(inputs[0] == 0, 2.0, inputs[0] > 0),)

    report = gradcheck.check(relu, two_at_zero, (np.array([0.0, 1.0, -1.0]),))
    assert report.findings[0].index == (0,)
    assert "derivative in [0, 1]" in report.findings[0].message


def test_a_kink_convention_inside_the_interval_is_reported() -> None:
    report = gradcheck.check(relu, relu_vjp, (np.array([0.0, 1.0, -1.0]),))
    assert "x[0] = 0: yours 0, any value in [0, 1] is right" in report.coverage.kinks


def test_infinite_slopes_and_jumps_are_skipped_and_counted() -> None:
    report = gradcheck.check(
        np.sqrt, lambda i, o, c: (c[0] / (2 * o[0]),), (np.array([0.0, 1.0]),), names=["x"], vary=False
    )
    assert report.verdict == "pass"
    assert report.coverage.skipped == (("the slope is infinite there", 1),)
    report = gradcheck.check(np.floor, lambda i, o, c: (0 * c[0],), (np.array([2.0, 0.5]),), names=["x"], vary=False)
    assert "gradient of 'x': not judged at x[0] = 2, as the function jumps there" in report.coverage.notes
    assert report.coverage.skipped == (("the function jumps there", 1),)


def test_outputs_without_a_finite_value_are_inconclusive() -> None:
    report = gradcheck.check(np.log, lambda i, o, c: (c[0] / i[0],), (np.array([-1.0, -2.0]),), vary=False)
    assert report.verdict == "inconclusive"
    assert report.coverage.notes == ("no output is finite at the given inputs; check where the function is defined",)


def test_a_forward_that_cannot_be_resolved_is_inconclusive() -> None:
    report = gradcheck.check(
        lambda x: np.float32(1e8) + x.astype(np.float32),
        lambda i, o, c: (c[0].astype(i[0].dtype),),
        (np.array([0.5, 1.5]),),
        vary=False,
    )
    assert report.verdict == "inconclusive"
    assert report.coverage.notes == ("gradient of 'x': no element could be judged sharply",)


def test_a_declared_input_with_a_derivative_fails() -> None:
    report = gradcheck.check(
        lambda x, t: x * t, lambda i, o, c: (c[0] * i[1], None), (X, X + 3), nondifferentiable=("t",)
    )
    (finding,) = report.findings
    assert (finding.check, finding.input) == ("nondifferentiable", "t")
    assert "expected derivative 0, as t is declared non-differentiable" in finding.message


def test_warnings_of_the_subject_stay_inside() -> None:
    report = gradcheck.check(lambda x: np.log(x), lambda i, o, c: (c[0] / i[0],), (np.array([1.0, 0.0, -1.0]),))
    assert report.verdict == "pass"


def test_a_vjp_that_raises_is_a_finding() -> None:
    def broken(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        raise KeyError("saved")

    (finding,) = gradcheck.check(np.sin, broken, (X,)).findings
    assert finding.check == "vjp raises"
    assert "expected gradients, got KeyError: 'saved'" in finding.message


def test_a_forward_that_raises_is_a_usage_error_with_its_cause() -> None:
    def broken(x: Any) -> Any:
        raise KeyError("table")

    with pytest.raises(gradcheck.UsageError, match="expected it to accept the given inputs, got KeyError") as caught:
        gradcheck.check(broken, sin_vjp, (X,))
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.__notes__ == [
        "gradcheck.check: forward raised at the given inputs, so nothing was judged"
    ]


@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_a_seed_that_is_no_natural_number_is_refused(seed: Any) -> None:
    with pytest.raises(gradcheck.UsageError, match="seed: expected an integer >= 0, got"):
        gradcheck.check(relu, relu_vjp, (X,), seed=seed)


def test_an_output_shape_that_depends_on_values_is_a_finding() -> None:
    def filtered(x: Any) -> Any:
        return x[x >= 1.0] * 2

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        gradient = np.zeros_like(inputs[0])
        gradient[inputs[0] >= 1.0] = 2 * cotangents[0]
        return (gradient,)

    report = gradcheck.check(filtered, vjp, (np.array([1.0, 2.0]),), vary=False)
    assert "output shape" in {finding.check for finding in report.findings}


def test_a_faulty_float32_kernel_beside_a_right_float64_one_fails() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        factor = 1 if inputs[0].dtype == np.float64 else inputs[0].dtype.type(1.01)
        return (cotangents[0] * np.cos(inputs[0]) * factor,)

    (finding,) = gradcheck.check(np.sin, vjp, (X.astype(np.float32),)).findings
    assert finding.check == "short dtype"
    assert "expected float32 to agree with float64 up to rounding" in finding.message


def test_a_small_budget_still_judges() -> None:
    report = gradcheck.check(lambda a, b: a @ b, _matmul_vjp, (X, X.T.copy()), budget=1000)
    assert report.verdict == "pass"
    assert report.coverage.evaluations < 2500


def _matmul_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return cotangents[0] @ inputs[1].T, inputs[0].T @ cotangents[0]


@pytest.mark.parametrize("most", range(1, 90, 4))
def test_a_vjp_that_tires_gives_a_report_and_no_traceback(most: int) -> None:
    calls = []

    def tired(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        calls.append(1)
        if len(calls) > most:
            raise RuntimeError("tired")
        return sin_vjp(inputs, outputs, cotangents)

    report = gradcheck.check(np.sin, tired, (X,), jvp=lambda i, t: t[0] * np.cos(i[0]))
    assert report.verdict in ("pass", "fail")


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_seconds_that_are_not_positive_are_refused(budget: float) -> None:
    with pytest.raises(gradcheck.UsageError, match=r"budget: expected seconds > 0, got .*; an integer counts forward"):
        gradcheck.check(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]),), (np.ones(2),), budget=budget)


def test_an_unknown_kind_of_variation_is_refused() -> None:
    text = "vary: expected True, False or some of values, zeros, sizes, got 'value'"
    with pytest.raises(gradcheck.UsageError, match=text):
        gradcheck.check(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]),), (np.ones(2),), vary="value")


@pytest.mark.parametrize("which", ["forward", "vjp"])
def test_a_function_that_exits_is_no_end_of_the_caller(which):
    def leave(*arguments):
        raise SystemExit(0)

    functions = {"forward": lambda x: x * 2.0, "vjp": lambda inputs, outputs, cotangents: (cotangents[0] * 2.0,)}
    functions[which] = leave
    with pytest.raises(gradcheck.UsageError, match=r"to return or to raise an error, got SystemExit\(0\); nothing"):
        gradcheck.check(functions["forward"], functions["vjp"], (np.ones(3),))


def test_an_input_that_is_wrong_is_not_measured_again_at_other_values() -> None:
    def product_vjp(i: Any, o: Any, c: Any) -> Any:
        return c[0] * i[1], 2.0 * c[0] * i[0]

    inputs = (X, X + 1.0)
    report = gradcheck.check(np.multiply, product_vjp, inputs, vary="values", names=["x", "y"])
    assert [finding.input for finding in report.findings] == ["y"]
    points = len(report.coverage.points)
    assert points > 5
    assert report.coverage.tested == X.size * (points + 1)  # x at each point, y at the given inputs alone
