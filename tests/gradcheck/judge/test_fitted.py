"""Slopes of polynomials through many values, where arithmetic has eleven bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.judge.fitted import _slopes
from tests.gradcheck.families_values import _in_float16, _softmax, _softmax_vjp


def test_slopes_at_0_are_those_of_the_polynomial_and_bars_those_of_its_noise() -> None:
    grid = np.linspace(-1, 1, 64)
    noise = np.random.default_rng(0).normal(size=(64, 1, 200)) * 1e-3
    slopes, bars = _slopes(grid, (2 + 3 * grid - grid**2 + 0.5 * grid**3)[:, None, None] + noise)
    assert abs(slopes.mean() - 3) < 1e-3
    assert 0.5 < (bars / slopes.std()).mean() < 2


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9])
def test_nothing_is_said_beside_a_kink_or_of_an_oscillation(place: float) -> None:
    grid = np.linspace(-1, 1, 64)
    noise = np.random.default_rng(0).normal(size=64) * 1e-3
    for values in (np.abs(grid - place), np.sin(15 * (grid - place))):
        _, bars = _slopes(grid, (values + noise)[:, None, None])
        assert np.isinf(bars).all()


@pytest.mark.parametrize("seed", range(4))
def test_what_eleven_bits_hide_of_a_softmax_is_no_fault(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(4, 74))
    report = gradcheck.check(_in_float16(_softmax), _softmax_vjp(1.0), (x,), vary=False, seed=seed)
    assert report.findings == ()


def test_the_trace_says_what_many_values_showed() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * np.cos(inputs[0]),)

    x = np.array([0.4, -1.1, 0.9])
    report = gradcheck.check(_in_float16(np.sin), vjp, (x,), vary=False, trace=True)
    assert report.verdict == "pass"
    assert any("64 values around it have a slope of" in line for line in report.trace[0].lines())
