from __future__ import annotations

import numpy as np

from gradcheck.explain.hypothesis import fitting, peak, same

RIGHT = np.array([1.0, 2.0, 3.0])


def test_the_first_hypothesis_that_predicts_the_numbers_is_said() -> None:
    tried = [("twice", 2 * RIGHT), ("the negative", -RIGHT), ("the negative again", -RIGHT)]
    assert fitting(tried, -RIGHT, RIGHT) == "the negative"
    assert fitting(tried, 5 * RIGHT, RIGHT) is None


def test_what_predicts_the_right_numbers_too_explains_no_small_error() -> None:
    yours = RIGHT * (1 + 1e-7)
    assert fitting([("reversed twice", RIGHT)], yours, RIGHT) is None
    assert fitting([("reversed twice", RIGHT)], yours) == "reversed twice"


def test_agreement_is_measured_beside_the_largest() -> None:
    assert same(np.array([1e-7, 1.0]), np.array([0.0, 1.0]))
    assert not same(np.array([1e-5, 1.0]), np.array([0.0, 1.0]))
    assert same(np.array([1e-5, 1.0]), np.array([0.0, 1.0]), 100.0)


def test_nothing_and_numbers_that_are_not_finite_agree_with_nothing() -> None:
    assert not same(np.zeros(0), np.zeros(0))
    assert not same(np.array([np.inf]), np.array([np.inf]))
    assert not same(np.array([1.0]), np.array([np.inf]))
    assert peak(np.zeros(0)) == 0.0
