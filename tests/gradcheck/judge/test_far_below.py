"""Elements far below the largest one: faults that its rounding would excuse, and losses that it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.report import Report

X = np.array([40.0, -1.0, 0.5])  # exponentials from 2e17 down to 0.4


def judged(rule: Any, x: Any = X, forward: Any = np.exp, **options: Any) -> Report:
    return gradcheck.check(forward, lambda i, o, c: (rule(i[0], c[0]),), (x,), names=["x"], vary=False, **options)


def with_small(factor: float) -> Any:
    return lambda x, dy: dy * np.exp(x) * np.where(x < 10.0, factor, 1.0)


def test_right_elements_far_below_the_largest_pass() -> None:
    assert judged(with_small(1.0)).verdict == "pass"


@pytest.mark.parametrize("factor", [-1.0, 1.05, 3.0, 1e-3])
def test_a_wrong_factor_of_elements_far_below_the_largest_is_found(factor: float) -> None:
    (finding,) = judged(with_small(factor)).findings
    assert (finding.check, finding.index in ((1,), (2,))) == ("vjp value", True)


def test_digits_that_are_lost_in_sums_with_the_largest_are_let_be() -> None:
    assert judged(lambda x, dy: np.diff(np.cumsum(dy * np.exp(x)), prepend=0.0)).verdict == "pass"


@pytest.mark.parametrize("constant", [1e15, 1e17])
def test_digits_that_a_constant_takes_away_are_let_be(constant: float) -> None:
    assert judged(lambda x, dy: (dy * np.exp(x) + constant) - constant).verdict == "pass"


def test_a_loss_of_less_than_a_hundredth_is_let_be() -> None:
    assert judged(with_small(1.009)).verdict == "pass"


def test_a_float32_input_is_seen_through_float64_and_a_declared_accuracy_lets_more_be() -> None:
    x = np.array([40.0, -1.0, 0.5], dtype=np.float32)
    assert judged(lambda x, dy: with_small(1.5)(x, dy).astype(dy.dtype), x).verdict == "fail"
    assert judged(with_small(1.5), accuracy=1e-6).verdict == "pass"


def test_an_element_far_below_its_steps_is_let_be() -> None:
    cube = lambda x: x**3  # noqa: E731 - one expression
    x = np.array([1e-6, 2e-6, 3e-18])
    assert judged(lambda x, dy: 3.0 * dy * x * x, x, cube).verdict == "pass"
    assert judged(lambda x, dy: 3.0 * dy * x * x, 1e9 * x, cube).verdict == "pass"


def test_the_trace_says_what_a_rounding_does() -> None:
    (trace,) = judged(with_small(1.5), trace=True).trace
    (step,) = (step for step in trace.steps if step.step == "far below")
    assert "accepted as rounding of the largest element, but a rounding moves yours by " in step.saw[0]
    assert step.said.startswith("wrong: yours ")
