from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import domain
from gradcheck.checks.lengths import Group, Laws, changed, declared, follow, groups_of, partners, single_axes
from gradcheck.model.dims import Length
from gradcheck.model.protocol import build_subject

LINE = Group(8, frozenset({(0, 0)}))


def outputs(*shapes: Any) -> list[Any]:
    return [np.zeros(shape) for shape in shapes]


def learned(made: dict[int, int], given: int) -> tuple[bool, Laws]:
    laws = Laws([(given,)])
    return laws.learn(LINE, {n: outputs((m,)) for n, m in made.items()}), laws


@pytest.mark.parametrize(
    ("law", "given"),
    [
        (lambda n: (n + 1) // 2, 4),
        (lambda n: n // 2, 4),
        (lambda n: (n - 3) // 2 + 1, 3),
        (lambda n: n - 2, 6),
        (lambda n: n + 4, 12),
        (lambda n: 3 * n, 24),
        (lambda n: 20 - n, 12),
        (lambda n: 5, 5),
    ],
)
def test_a_law_that_holds_at_four_lengths_says_the_next(law: Any, given: int) -> None:
    known, laws = learned({n: law(n) for n in (7, 9, 11, 16)}, given)
    assert known
    assert laws.rule(LINE)
    assert laws.allow((0, 0), law(13), {LINE: 13})
    assert not laws.allow((0, 0), law(13) + 2, {LINE: 13})


def test_what_follows_no_law_is_not_explained() -> None:
    known, laws = learned({7: 3, 9: 1, 11: 9, 16: 2}, 4)
    assert not known
    assert not laws.rule(LINE)
    assert not laws.allow((0, 0), 4, {LINE: 9})


def test_another_number_of_outputs_or_axes_is_not_explained() -> None:
    laws = Laws([(4,)])
    assert not laws.learn(LINE, {7: outputs((3,), (3,))})
    assert not laws.learn(LINE, {7: outputs((3, 1))})


def test_two_lengths_that_one_output_is_made_of_add_up() -> None:
    width = Group(3, frozenset({(1, 0)}))
    laws = Laws([(6,)])  # 8 numbers, 3 weights
    assert laws.learn(LINE, {7: outputs((5,)), 9: outputs((7,))})
    assert laws.learn(width, {2: outputs((7,)), 4: outputs((5,))})
    assert laws.allow((0, 0), 9, {LINE: 13, width: 5})
    assert not laws.allow((0, 0), 12, {LINE: 13, width: 5})


def test_an_axis_of_one_is_a_group_by_itself_and_all_are_one_together() -> None:
    first, second, both = single_axes([(1, 4), None, (3, 1)], 4)
    assert (first.axes, second.axes, both.axes) == ({(0, 0)}, {(2, 1)}, {(0, 0), (2, 1)})
    assert changed([(1, 4), None, (3, 1)], {second: 5}) == [(1, 4), None, (3, 5)]
    assert partners(second, [(1, 4), None, (3, 1)]) == [4]
    assert single_axes([(1,)], 4) == [Group(1, frozenset({(0, 0)}))]


def test_a_product_with_an_axis_that_grows_follows() -> None:
    assert follow([(4,)], outputs((12,)), [(1, 4)], [(3, 4)], {1: (1, 3)}) == []
    assert follow([(4,)], outputs((5,)), [(1, 4)], [(3, 4)], {1: (1, 3)}) == [(0, 0)]
    assert follow([(4,)], outputs((4, 1)), [(1, 4)], [(3, 4)], {1: (1, 3)}) is None


def test_axes_of_a_named_length_are_a_group_and_fixed_ones_are_in_none() -> None:
    inputs = [np.ones((3, 3)), np.ones((3, 3)), np.ones((3, 1))]
    where = {"a": domain.shape("N", 3), "b": domain.shape("M", "N"), "c": domain.shape(None, "one")}
    subject = build_subject(np.add, np.add, None, inputs, ["a", "b", "c"], where, (), ())
    shapes = [array.shape for array in inputs]
    groups = groups_of(subject, inputs, shapes, 4)
    assert [group.axes for group in groups] == [{(0, 0), (1, 1), (2, 0)}, {(1, 0)}]
    assert single_axes(shapes, 4, declared(subject, shapes)) == []


def test_what_is_made_of_a_named_length_changes_with_it_and_so_do_the_axes_of_a_name_for_several() -> None:
    inputs = [np.ones(3), np.ones((3, 4)), np.ones((3, 5)), np.ones((5, 1))]
    where = {"x": domain.shape("*B"), "w": domain.shape("*B", "K"), "d": domain.shape("*B", "K+1")}
    subject = build_subject(np.add, np.add, None, inputs, ["x", "w", "d", "free"], where, (), ())
    shapes = [array.shape for array in inputs]
    rows, bins = groups_of(subject, inputs, shapes, 4)
    assert rows == Group(3, frozenset({(0, 0), (1, 0), (2, 0)}))
    form = Length("K", 1, 1)
    assert bins == Group(4, frozenset({(1, 1), (2, 1), (3, 0)}), (((2, 1), form), ((3, 0), form)))
    assert changed(shapes, {rows: 2, bins: 7}) == [(2,), (2, 7), (2, 8), (8, 1)]
    assert (rows.least, bins.least, Group(4, bins.axes, (((2, 1), Length("K", 2, -5)),)).least) == (0, 0, 3)


def test_a_length_of_one_is_no_reason_to_change_an_axis_of_which_nothing_is_told() -> None:
    inputs = [np.ones(2), np.ones(1), np.ones((1, 5))]
    where = {"a": domain.shape("K"), "b": domain.shape("K-1")}
    subject = build_subject(np.add, np.add, None, inputs, ["a", "b", "c"], where, (), ())
    shapes = [array.shape for array in inputs]
    assert [group.axes for group in groups_of(subject, inputs, shapes, 4)] == [{(0, 0), (1, 0)}, {(2, 1)}]
    assert [group.axes for group in single_axes(shapes, 4, declared(subject, shapes))] == [{(2, 0)}]
