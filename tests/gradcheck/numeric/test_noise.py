from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.model.constraint import Domain
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import FloatArray
from gradcheck.model.evaluation import GIVEN, Point
from gradcheck.model.protocol import build_subject
from gradcheck.numeric.noise import hidden_rounding, measure_noise

EPS = 2.0**-52


def noise_of(forward: Any, x: FloatArray, seed: int) -> FloatArray:
    subject = build_subject(forward, lambda i, o, c: c, None, (x,), None, None, (), ())
    point = Point(subject, (x,), GIVEN)
    return measure_noise(point, 0, measure_room(point.values(0), Domain()), np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(20))
def test_an_oscillation_finer_than_every_usual_grid_is_no_noise(seed: int) -> None:
    stamps = 1.7e9 + np.array([0.25, 10.5, 100.125])  # exact, and so is their distance from 1.7e9
    assert (noise_of(lambda t: np.sin(2 * np.pi * (t - 1.7e9)), stamps, seed) < 1e-8).all()


@pytest.mark.parametrize("seed", range(40))
def test_rounding_of_a_large_number_on_the_way_is_measured(seed: int) -> None:
    noise = noise_of(lambda x: (x / 3 + 1e6) - 1e6, np.array([0.3, 0.7, -0.4]), seed)
    unit = 2.0**-33  # in the last place of 1e6; uniform rounding to it has a deviation of unit / sqrt(12)
    assert ((noise > unit / 12) & (noise < 4 * unit)).all()


def test_the_noise_of_a_library_function_is_a_rounding_of_its_output() -> None:
    x = np.random.default_rng(0).normal(size=50)
    noise = noise_of(np.sin, x, 0)
    assert (noise >= 0.5 * EPS * np.abs(np.sin(x))).all()
    assert (noise < 2 * EPS).all()


@pytest.mark.parametrize("seed", range(20))
def test_an_oscillation_that_coarse_grids_alias_is_no_noise(seed: int) -> None:
    x = np.array([-1.036, 0.155, 0.555])
    assert (noise_of(lambda x: np.sin(1e7 * x), x, seed) < 1e-7).all()  # 1e7 times a rounding of x is 2e-9


def point_of(forward: Any, x: FloatArray) -> Point:
    return Point(build_subject(forward, lambda i, o, c: c, None, (x,), None, None, (), ()), (x,), GIVEN)


def test_the_last_digit_of_what_was_taken_away_is_noise_though_a_mean_divides_evenly() -> None:
    x = np.array([0.39, 0.36, 0.4, 0.35, 0.33, 0.34, 0.37])
    moved = [x + step * (np.arange(7) == 0) for step in 2.0**-20 * np.arange(40)]
    outputs = np.array([x - x.mean() for x in moved])
    sides = np.stack([outputs, outputs])
    least, _ = hidden_rounding(point_of(lambda x: x - x.mean(), x), 0, x - x.mean(), sides)
    assert (least == 2.0**-55).all()  # half of that of 0.3


@pytest.mark.parametrize(
    ("forward", "x"),
    [(np.sin, np.array([0.3, 0.7])), (lambda x: 2 * x, np.array([0.25, 0.5])), (np.floor, np.array([0.5, 3.5]))],
    ids=["all digits count", "few digits are exact", "steps are the function itself"],
)
def test_digits_that_are_no_rounding_are_no_noise(forward: Any, x: FloatArray) -> None:
    outputs = np.array([forward(x + step) for step in (2.0**-3, 2.0**-11, 2.0**-19)])
    found = hidden_rounding(point_of(forward, x), 0, forward(x), np.stack([outputs, outputs]))
    assert not np.any(found)


def test_an_output_that_rests_at_a_step_moves_at_shorter_ones_by_rounding() -> None:
    x = np.array([0.6, 0.6])
    sides = np.array([[[0.0], [0.0], [2.0**-54], [0.0]], [[0.0], [0.0], [0.0], [-(2.0**-55)]]])
    point = point_of(lambda x: x[:1] ** 2 - x[1:] ** 2, x)
    assert hidden_rounding(point, 0, np.zeros(1), sides)[1] == 2.0**-54
    assert (
        hidden_rounding(point, 0, np.zeros(1), 1e4 * sides)[1] == 0
    )  # more than a rounding of 0.6: it is the function
