from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.judge.bends import has_slope, is_bent
from gradcheck.judge.outcome import Gradients, Outcome
from gradcheck.judge.values import Limits, judge_input, take_gradients
from tests.gradcheck.points import point

EQUAL = np.array([2.0, 2.0, 2.0])


def outcome(forward: Any, x: Any, slope: Any) -> Outcome:
    here = point(forward, x, vjp=lambda i, o, c: (c[0] * slope,))
    generator = np.random.default_rng(0)
    gradients: Gradients = take_gradients(here, generator)
    return judge_input(here, 0, gradients, Limits(8, 8), generator)


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        (np.median, [True, True, True]),
        (lambda x: x.max() + x.min(), [True, True, True]),
        (lambda x: x[0] * x[1] + np.exp(x[2]), [False, False, False]),
        (lambda x: np.median(x[:2]), [False, False, False]),
    ],
)
def test_equal_elements_are_tied_where_two_do_together_what_none_does_alone(forward: Any, expected: Any) -> None:
    judged = outcome(forward, EQUAL, np.zeros(3))
    assert is_bent(judged, np.arange(3)).tolist() == expected


@pytest.mark.parametrize("seed", [123, 124, 207, 226, 266])  # which four draws, and one side, did not show
def test_the_middle_one_of_three_equal_is_tied_in_every_draw(seed: int) -> None:
    judged = outcome(np.median, np.array([-1.0, -2.0, -2.0, -2.0, -3.0]), np.zeros(5))
    drawn = replace(judged, generator=np.random.default_rng(seed))
    assert is_bent(drawn, np.array([2])).all()


def test_elements_that_differ_are_not_tied() -> None:
    judged = outcome(np.median, np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert not is_bent(judged, np.arange(3)).any()


def test_a_gradient_beside_a_tie_has_the_slope_of_forward_or_it_has_not() -> None:
    judged = outcome(np.median, EQUAL, np.zeros(3))
    shift = 2.0**-24 * np.array([-1.0, 0.5, 1.0])
    rows = len(judged.cotangents)
    middle = [np.array([0.0, 1.0, 0.0]) * judged.cotangents[row, 0] for row in range(rows)]
    assert has_slope(judged, shift, middle)
    assert not has_slope(judged, shift, [1.01 * row for row in middle])


def test_a_gradient_of_no_neighbour_is_skipped_and_one_that_is_wrong_beside_the_tie_is_found() -> None:
    def both(factor: float) -> Any:
        def vjp(i: Any, o: Any, c: Any) -> Any:
            gradient = np.zeros_like(i[0])
            gradient[np.argmax(i[0])] += factor * c[0]
            gradient[np.argmin(i[0])] += c[0]
            return (gradient,)

        return vjp

    report = gradcheck.check(lambda x: x.max() + x.min(), both(1.0), (EQUAL,), vary=False)
    assert not report.findings
    assert dict(report.coverage.skipped) == {"it is tied to others, without a derivative": 1}
    assert gradcheck.check(lambda x: x.max() + x.min(), both(1.01), (EQUAL,), vary=False).verdict == "fail"
