"""Nested values: an absent entry and a list mean the same wherever values of a call are walked over."""

import pytest

from opsdk.core.nested import each, flat, named, refill


def test_the_leaves_of_an_entry_and_of_all_entries_come_in_order_without_what_is_absent():
    assert list(flat("a")) == ["a"]
    assert list(flat(None)) == []
    assert list(flat(["a", None, "b"])) == ["a", "b"]
    assert list(flat(["a", None, ["b", "c"], [], ("d",)])) == ["a", "b", "c", "d"]


def test_a_function_is_applied_to_every_leaf_and_the_structure_stays():
    assert each("a", str.upper) == "A"
    assert each(None, str.upper) is None
    assert each(("a", None, ["b", None, "c"], []), str.upper) == ["A", None, ["B", None, "C"], []]


def test_leaves_are_put_back_where_they_were():
    values = ["a", None, ["b", None, "c"], []]
    assert refill(values, iter(flat(values))) == values
    assert refill(values, iter((1, 2, 3))) == [1, None, [2, None, 3], []]
    assert refill("a", iter((1,))) == 1


def test_fewer_leaves_than_places_are_refused():
    with pytest.raises(StopIteration):
        refill(["a", ["b"]], iter((1,)))


def test_leaves_are_called_by_their_entry_and_numbered_in_a_list():
    assert named("x", "a") == [("x", "a")]
    assert named("x", None) == []
    assert named("x", ["a", None, "b"]) == [("x[0]", "a"), ("x[2]", "b")]
    assert [pair for _, pair in named("x", ("a", "b"))] == ["a", "b"]
