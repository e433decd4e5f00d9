"""Elements to judge, all or a sample, and their verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.judge.outcome import Status
from gradcheck.judge.values import Limits, judge_input, sample_elements, take_gradients
from tests.gradcheck.points import point


def test_samples_hold_both_ends_and_no_more_than_asked() -> None:
    chosen = sample_elements(1000, 64, np.random.default_rng(0))
    assert chosen.size == 64
    assert chosen[:8].tolist() == list(range(8))
    assert chosen[-8:].tolist() == list(range(992, 1000))
    assert sample_elements(5, 64, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


def test_one_wrong_element_among_many_is_found_by_projection() -> None:
    x = np.random.default_rng(0).normal(size=400)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        gradient = np.cumsum(cotangents[0][::-1])[::-1].copy()
        gradient[123] *= 1 + 1e-4
        return (gradient,)

    here = point(np.cumsum, x, vjp=vjp)
    generator = np.random.default_rng(1)
    outcome = judge_input(here, 0, take_gradients(here, generator), Limits(20, 20), generator)
    assert outcome.comparison.elements[outcome.comparison.status == Status.WRONG].tolist() == [123]
