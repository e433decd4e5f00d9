from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.model import budget as module
from gradcheck.model.budget import Budget


class Clock:
    """A clock that goes on by hand."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def test_seconds_buy_as_many_calls_as_fit_into_them() -> None:
    allowance = Budget.read(2.0)
    allowance.pace(0.001)
    assert allowance.total == 2000


def test_seconds_end_a_run_whose_calls_became_slower(clock: Clock) -> None:
    allowance = Budget(1000, seconds=2.0, started=clock.now)
    clock.now = 1.9
    assert not allowance.is_spent
    clock.now = 2.0
    assert allowance.is_spent


def test_a_count_of_calls_knows_no_time(clock: Clock) -> None:
    allowance = Budget(1000, started=clock.now)
    allowance.pace(60.0)
    clock.now = 1e6
    assert allowance.total == 1000
    assert not allowance.is_spent


def test_a_run_that_is_out_of_time_says_which_part_it_left_out(clock: Clock) -> None:
    def forward(x: Any) -> Any:
        clock.now += 0.01
        return np.tanh(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * (1 - outputs[0] ** 2),)

    report = gradcheck.check(forward, vjp, (np.linspace(-1, 1, 12).reshape(3, 4),), budget=0.5)
    assert "the budget ended before all variations were judged" in report.coverage.notes
