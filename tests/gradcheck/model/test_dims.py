from __future__ import annotations

from typing import Any

import pytest

from gradcheck.errors import UsageError
from gradcheck.model.dims import Dims, mismatch


@pytest.mark.parametrize("size", [-1, True, 2.0, "N 2", "2", ""])
def test_a_size_is_a_length_a_name_none_or_dots(size: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Dims.of([2, size])
    told = f"shape: expected lengths from 0 on, names of lengths, None or ..., got {size!r}; write shape(\"N\", 3)"
    assert str(caught.value) == told


def test_dots_stand_once() -> None:
    with pytest.raises(UsageError, match=r"shape: expected \.\.\. once, got \('\.\.\.', 2, '\.\.\.'\); name the"):
        Dims.of([..., 2, ...])


@pytest.mark.parametrize(
    ("sizes", "shape", "wanted"),
    [
        (("N", 2), (5, 2), ""),
        (("N", 2), (5, 3), "(N, 2)"),
        (("N", 2), (5,), "(N, 2)"),
        (("N",), (4,), ""),
        (("N", "N"), (3, 4), "(N, N) with N = 3 as of 'x'"),
        ((None, 2), (9, 2), ""),
        ((None, 2), (9, 1), "(any, 2)"),
        ((..., "N"), (7, 8, 3), ""),
        ((..., "N"), (), "(..., N)"),
        ((2, ..., 3), (2, 3), ""),
        ((2, ..., 3), (2, 9, 4), "(2, ..., 3)"),
        (("N", 2), (None, None), ""),
        (("N", 2), (None, 3), "(N, 2)"),
        ((), (), ""),
        ((), (1,), "()"),
    ],
)
def test_what_a_shape_is_to_be_is_said_where_it_is_not_that(sizes: Any, shape: Any, wanted: str) -> None:
    assert Dims.of(sizes).wrong(shape, "x", {}) == wanted


def test_a_name_has_the_length_that_it_was_first_met_with() -> None:
    pairs = [("a", Dims.of(["N", 2]), (5, 2)), ("b", Dims.of([None, "N"]), (1, 5)), ("c", Dims.of(["N"]), (4,))]
    assert mismatch(pairs, {}) == ("c", "(N,) with N = 5 as of 'a'")
    assert mismatch(pairs[:2], {}) is None
    assert mismatch(pairs, {"N": (4, "")}) == ("a", "(N, 2) with N = 4")


def test_names_of_whole_numbers_are_fixed_and_others_left() -> None:
    held = Dims.of([..., "k", "N"]).holding({"k": 3, "N": True, "more": 1})
    assert held == Dims(("...", 3, "N"))
    assert held.names == ("N",)


def test_a_shape_of_that_kind_has_the_lengths_that_are_given() -> None:
    assert Dims.of([..., "N", None, 3]).shape({"N": 7, "M": 1}) == (7, 2, 3)
