"""How much rounding a gradient may show, and when two runs of the same mathematics agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.numeric.tolerance import UNDERFLOW, Tolerance, gradients_close


def allowed(
    numeric: float = 0.0, bar: float = 0.0, own: float = 0.0, peak: float = 0.0, eps: float = 2.0**-52, **options: Any
) -> float:
    tolerance = Tolerance(eps, np.array([options.pop("perturbed", 0.0)]), **options)
    (found,) = tolerance.allowance(*(np.array([[each]]) for each in (numeric, bar, own, peak))).ravel().tolist()
    return float(found)


def test_nothing_is_allowed_of_nothing_but_what_underflows() -> None:
    assert allowed() == UNDERFLOW


def test_seven_digits_of_a_value_are_conceded_and_sixteen_units_of_a_short_dtype() -> None:
    assert allowed(numeric=-2.0) == pytest.approx(2e-9)
    assert allowed(numeric=2.0, eps=2.0**-23) == pytest.approx(32 * 2.0**-23)
    assert allowed(numeric=2.0, floor=1e-7) == pytest.approx(2e-7)


def test_four_error_bars_are_conceded() -> None:
    assert allowed(bar=0.5) == 2.0


def test_what_cancels_leaves_a_share_of_the_terms_of_an_element_of_float32_256_units() -> None:
    assert allowed(own=3.0) == pytest.approx(3e-9)
    assert allowed(own=3.0, eps=2.0**-23) == pytest.approx(768 * 2.0**-23)
    assert allowed(own=3.0, floor=1e-7) == pytest.approx(3e-7)


def test_of_the_largest_term_of_any_element_a_thousandth_of_that_is_conceded() -> None:
    assert allowed(peak=3.0) == pytest.approx(3e-12)
    assert allowed(peak=3.0, floor=1e-7) == pytest.approx(3e-10)
    assert allowed(peak=3.0, eps=2.0**-23) == pytest.approx(768 * 2.0**-23)


def test_eight_times_what_changed_cotangents_showed_and_all_that_was_declared_are_conceded() -> None:
    assert allowed(perturbed=0.25) == 2.0
    assert allowed(declared=0.125) == 0.125


UNIT = 1024 * 2.0**-52  # conceded beside 1


@pytest.mark.parametrize(
    ("first", "second", "close"),
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, UNIT], [1.0, 0.0], True),  # beside the largest element
        ([1.0, 2 * UNIT], [1.0, 0.0], False),
        ([np.nan, np.inf, 1.0], [np.nan, np.inf, 1.0], True),
        ([np.nan], [1.0], False),
        ([np.inf], [-np.inf], False),
        ([1.0], [1.0, 1.0], False),
        ([], [], True),
        ([0.0], [0.0], True),
        ([1e-300], [0.0], False),
    ],
)
def test_runs_agree_up_to_the_order_of_sums(first: Any, second: Any, close: bool) -> None:
    assert gradients_close(np.array(first), np.array(second)) is close


def test_a_shorter_dtype_and_a_larger_peak_concede_more() -> None:
    one, other = np.array([1.0]), np.array([1.0 + 2 * UNIT])
    assert not gradients_close(other, one)
    assert gradients_close(other, one, eps=2.0**-51)
    assert gradients_close(other, one, least_peak=2.0)


FACTORS = np.array([1e10, 1.0, 2.0])
X = np.array([0.3, 0.5, 0.7])


def scaled(x):
    return FACTORS * x


def summed(x):
    return np.sum(1e-2 * FACTORS * np.sin(x))


@pytest.mark.parametrize("fault", [0.0, 0.9, 1.1])
def test_a_small_element_beside_one_of_1e10_is_judged_by_itself(fault):
    report = gradcheck.check(scaled, lambda i, o, c: (c[0] * FACTORS * [1.0, fault, 1.0],), [X], names=["x"])
    assert report.verdict == "fail"
    assert report.findings[0].index == (1,)


def test_a_small_element_of_a_sum_is_judged_by_what_the_sum_lets_be_seen():
    def wrong(i, o, c):
        return (c[0] * 1e-2 * FACTORS * np.cos(i[0]) * [1.0, 1.5, 1.0],)

    report = gradcheck.check(summed, wrong, [X], names=["x"])
    assert report.verdict == "fail"
    assert report.findings[0].index == (1,)


@pytest.mark.parametrize("seed", range(3))
def test_right_gradients_of_every_size_pass(seed):
    def softmax(x):
        e = np.exp(x - x.max())
        return e / e.sum()

    def softmax_vjp(i, o, c):
        return (o[0] * (c[0] - np.sum(c[0] * o[0])),)

    def solve(a, b):
        return np.linalg.solve(a, b)

    def solve_vjp(i, o, c):
        db = np.linalg.solve(i[0].T, c[0])
        return -np.outer(db, o[0]), db

    logits = np.array([0.0, -8.0, -16.0, -24.0])
    badly_scaled = np.diag([1.0, 1e-4, 1e-8]) + 1e-9
    assert gradcheck.check(scaled, lambda i, o, c: (c[0] * FACTORS,), [X], seed=seed).verdict == "pass"
    assert gradcheck.check(softmax, softmax_vjp, [logits], seed=seed).verdict == "pass"
    assert gradcheck.check(solve, solve_vjp, [badly_scaled, np.ones(3)], seed=seed, vary=False).verdict == "pass"
