from __future__ import annotations

import numpy as np

from gradcheck.model.perturb import (
    SIGNS,
    draw_cotangents,
    perturb,
    perturb_array,
    perturb_cotangent,
    perturb_inputs,
    perturb_within,
)
from gradcheck.model.protocol import build_subject

STEP = 2.0**-10


def generator() -> np.random.Generator:
    return np.random.default_rng(3)


def test_every_number_moves_by_a_unit_of_its_own_size_either_way() -> None:
    values = np.array([1.0, -2.0, 4.0, 8.0] * 8)
    shares = perturb(values, STEP * SIGNS, generator()) / values - 1.0
    assert set(shares.tolist()) == {-STEP, STEP}


def test_a_complex_number_turns_only_where_that_is_asked_for() -> None:
    values = np.ones(8, np.complex128)
    assert not perturb(values, STEP * SIGNS, generator()).imag.any()
    turned = perturb(values, STEP * SIGNS, generator(), turns=True)
    assert np.abs(turned.imag).tolist() == [STEP] * 8
    assert np.abs(turned.real - 1.0).tolist() == [STEP] * 8


def test_any_share_up_to_the_reach_is_drawn() -> None:
    shares = perturb_within(np.full(1000, 2.0), STEP, generator()) / 2.0 - 1.0
    assert 0.9 * STEP < shares.max() <= STEP
    assert -STEP <= shares.min() < -0.9 * STEP


def test_an_array_keeps_its_dtype() -> None:
    moved = perturb_array(np.ones(16, np.float32), STEP * SIGNS, generator())
    assert moved.dtype == np.float32
    assert set(moved.tolist()) == {1.0 - STEP, 1.0 + STEP}


def test_the_parts_of_a_complex_array_move_each_for_itself() -> None:
    moved = perturb_array(np.full(16, 1 + 1j), STEP * SIGNS, generator())
    assert (moved.real != moved.imag).any()
    assert np.abs(moved.imag - 1.0).tolist() == [STEP] * 16


def test_inputs_of_whole_numbers_and_those_not_named_stay() -> None:
    inputs = (np.ones(4), np.arange(4), 3, np.ones(4))
    first, second, third, last = perturb_inputs(inputs, STEP * SIGNS, generator(), places=(0, 1, 2))
    assert (np.asarray(first) != 1.0).all()
    assert np.asarray(second).tolist() == [0, 1, 2, 3]
    assert third == 3
    assert np.asarray(last).tolist() == [1.0] * 4
    assert inputs[0].tolist() == [1.0] * 4


def test_inputs_stay_inside_their_domain() -> None:
    inputs = (np.ones(16), np.ones(16))
    domain = {"a": (1.0, None), "b": (None, 1.0)}
    subject = build_subject(np.add, lambda i, o, c: (), None, inputs, ("a", "b"), domain, (), ())
    above, below = perturb_inputs(inputs, STEP * SIGNS, generator(), subject)
    assert np.asarray(above).tolist() == [1.0 + STEP] * 16
    assert np.asarray(below).tolist() == [1.0 - STEP] * 16


def test_cotangents_start_with_ones_and_skip_what_is_not_finite() -> None:
    drawn = draw_cotangents(np.array([1.0, np.nan, 2.0]), np.random.default_rng(0))
    assert drawn[0].tolist() == [1, 0, 1]
    assert (drawn[:, 1] == 0).all()
    assert (drawn[:-1] * 8 == np.round(drawn[:-1] * 8)).all()


def test_the_last_cotangent_takes_all_bits_unless_an_output_is_short() -> None:
    for is_short in (False, True):
        last = draw_cotangents(np.ones(20), np.random.default_rng(0), is_short=is_short)[-1]
        assert ((np.abs(last) >= 0.5) & (np.abs(last) <= 1.5)).all()
        assert (last.astype(np.float32) == last).all() == is_short


def test_a_wiggle_changes_the_last_bits_only() -> None:
    rows = perturb_cotangent(np.ones(50), 2.0**-52, np.random.default_rng(0))
    assert all(0 < np.abs(row - 1).max() <= 2.0**-46 for row in rows)
