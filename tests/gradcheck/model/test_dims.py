from __future__ import annotations

from typing import Any

import pytest

from gradcheck.errors import UsageError
from gradcheck.model.dims import Dims, Length, least_lengths, mismatch

NO_FORMS = ("N 2", "2", "", "0*K", "2K", "K-", "K+1.5", "K-1-1", "-K", "K*2", "*", "*2", "**B")


@pytest.mark.parametrize("size", [-1, True, 2.0, *NO_FORMS])
def test_a_size_is_a_length_a_form_of_a_named_one_none_or_any_number_of_axes(size: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Dims.of([2, size])
    told = (
        'shape: expected lengths from 0 on, names of lengths, "K-1" or "2*K+1" of a name K, None, ... or "*B", got '
        f'{size!r}; write shape("N", 3)'
    )
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("sizes", "got"), [([..., 2, ...], "..., 2, ..."), (["*B", "*B"], "*B, *B"), (["*B", 1, "..."], "*B, 1, ...")]
)
def test_what_stands_for_any_number_of_axes_stands_once(sizes: Any, got: str) -> None:
    with pytest.raises(UsageError) as caught:
        Dims.of(sizes)
    assert str(caught.value) == f'shape: expected ... or "*B" once, got ({got}); name the axes of one of them'


@pytest.mark.parametrize(
    ("text", "form", "shown"),
    [
        ("K", Length("K"), "K"),
        ("K-1", Length("K", 1, -1), "K-1"),
        ("K + 12", Length("K", 1, 12), "K+12"),
        ("2*K", Length("K", 2), "2*K"),
        ("3 * bins_0 - 2", Length("bins_0", 3, -2), "3*bins_0-2"),
        ("1*K-0", Length("K"), "K"),
    ],
)
def test_a_length_is_a_multiple_of_a_named_one_and_a_whole_number(text: str, form: Length, shown: str) -> None:
    assert Length.read(text) == form
    assert str(form) == shown


@pytest.mark.parametrize(
    ("text", "length", "named"),
    [("K", 0, 0), ("K-1", 3, 4), ("K-1", 0, 1), ("K+1", 0, None), ("2*K", 6, 3), ("2*K", 5, None), ("2*K+1", 1, 0)],
)
def test_the_named_length_follows_from_what_is_made_of_it(text: str, length: int, named: int | None) -> None:
    form = Length.read(text)
    assert form is not None
    assert form.solved(length) == named
    assert named is None or form.at(named) == length


def test_the_least_length_is_that_with_which_all_made_of_it_are_from_none_on() -> None:
    sizes = Dims.of(["K-1", "2*K-5", "N+2", None, 3, "*B"]).sizes
    assert least_lengths(sizes) == {"K": 3, "N": 0}


@pytest.mark.parametrize(
    ("sizes", "shape", "wanted"),
    [
        (("N", 2), (5, 2), ""),
        (("N", 2), (5, 3), "(N, 2)"),
        (("N", 2), (5,), "(N, 2)"),
        (("N",), (4,), ""),
        (("N", "N"), (3, 4), "(N, N) with N = 3 as of 'x'"),
        (("N", "N-1"), (3, 2), ""),
        (("N", "N-1"), (3, 3), "(N, N-1) with N = 3 as of 'x'"),
        (("N-1", "N"), (3, 3), "(N-1, N) with N = 4, as N-1 = 3 in 'x'"),
        (("N", "N-1"), (0, 0), "(N, N-1) with N from 1 on, but N = 0 as of 'x'"),
        (("2*N",), (3,), "(2*N,) with a whole N from 0 on"),
        (("N+1",), (0,), "(N+1,) with a whole N from 0 on"),
        (("*B", "N"), (), "(*B, N)"),
        (("*B", 3), (5, 4, 3), ""),
        (("*B", 3), (5, 4, 2), "(*B, 3)"),
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
    assert held == Dims(("...", 3, Length("N")))
    assert held.names == ("N",)
    assert Dims.of(["*B", "2*k+1"]).holding({"k": 3}) == Dims(("*B", 7))


def test_a_shape_of_that_kind_has_the_lengths_that_are_given() -> None:
    assert Dims.of([..., "N", None, 3]).shape({"N": 7, "M": 1}) == (7, 2, 3)
    assert Dims.of(["*B", "2*N-1"]).shape({"*B": 2, "*B[0]": 4, "*B[1]": 5, "N": 3}) == (4, 5, 5)
    assert Dims.of(["*B", "N-1"]).shape({"*B": 0, "N": 0}) is None


@pytest.mark.parametrize(
    ("x", "w", "wanted"),
    [
        ((), (4,), ""),
        ((3,), (3, 4), ""),
        ((3,), (2, 4), "(*B, K) with *B = (3,) as of 'x'"),
        ((3,), (1, 4), "(*B, K) with *B = (3,) as of 'x'"),  # equal, not broadcast
        ((3,), (4,), "(*B, K) with *B = (3,) as of 'x'"),
        ((3,), (5, 3, 4), "(*B, K) with *B = (3,) as of 'x'"),
        ((3,), (), "(*B, K) with *B = (3,) as of 'x'"),
        ((2, None), (2, 5, 4), ""),
        ((2, None), (3, 5, 4), "(*B, K) with *B = (2, ?) as of 'x'"),
        ((2, None), (4,), "(*B, K) with *B = (2, ?) as of 'x'"),
    ],
)
def test_a_name_for_several_axes_stands_for_the_same_lengths_in_all_arrays(x: Any, w: Any, wanted: str) -> None:
    found = mismatch([("x", Dims.of(["*B"]), x), ("w", Dims.of(["*B", "K"]), w)], {})
    assert found == (("w", wanted) if wanted else None)


def test_where_the_first_array_leaves_a_length_open_the_next_one_tells_it() -> None:
    arrays = [("x", (None, 3)), ("w", (2, 3)), ("v", (4, 3))]
    assert mismatch([(name, Dims.of(["*B"]), shape) for name, shape in arrays], {}) == (
        "v", "(*B) with *B = (2, 3) as of 'w'",
    )  # fmt: skip


def test_lengths_follow_from_whichever_array_shows_the_name_first() -> None:
    d, w = ("d", Dims.of(["K-1"]), (3,)), ("w", Dims.of(["2*K"]), (8,))
    assert mismatch([d, w], {}) is None
    assert mismatch([d, ("w", w[1], (6,))], {}) == ("w", "(2*K,) with K = 4, as K-1 = 3 in 'd'")
    assert mismatch([("w", w[1], (6,)), d], {}) == ("d", "(K-1,) with K = 3, as 2*K = 6 in 'w'")
    assert mismatch([d], {"K": (2, "")}) == ("d", "(K-1,) with K = 2")
