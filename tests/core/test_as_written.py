"""Attribute values as keys."""

import pytest

from opsdk.core.as_written import as_key, of_key


@pytest.mark.parametrize(
    "pair",
    [(0.0, -0.0), (0j, -0j), (complex(1, 0.0), complex(1, -0.0)), ([1], [True]), ([1], [1.0]), ([[0.0]], [[-0.0]])],
)
def test_values_that_compare_equal_and_are_written_otherwise_are_two_keys(pair):
    first, second = map(as_key, pair)
    assert pair[0] == pair[1]
    assert first != second
    assert {first: 1, second: 2}[as_key(pair[0])] == 1


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, 0j, complex(1, -0.0), True, "a", None, 3])
def test_a_key_gives_its_value_back(value):
    back = of_key(as_key(value))
    assert (type(back), repr(back)) == (type(value), repr(value))


def test_of_a_list_a_key_gives_a_tuple_of_plain_values_back():
    back = of_key(as_key([0.0, [1j, "a"]]))
    assert (repr(back), type(back), type(back[0]), type(back[1][0])) == ("(0.0, (1j, 'a'))", tuple, float, complex)


def test_not_a_number_is_one_key():
    assert as_key([float("nan")]) == as_key([float("inf") - float("inf")])
    assert as_key(complex(float("nan"), 0)) == as_key(complex(float("nan"), 0))
