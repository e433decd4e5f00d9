from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradcheck.model.dtypes import FloatArray
from gradcheck.numeric.kinks import Kind, judge
from gradcheck.numeric.ladder import Ladder, ladder_steps
from gradcheck.numeric.noise import grid_noise
from gradcheck.numeric.quanta import quantum, with_quanta
from gradcheck.numeric.slopes import differentiate, extrapolate

STEPS = ladder_steps(2.0**-52)


def climb(function: Callable[[FloatArray], FloatArray], x: float) -> Ladder:
    center = np.atleast_1d(function(np.array(x)))
    noise = 2.0**-53 * np.abs(center)
    plus, minus = function(x + STEPS)[:, None], function(x - STEPS)[:, None]
    return Ladder(STEPS, plus, minus, center, noise, noise, np.ones(1, np.bool_), np.ones(1, np.bool_))


@pytest.mark.parametrize(
    ("function", "x", "derivative"),
    [
        (np.sin, 1.0, np.cos(1.0)),
        (np.exp, 0.5, np.exp(0.5)),
        (lambda x: x**3, 2.0, 12.0),
        (lambda x: np.sin(50 * x), 0.3, 50 * np.cos(15.0)),
        (lambda x: 1e8 + np.sin(x), 1.0, np.cos(1.0)),
        (lambda x: 3 + 0 * x, 1.0, 0.0),
    ],
)
def test_the_true_derivative_lies_within_the_error_bar(
    function: Callable[[FloatArray], FloatArray], x: float, derivative: float
) -> None:
    slope = differentiate(climb(function, x)).central
    assert abs(slope.value[0] - derivative) <= slope.bar[0]


def test_the_bar_of_a_smooth_function_is_tiny() -> None:
    assert differentiate(climb(np.sin, 1.0)).central.bar[0] < 1e-11


def test_a_fast_oscillation_is_not_taken_for_a_settled_slope() -> None:
    slope = differentiate(climb(lambda x: x + 1e-6 * np.sin(1e5 * x), 0.0)).central
    assert abs(slope.value[0] - 1.1) <= 4 * slope.bar[0]


@pytest.mark.parametrize(
    ("function", "x", "kind"),
    [
        (np.sin, 0.0, Kind.SMOOTH),
        (np.abs, 0.0, Kind.KINK),
        (np.abs, 1e-7, Kind.SMOOTH),
        (lambda x: np.maximum(x, 0), 0.0, Kind.KINK),
        (np.floor, 2.0, Kind.JUMP),
        (np.floor, 2.5, Kind.SMOOTH),
        (lambda x: np.sqrt(np.abs(x)), 0.0, Kind.STEEP),
        (np.cbrt, 0.0, Kind.STEEP),
    ],
)
def test_kinks_jumps_and_vertical_tangents_are_told_apart(
    function: Callable[[FloatArray], FloatArray], x: float, kind: Kind
) -> None:
    ladder = climb(function, x)
    assert judge(ladder, differentiate(ladder)).kind[0] == kind


def test_an_output_that_is_not_finite_is_undefined() -> None:
    with np.errstate(all="ignore"):
        ladder = climb(np.log, 0.0)
        assert judge(ladder, differentiate(ladder)).kind[0] == Kind.UNDEFINED


def test_a_kink_allows_the_interval_between_its_slopes() -> None:
    ladder = climb(lambda x: np.where(x < 0, 3 * x, 5 * x), 0.0)
    derivative = judge(ladder, differentiate(ladder))
    assert derivative.low[0] == pytest.approx(3.0, abs=1e-9)
    assert derivative.high[0] == pytest.approx(5.0, abs=1e-9)


def test_noise_is_measured_and_smoothness_is_not_noise() -> None:
    generator = np.random.default_rng(0)
    t = np.arange(11.0)[:, None]
    noisy = np.sin(t / 100) + 1e-8 * generator.standard_normal((11, 200))
    estimate, is_noise = grid_noise(noisy)
    assert 3e-9 < np.median(estimate) < 2e-8
    assert is_noise.mean() > 0.7
    assert not grid_noise(np.sin(t / 10))[1].any()


def test_a_hidden_quantum_is_found_and_a_floor_is_not_one() -> None:
    assert quantum(climb(lambda x: (1e8 + np.sin(x)) - 1e8, 1.0))[0] == pytest.approx(2.0**-26)
    assert quantum(climb(np.floor, 5.3))[0] == 0.0
    assert quantum(climb(np.sin, 1.0))[0] == 0.0
    assert with_quanta(climb(lambda x: (1e8 + x) - 1e8, 0.7)).noise[0] == pytest.approx(2.0**-26)


def test_columns_are_read_each_by_itself_however_many_there_are() -> None:
    columns = np.linspace(0.1, 2.0, 300)
    quotients = (np.sin(columns + STEPS[:, None]) - np.sin(columns - STEPS[:, None])) / (2.0 * STEPS[:, None])
    quotients[:, 7] = np.nan
    quotients[3:, 8] = np.inf
    noise = np.full(columns.size, 1e-16)
    with np.errstate(invalid="ignore"):
        whole = extrapolate(quotients, STEPS, noise, 2, 3)
        single = [extrapolate(quotients[:, [n]], STEPS, noise[[n]], 2, 3) for n in range(columns.size)]
    assert np.array_equal(whole.value, [one.value[0] for one in single], equal_nan=True)
    assert np.array_equal(whole.bar, [one.bar[0] for one in single])
    known = np.setdiff1d(np.arange(columns.size), [7, 8])
    assert (np.abs(whole.value - np.cos(columns)) <= whole.bar)[known].all()
    assert np.isinf(whole.bar[[7]]).all()
    assert np.isnan(whole.value[7])
