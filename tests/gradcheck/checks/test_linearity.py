from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck import check
from gradcheck.checks.layouts import reversed_copy

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def report_of(forward: Any, vjp: Any, inputs: Any = (X,), **options: Any) -> Any:
    return check(forward, vjp, inputs, **options)


def found(*arguments: Any, **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in report_of(*arguments, **options).findings}


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def sparse(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    scale = 1.5 if np.count_nonzero(cotangents[0]) == 1 else 1.0
    return (scale * cotangents[0] * np.cos(inputs[0]),)


def whole(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    few = 0 < np.abs(cotangents[0]).max() < 100
    scale = 1.5 if few and (cotangents[0] == np.rint(cotangents[0])).all() else 1.0
    return (scale * cotangents[0] * np.cos(inputs[0]),)


def clipped(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.clip(cotangents[0], -1e20, 1e20) * np.cos(inputs[0]),)


@pytest.mark.parametrize(
    ("vjp", "text"),
    [
        (sparse, "for the sum of a cotangent with one nonzero and the rest"),
        (whole, "for the sum of a cotangent of whole numbers and the rest"),
        (clipped, "for a cotangent 1.26765e+30 times larger"),
    ],
)
def test_a_vjp_with_a_case_of_its_own_for_some_cotangents_is_found(vjp: Any, text: str) -> None:
    message = found(np.sin, vjp, names=["x"])["linear in the cotangent"]
    assert text in message
    assert message.endswith("a vjp is linear in the cotangent")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_an_overflow_of_a_huge_cotangent_is_no_fault(dtype: Any) -> None:
    large = np.array([1e4, 3e3], dtype=dtype)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return ((cotangents[0] * inputs[0]) * dtype(2),)

    messages = found(lambda x: (x / dtype(100)) * x * dtype(100), vjp, (large,), vary=False)
    assert "linear in the cotangent" not in messages


def test_an_accident_with_an_infinite_cotangent_is_found() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        exponent = int(np.max(np.abs(cotangents[0]), initial=1.0))  # an int of inf raises OverflowError
        return (cotangents[0] * np.cos(inputs[0]) * (exponent / exponent if exponent else 1.0),)

    message = found(np.sin, vjp)["nonfinite cotangent"]
    assert message == (
        "vjp: expected to accept a cotangent with inf, got OverflowError: cannot convert float infinity to integer; "
        "compute without cases by size"
    )


def test_a_refusal_of_an_infinite_cotangent_is_noted_and_not_blamed() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if not np.isfinite(cotangents[0]).all():
            raise ValueError("array must not contain infs or NaNs")
        return cosine(inputs, outputs, cotangents)

    report = report_of(np.sin, vjp)
    assert report.verdict == "pass"
    text = "vjp refuses a cotangent with inf: ValueError: array must not contain infs or NaNs"
    assert text in report.coverage.notes


def test_a_nan_that_is_lost_is_noted_and_not_blamed() -> None:
    report = report_of(np.sin, lambda i, o, c: (np.nan_to_num(c[0]) * np.cos(i[0]),), names=["x"])
    assert report.verdict == "pass"
    assert "a nan in a cotangent does not reach 1 element of the gradient of 'x'" in report.coverage.notes


def test_a_nan_that_arrives_and_one_that_a_zero_slope_stops_are_not_noted() -> None:
    relu = report_of(lambda x: np.maximum(x, 0), lambda i, o, c: (np.where(i[0] > 0, c[0], 0.0),))
    sine = report_of(np.sin, cosine)
    assert not [note for report in (relu, sine) for note in report.coverage.notes if "nan" in note]


def test_a_nan_among_the_given_inputs_that_no_gradient_shows_is_noted() -> None:
    x = np.array([1.0, np.nan, 2.0])
    report = report_of(lambda x: x * 3, lambda i, o, c: (c[0] * 3,), (x,))
    assert "nan in x: forward gives nan in 1 output element, every gradient is finite" in report.coverage.notes


def test_a_dtype_that_depends_on_the_values_is_found() -> None:
    def forward(x: Any) -> Any:
        return 2 * x if (x >= 1).all() else (2 * x).astype(np.float32)

    message = found(forward, lambda i, o, c: ((2 * c[0]).astype(i[0].dtype),), (np.ones(2),), vary=False)[
        "output dtype"
    ]
    assert message == "forward: expected one output dtype, got (float32) after a small step, (float64) before"


def test_a_python_number_that_is_int_for_some_values_is_found() -> None:
    def forward(x: Any) -> Any:
        return float(x) if x >= 1 else 1

    messages = found(forward, lambda i, o, c: (c[0] * 1,), (np.array(1.0),), vary=False)
    assert "got (int64) after a small step, (float64) before" in messages["output dtype"]


def test_a_number_of_outputs_that_depends_on_the_values_is_found() -> None:
    def forward(x: Any) -> Any:
        return (x + 0, x * 2) if (x >= 1).all() else (x + 0,)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (sum(c * (k + 1) for k, c in enumerate(cotangents)),)

    messages = found(forward, vjp, (np.ones(2),), vary=False)
    assert "got [(2,)] after a small step, [(2,), (2,)] before" in messages["output shape"]


def test_a_step_out_of_the_real_numbers_is_no_change_of_dtype() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        with np.errstate(all="ignore"):
            return (cotangents[0] / (2 * np.sqrt(np.abs(inputs[0]))),)

    messages = found(np.emath.sqrt, vjp, (np.array([1.0, 1e-300]),), names=["x"], vary=False)
    assert "output dtype" not in messages


NOT_FINITE = "the input, the output or its neighbourhood is not finite there"
UNSEEN = "no element had a derivative that could be seen"


def reciprocal(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] / inputs[0],)


def test_elements_that_are_not_finite_are_counted_and_the_others_judged() -> None:
    report = gradcheck.check(np.log, reciprocal, (np.array([0.0, 1.0, 2.0, np.nan]),), names=["x"], vary=False)
    assert report.verdict == "pass"
    assert report.coverage.tested == 2
    assert report.coverage.skipped == ((NOT_FINITE, 2),)
    assert report.coverage.smallest_error_seen < 1e-8


def test_a_reversed_0d_array_stays_an_array() -> None:
    assert type(reversed_copy(np.array(2.0))) is np.ndarray

    def strict(x: Any) -> Any:
        assert type(x) is np.ndarray
        return np.sin(x)

    assert gradcheck.check(strict, cosine, (np.array(0.7),)).verdict == "pass"


def test_a_derivative_of_zero_everywhere_passes_and_says_that_nothing_was_seen() -> None:
    report = gradcheck.check(lambda x: np.ones(3), lambda i, o, c: (np.zeros_like(i[0]),), (np.ones(4),), vary=False)
    assert report.verdict == "pass"
    assert report.coverage.smallest_error_seen == np.inf
    assert report.coverage.notes == (UNSEEN,)
    assert UNSEEN not in gradcheck.check(np.sin, cosine, (np.ones(4),), names=["x"]).coverage.notes


def test_nothing_judged_at_all_is_inconclusive() -> None:
    report = gradcheck.check(np.floor, lambda i, o, c: (0 * c[0],), (np.array([2.0, 3.0]),), names=["x"], vary=False)
    assert report.coverage.tested == 0
    assert report.verdict == "inconclusive"


def test_a_vjp_that_raises_at_a_varied_point_is_a_finding_only_where_forward_is_finite() -> None:
    def fussy(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if (inputs[0] < 0).any():
            raise ValueError("below zero")
        return (cotangents[0] / inputs[0],)

    (finding,) = gradcheck.check(np.expm1, fussy, (np.ones(2),), names=["x"]).findings[:1]
    assert finding.check == "vjp raises"
    assert "got ValueError: below zero, at signs flipped, where forward is finite" in finding.message
    report = gradcheck.check(np.log, fussy, (np.array([1.0, 2.0]),), names=["x"])
    assert report.verdict == "pass"


def test_a_jvp_is_judged_beside_outputs_that_are_not_finite() -> None:
    x = np.array([0.0, 1.0, 2.0])
    right, wrong = (gradcheck.check(np.log, reciprocal, (x,), jvp=_push(f), names=["x"]) for f in (1.0, 1.01))
    assert right.verdict == "pass"
    assert "jvp value" in {finding.check for finding in wrong.findings}


def _push(factor: float) -> Any:
    return lambda i, t: factor * t[0] / i[0]


def test_an_oscillation_finer_than_any_step_is_inconclusive() -> None:
    report = gradcheck.check(np.sin, cosine, (np.array([1e100, -3e100]),), names=["x"], vary=False)
    assert report.verdict == "inconclusive"


@pytest.mark.parametrize(("size", "seed"), [(1, 3), (1, 11), (2, 7), (3, 11)])
def test_terms_that_cancel_to_nothing_at_most_cotangents_are_rounding_and_no_more(size: int, seed: int) -> None:
    def cancelled(inputs: Any, outputs: Any, cotangents: Any, slip: float = 0.0) -> Any:
        return (cotangents[0] * 0.7 / 0.7 - cotangents[0] + slip * np.abs(cotangents[0]),)

    def slipped(*arguments: Any) -> Any:
        return cancelled(*arguments, slip=1e-8)

    options: dict[str, Any] = {"inputs": [np.ones(size)], "vary": False, "seed": seed}
    assert not report_of(np.zeros_like, cancelled, **options).findings
    assert "linear in the cotangent" in found(np.zeros_like, slipped, **options)
