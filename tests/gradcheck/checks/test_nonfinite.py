from __future__ import annotations

from typing import Any

import numpy as np

import gradcheck
from gradcheck.checks.layouts import reversed_copy

NOT_FINITE = "the input, the output or its neighbourhood is not finite there"
UNSEEN = "no element had a derivative that could be seen"


def reciprocal(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] / inputs[0],)


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


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
