"""Values that gradcheck chooses."""

import numpy as np
import pytest

import gradcheck
from gradcheck.judge.variation import _repeat
from tests.gradcheck.wrong_more import VALUES


def ties(array, axis, extreme):
    """Says whether some line along an axis has its greatest, or least, value more than once."""
    return (np.asarray(array == extreme(array, axis=axis, keepdims=True)).sum(axis=axis) > 1).any()


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 4), (4,), (5,), (2, 3), (3, 3, 3)])
def test_repeated_values_tie_the_greatest_and_the_least_along_every_axis(shape):
    for seed in range(300):
        values = np.random.default_rng([seed, 1]).normal(size=shape)
        drawn = _repeat(values, np.random.default_rng(seed), 0)
        assert set(drawn.ravel()) <= set(values.ravel()[:2])
        assert drawn.flat[0] == values.flat[0]
        for axis, length in enumerate(shape):
            for extreme in (np.max, np.min) if length > 2 else ():
                assert ties(drawn, axis, extreme), (seed, axis, extreme, drawn)


def test_values_without_a_number_or_an_element_are_left_as_they_are():
    generator = np.random.default_rng(0)
    assert _repeat(np.zeros((0, 4)), generator, 0).shape == (0, 4)
    assert np.isnan(_repeat(np.full((3, 4), np.nan), generator, 0)).all()
    assert _repeat(np.full((3, 4), 2.0), generator, 0).tolist() == [[2.0] * 4] * 3


def test_a_maximum_whose_gradient_goes_to_all_ties_is_found_where_chance_draws_none():
    name, forward, vjp, inputs = next(case for case in VALUES if case[0] == "all ties of a maximum")
    assert gradcheck.check(forward, vjp, inputs, seed=24).verdict == "fail", name
