from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import check

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
