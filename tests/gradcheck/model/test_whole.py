"""Whole numbers and bools are drawn and projected where another input says they may lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import domain


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("where", "beside", "shape", "holds"),
    [
        (domain.permutation, {}, (2, 5), lambda v: (np.sort(v, axis=-1) == np.arange(5)).all()),
        (domain.positions(of="x", axis=1), {"x": np.zeros((9, 4))}, (30,), lambda v: set(v.tolist()) == {0, 1, 2, 3}),
        (
            domain.positions(of="x", axis="axis"),
            {"x": np.zeros((9, 4)), "axis": -1},
            (30,),
            lambda v: set(v.tolist()) == {0, 1, 2, 3},
        ),
        (
            domain.positions(of="x", missing=-1),
            {"x": np.zeros((3, 2))},
            (60,),
            lambda v: set(v.tolist()) == {-1, 0, 1, 2},
        ),
        (domain.positions(of="x", missing=-1), {"x": np.zeros(0)}, (4,), lambda v: v.tolist() == [-1] * 4),
        (domain.lengths(of="x", axis=1), {"x": np.zeros((9, 3))}, (40,), lambda v: set(v.tolist()) == {1, 2, 3}),
        (domain.lengths(of="x", least=0), {"x": np.zeros(2)}, (40,), lambda v: set(v.tolist()) == {0, 1, 2}),
        (domain.segment_ids, None, (7,), None),
        (
            domain.segment_ids(of="x", below="count"),
            {"x": np.zeros((40, 2)), "count": 3},
            (5, 2),
            lambda v: v.shape == (40,) and (np.diff(v) >= 0).all() and set(v.tolist()) == {0, 1, 2},
        ),
        (domain.segment_ids(below=1), {}, (4,), lambda v: v.tolist() == [0, 0, 0, 0]),
        (domain.mask(least=1), {}, (50, 2), lambda v: v.any(axis=-1).all() and not v.all()),
        (
            domain.prefix_mask(least=1),
            {},
            (20, 3),
            lambda v: v[:, 0].all() and (np.diff(v.astype(int), axis=-1) <= 0).all() and set(v.sum(-1)) == {1, 2, 3},
        ),
    ],
)
def test_whole_numbers_and_bools_are_drawn_inside_and_projected_there(
    where: Any, beside: Any, shape: tuple[int, ...], holds: Any
) -> None:
    if holds is None:  # a function that gives the domain, not called
        where, beside, holds = where(), {}, lambda v: (np.diff(v) >= 0).all() and v.min() >= 0
    drawn = where.draw(shape, np.dtype(where.dtype), generator(), beside)
    assert holds(drawn)
    assert where.broken(drawn, beside) is None
    np.testing.assert_array_equal(where.project(drawn, beside), drawn)
    if where.dtype == "int64":
        other = where.project(generator(2).integers(-9, 9, drawn.shape), beside)
        assert where.broken(other, beside) is None


def test_a_position_beyond_is_named_with_the_one_that_it_may_stand_for() -> None:
    where = domain.positions(of="x")
    assert where.broken(np.array([0, 6]), {"x": np.zeros(5)}) == ((1,), 1)
    with pytest.raises(ValueError, match="expected positions along an axis of 'x', got one of length 0"):
        where.project(np.array([0]), {"x": np.zeros(0)})


def test_a_length_beyond_and_one_that_no_axis_has_are_told() -> None:
    where = domain.lengths(of="x", axis=1)
    assert where.name == "lengths from 1 along axis 1 of 'x'"
    assert where.broken(np.array([3, 0]), {"x": np.zeros((2, 5))}) == ((1,), 5)
    assert where.broken(np.array([6]), {"x": np.zeros((2, 5))}) == ((0,), 1)
    with pytest.raises(ValueError, match="expected an axis of 'x' of length 1 or more, got one of length 0"):
        where.project(np.array([1]), {"x": np.zeros((2, 0))})
