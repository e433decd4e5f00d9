"""Domains: intervals that reflect, rules that project, what lies in two, and what is asked of other inputs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gradcheck.errors import UsageError
from gradcheck.model.constraint import Domain, constraint, read_one
from gradcheck.model.tangents import tangents_of

OPEN = (True, True)


def test_what_lies_beyond_an_end_is_reflected_there_and_the_rest_keeps_every_digit() -> None:
    values = np.array([-0.25, 0.3, 1.25, 2.5, -1.75])
    assert Domain(0.0, 1.0).fold(values).tolist() == [0.25, 0.3, 0.75, 0.5, 0.25]
    assert Domain(low=1.0).fold(values).tolist() == [2.25, 1.7, 1.25, 2.5, 3.75]
    assert Domain(high=1.0).fold(values).tolist() == [-0.25, 0.3, 0.75, -0.5, -1.75]
    assert Domain().fold(values) is values


def test_infinities_end_at_the_ends_and_nan_stays() -> None:
    made = Domain(0.0, 1.0).fold(np.array([np.inf, -np.inf, np.nan]))
    assert made[:2].tolist() == [1.0, 0.0]
    assert np.isnan(made[2])


def test_an_open_end_is_left_and_a_closed_one_is_not() -> None:
    values = np.array([0.0, 1.0, 0.5])
    assert Domain(0.0, 1.0).fold(values).tolist() == [0.0, 1.0, 0.5]
    made = Domain(0.0, 1.0, (True, False)).fold(values)
    assert 0.0 < made[0] < 0.02
    assert made[1:].tolist() == [1.0, 0.5]


def test_values_are_pressed_to_the_ends_that_they_lie_beyond() -> None:
    values = np.array([5.0, 6.0, -3.0, -4.0, 0.5])
    assert Domain(0.0, 1.0).pressed(values).tolist() == [1.0, 1.0 - 2.0**-6, 0.0, 2.0**-6, 0.5]
    inside = Domain(0.0, 1.0, OPEN).pressed(values)
    assert (inside > 0.0).all()
    assert (inside < 1.0).all()


def test_whole_numbers_are_reflected_between_whole_ends() -> None:
    assert Domain(0.5, 3.5).project(np.array([0, 2, 5, -1])).tolist() == [2, 2, 1, 3]
    assert Domain(0.0).project(np.array([-2], np.int32)).dtype == np.int32


def test_a_pair_a_domain_and_a_function_are_read() -> None:
    assert read_one(None, "x") == Domain()
    assert read_one((0, None), "x") == Domain(low=0.0)
    assert read_one(np.abs, "x").project(np.array([-1.0])).tolist() == [1.0]


def test_what_names_its_ends_and_which_belong_to_it_is_an_interval() -> None:
    made = read_one(SimpleNamespace(low=0, high=None, inclusive="neither"), "x")
    assert made == Domain(0.0, np.inf, (True, False))
    assert made.name == "in (0, inf]"


@pytest.mark.parametrize("item", ["positive", 3, (1, 2, 3), [0]])
def test_another_thing_is_refused(item: object) -> None:
    with pytest.raises(
        UsageError, match=r"domain of 'x': expected \(low, high\), one of gradcheck.domain, or a function"
    ):
        read_one(item, "x")


def test_what_is_no_function_is_refused_of_a_constraint() -> None:
    with pytest.raises(UsageError, match="constraint, sample: expected a function, got 3; pass the function itself"):
        constraint(np.abs, sample=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="constraint, project: expected a parameter for the values, got a function of"):
        constraint(lambda: np.zeros(3))


def test_options_are_refused_that_a_domain_does_not_have() -> None:
    with pytest.raises(
        UsageError, match=r"domain in \[0, 1\]: expected options that it has, got \{'axis': 0\}: _takes"
    ):
        Domain(0.0, 1.0)(axis=0)


def test_what_lies_in_two_domains_has_the_narrower_interval_and_all_rules() -> None:
    both = constraint(np.sort, name="ascending") & (0, 1) & Domain(0.25, 2.0, (True, False))
    assert (both.low, both.high, both.is_open) == (0.25, 1.0, (True, False))
    assert both.name == "ascending and in (0.25, 1]"
    made = both.project(np.array([1.25, 0.5, -0.5]))
    np.testing.assert_allclose(made, [0.5, 0.75, 1.0], rtol=0, atol=1e-15)
    with pytest.raises(UsageError, match=r"expected intervals with a number in common, got in \[0, 1\] & in \[2, 3\]"):
        Domain(0.0, 1.0) & (2, 3)


def test_a_projection_of_another_shape_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"domain first: expected a projection of the shape that it is given, \(3,\), got"
    ):
        constraint(lambda values: values[:1], name="first").project(np.zeros(3))


def test_parameters_after_the_values_are_other_inputs() -> None:
    below = constraint(lambda values, limit: np.minimum(values, limit), name="below limit")
    assert below.of == ("limit",)
    assert below.project(np.array([1.0, 5.0]), {"limit": np.array(2.0)}).tolist() == [1.0, 2.0]
    assert below.holding({"limit": 3.0, "x": 1}).project(np.array([5.0])).tolist() == [3.0]


def test_a_sample_is_the_projection_of_random_numbers_unless_one_is_given() -> None:
    generator = np.random.default_rng(0)
    positive = constraint(np.abs).draw((100,), np.dtype("float32"), generator)
    assert positive.dtype == np.float32
    assert (positive >= 0).all()
    assert len(set(positive.tolist())) == 100
    given = constraint(np.abs, sample=lambda shape, generator: np.full(shape, -2.0)).draw(
        (2,), np.dtype(float), generator
    )
    assert given.tolist() == [2.0, 2.0]


def test_the_tangent_space_follows_from_the_projection() -> None:
    """On a circle of radius 2 the directions at (2, 0) are those along the second axis."""
    circle = constraint(lambda values: 2.0 * values / np.linalg.norm(values))
    at = np.array([2.0, 0.0])
    tangents = tangents_of(circle, at, at)
    assert tangents is not None
    np.testing.assert_allclose(tangents.project(np.array([3.0, 4.0])), [0.0, 4.0], rtol=0, atol=1e-9)


def test_a_projection_that_is_not_the_nearest_has_the_same_tangent_space() -> None:
    """Division by the sum goes along a ray; what stays on the plane of sum one has sum zero."""
    plane = constraint(lambda values: values / values.sum())
    at = np.array([0.2, 0.3, 0.5])
    tangents = tangents_of(plane, at, at)
    assert tangents is not None
    np.testing.assert_allclose(tangents.project(np.array([3.0, 0.0, 0.0])), [2.0, -1.0, -1.0], rtol=0, atol=1e-8)


def test_a_set_with_room_in_every_direction_has_no_tangent_space_of_its_own() -> None:
    at = np.array([1.0, 2.0])
    assert tangents_of(constraint(np.sort), at, at) is None
    assert tangents_of(Domain(0.0, 1.0), at, at) is None


def test_too_many_numbers_to_find_a_tangent_space_are_refused() -> None:
    at = np.ones(1001)
    with pytest.raises(UsageError, match="expected at most 1000 numbers where the tangent space is found from the"):
        tangents_of(constraint(lambda values: values / values.sum()), at, at)


def test_what_is_off_by_rounding_counts_as_inside() -> None:
    length_one = constraint(lambda values: values / np.linalg.norm(values))
    assert length_one.broken(np.array([0.6, 0.8]) * (1.0 + 1e-15)) is None
    assert length_one.broken(np.array([0.6, 0.8], np.float32)) is None
    place, there = length_one.broken(np.array([3.0, 4.0]))  # type: ignore[misc]
    assert place == (1,)
    assert there == pytest.approx(0.8)
