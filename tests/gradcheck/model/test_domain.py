from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gradcheck.domain import shape
from gradcheck.errors import UsageError
from gradcheck.model.constraint import Domain
from gradcheck.model.domain import check_inside, measure_room, read_domain


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (None, (Domain(), Domain())),
        ((0, 1), (Domain(0, 1), Domain(0, 1))),
        ([(0, None), None], (Domain(0, np.inf), Domain())),
        ({"b": (-1, 1)}, (Domain(), Domain(-1, 1))),
    ],
)
def test_every_form_of_domain_is_read(domain: Any, expected: Any) -> None:
    assert read_domain(domain, ("a", "b")) == expected


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        ({"c": (0, 1)}, "domain: expected names among a, b, got 'c'; name an input"),
        ([(0, 1)], "domain: expected one (low, high) or None for each of 2 inputs, got [(0, 1)]"),
        ([(1, 0), None], "domain of 'a': expected (low, high) with low <= high, got (1, 0); swap or correct them"),
    ],
)
def test_another_form_is_refused(domain: Any, text: str) -> None:
    with pytest.raises(UsageError, match=re.escape(text)):
        read_domain(domain, ("a", "b"))


def test_an_input_outside_its_domain_is_refused_with_index_and_value() -> None:
    text = "input 'x': expected values in [0, 1], got 2 at [1]; move it inside or widen domain"
    with pytest.raises(UsageError, match=re.escape(text)):
        check_inside((np.array([0.5, 2.0]),), (Domain(0, 1),), ("x",))


def test_room_is_a_power_of_two_that_stays_inside() -> None:
    values = np.array([0.3, 0.9, 1.0, 0.0])
    room = measure_room(values, Domain(0.0, 1.0))
    assert np.array_equal(np.exp2(np.round(np.log2(room.scale))), room.scale)
    assert (values + room.up * room.scale / 8 <= 1.0).all()
    assert (values - room.down * room.scale / 8 >= 0.0).all()
    assert room.up.tolist() == [1, 1, 0, 1]
    assert room.down.tolist() == [1, 1, 1, 0]


def test_reach_widens_to_one_and_narrows_to_the_element() -> None:
    values = np.array([2.0**-20, 2.0**-4, 2.0**-4])
    assert measure_room(values, Domain()).scale.tolist() == [2.0**-4] * 3
    assert measure_room(values, Domain(), "wide").scale.tolist() == [1.0] * 3
    assert measure_room(values, Domain(), "narrow").scale.tolist() == [2.0**-20, 2.0**-4, 2.0**-4]


def test_inputs_of_other_lengths_than_a_domain_names_are_refused() -> None:
    where = read_domain({"a": shape("N", 2), "b": shape("N")}, ("a", "b"))
    check_inside((np.ones((3, 2)), np.ones(3)), where, ("a", "b"))
    with pytest.raises(UsageError) as caught:
        check_inside((np.ones((3, 2)), np.ones(1)), where, ("a", "b"))
    told = "input 'b': expected shape (N,) with N = 3 as of 'a', got (1,); pass one of that shape"
    assert str(caught.value) == told
