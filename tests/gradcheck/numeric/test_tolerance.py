"""How much rounding a gradient may show, and when two runs of the same mathematics agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.numeric.tolerance import UNDERFLOW, Tolerance, gradients_close


def allowed(numeric: float = 0.0, bar: float = 0.0, peak: float = 0.0, eps: float = 2.0**-52, **options: Any) -> float:
    tolerance = Tolerance(eps, np.array([options.pop("perturbed", 0.0)]), **options)
    (found,) = tolerance.allowance(np.array([[numeric]]), np.array([[bar]]), np.array([[peak]])).ravel().tolist()
    return float(found)


def test_nothing_is_allowed_of_nothing_but_what_underflows() -> None:
    assert allowed() == UNDERFLOW


def test_seven_digits_of_a_value_are_conceded_and_sixteen_units_of_a_short_dtype() -> None:
    assert allowed(numeric=-2.0) == pytest.approx(2e-9)
    assert allowed(numeric=2.0, eps=2.0**-23) == pytest.approx(32 * 2.0**-23)
    assert allowed(numeric=2.0, floor=1e-7) == pytest.approx(2e-7)


def test_four_error_bars_are_conceded() -> None:
    assert allowed(bar=0.5) == 2.0


def test_what_cancels_leaves_a_share_of_the_largest_term_of_float32_256_units() -> None:
    assert allowed(peak=3.0) == pytest.approx(3e-9)
    assert allowed(peak=3.0, eps=2.0**-23) == pytest.approx(768 * 2.0**-23)
    assert allowed(peak=3.0, floor=1e-7) == pytest.approx(3e-7)


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
