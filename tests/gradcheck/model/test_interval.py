"""Numbers brought inside an interval: reflected at its ends, moved off open ones, or pressed onto them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradcheck.model.interval import Interval

OFF = 2.0**-6  # of a distance, by which what lay on an open end is moved off it


def folded(interval: Interval, *values: float) -> list[float]:
    return interval.fold(np.array(values)).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("interval", "is_bounded"),
    [(Interval(), False), (Interval(low=0.0), True), (Interval(high=0.0), True), (Interval(0.0, 1.0), True)],
)
def test_an_interval_is_bounded_by_one_finite_end(interval: Interval, is_bounded: bool) -> None:
    assert interval.is_bounded is is_bounded


def test_without_ends_the_very_array_comes_back() -> None:
    values = np.array([1.0, math.inf])
    assert Interval().fold(values) is values


def test_what_lies_outside_two_ends_is_reflected_as_often_as_it_takes() -> None:
    assert folded(Interval(0.0, 1.0), -0.25, 1.25, 2.25, -3.75) == [0.25, 0.75, 0.25, 0.25]
    assert folded(Interval(-2.0, 2.0), 3.0, -7.0) == [1.0, 1.0]


def test_what_lies_outside_one_end_is_reflected_there() -> None:
    assert folded(Interval(low=2.0), 1.0, 5.0) == [3.0, 5.0]
    assert folded(Interval(high=-1.0), 0.0, -4.0) == [-2.0, -4.0]


def test_what_lies_inside_keeps_its_last_digit() -> None:
    inside = np.linspace(0.1, 0.9, 101)  # half of which would come back from two differences as a neighbour
    assert folded(Interval(0.1, 0.9), *inside) == inside.tolist()


def test_an_interval_of_one_number_gives_that() -> None:
    assert folded(Interval(2.0, 2.0), 1.0, 2.0, 9.0) == [2.0, 2.0, 2.0]


def test_infinities_come_to_the_ends_and_nan_stays() -> None:
    low, high, neither = folded(Interval(0.0, 1.0), -math.inf, math.inf, math.nan)
    assert (low, high) == (0.0, 1.0)
    assert math.isnan(neither)


def test_what_lies_on_an_open_end_is_moved_off_it_by_a_share_of_the_others_distance() -> None:
    assert folded(Interval(0.0, 8.0, (True, False)), 0.0, 2.0, 6.0, 8.0) == [OFF * 6.0, 2.0, 6.0, 8.0]
    assert folded(Interval(0.0, 8.0, (False, True)), 0.0, 6.0, 8.0) == [0.0, 6.0, 8.0 - OFF * 5.0]


def test_where_all_lie_on_an_open_end_the_width_says_how_far_or_one_where_there_is_none() -> None:
    assert folded(Interval(0.0, 8.0, (True, False)), 0.0, 0.0) == [OFF * 8.0, OFF * 8.0]
    assert folded(Interval(low=0.0, is_open=(True, False)), 0.0) == [OFF]


def test_pressed_numbers_lie_on_the_end_that_they_are_beyond_every_other_one_beside_it() -> None:
    made = Interval(0.0, 8.0).pressed(np.array([-5.0, -1.0, 4.0, 9.0, 10.0]))
    assert made.tolist() == [0.0, OFF * 8.0, 4.0, 8.0 - OFF * 8.0, 8.0]


def test_pressed_onto_an_open_end_is_beside_it() -> None:
    made = Interval(0.0, 8.0, (True, True)).pressed(np.array([-5.0, 4.0]))
    assert made.tolist() == [OFF * 4.0, 4.0]
