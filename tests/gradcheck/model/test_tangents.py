"""Tangent spaces: given with a rule, or found from its projection; None where everything may move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.errors import UsageError
from gradcheck.model.constraint import Domain, Rule, constraint
from gradcheck.model.tangents import is_at_end, tangents_of


def directions(rule: Rule, values: Any, direction: Any, beside: Any = None, dtype: str = "float64") -> Any:
    """The direction as the tangent space has it; None where there is no space of its own."""
    values = np.array(values, np.float64)
    found = tangents_of(Domain(rules=(rule,)), values, values.astype(dtype), beside or {})
    return None if found is None else found.project(np.array(direction, np.float64))


SYMMETRIC = Rule("symmetric", lambda a: (a + a.T) / 2)
UNIT = Rule("of length 1", lambda v: v / np.sqrt((v * v).sum()))


def test_an_interval_alone_leaves_every_direction_free() -> None:
    assert tangents_of(Domain(0.0, 1.0), np.array([0.5]), np.array([0.5])) is None


def test_a_projection_that_moves_nothing_leaves_every_direction_free() -> None:
    assert directions(Rule("anything", lambda v: v), [1.0, 2.0], [1.0, 0.0]) is None


def test_a_flat_set_has_its_projection_for_one_of_directions() -> None:
    found = directions(SYMMETRIC, [[2.0, 1.0], [1.0, 3.0]], [[5.0, 1.0], [0.0, 7.0]])
    np.testing.assert_allclose(found, [[5.0, 0.5], [0.5, 7.0]], atol=1e-9)


def test_on_a_sphere_what_points_outwards_is_taken_away() -> None:
    found = directions(UNIT, [0.6, 0.8], [1.0, 0.0])
    np.testing.assert_allclose(found, [1.0 - 0.36, -0.48], atol=1e-9)  # less 0.6 times (0.6, 0.8)


def test_small_numbers_have_the_tangent_space_of_large_ones() -> None:
    small = Rule("of length 1e-6", lambda v: 1e-6 * v / np.sqrt((v * v).sum()))
    np.testing.assert_allclose(directions(small, [6e-7, 8e-7], [1.0, 0.0]), [0.64, -0.48], atol=1e-6)


def test_a_tangent_that_is_given_is_asked_with_the_values_and_with_what_the_rule_names() -> None:
    seen = []

    def tangent(values: Any, direction: Any, k: Any) -> Any:
        seen.append((values.tolist(), values.dtype, k))
        return direction * k

    rule = Rule("of a kind", lambda v, k: v, of=("k",), tangent=tangent)
    assert directions(rule, [1.0, 2.0], [3.0, 4.0], {"k": 2, "other": 5}).tolist() == [6.0, 8.0]
    assert seen == [([1.0, 2.0], np.float64, 2)]


def test_values_of_float32_are_looked_at_in_float64() -> None:
    found = directions(UNIT, [0.6, 0.8], [1.0, 0.0], dtype="float32")
    np.testing.assert_allclose(found, [0.64, -0.48], atol=1e-7)


def test_too_many_numbers_ask_for_a_tangent_that_is_given() -> None:
    said = (
        "domain of length 1: expected at most 1000 numbers where the tangent space is found from the projection, got "
        "1001; give tangent="
    )
    with pytest.raises(UsageError, match=said):
        directions(UNIT, np.ones(1001), np.ones(1001))


def test_a_set_ends_where_its_projection_moves_on_one_side_alone_and_there_no_direction_is_left_out() -> None:
    where = constraint(lambda values: np.maximum(values, 0.5))
    inside, end = np.array([0.75, 2.0, 1.0]), np.array([0.5, 2.0, 1.0])
    assert [is_at_end(where, values, values) for values in (inside, end)] == [False, True]
    assert tangents_of(where, inside, inside) is None
    assert tangents_of(where, end, end) is None


def test_a_curved_set_ends_nowhere() -> None:
    circle = constraint(lambda values: values / np.linalg.norm(values))
    point = np.array([0.6, 0.8])
    assert not is_at_end(circle, point, point)
    found = tangents_of(circle, point, point)
    assert found is not None
    np.testing.assert_allclose(found.project(np.array([1.0, 0.0])), [0.64, -0.48], atol=1e-8)
