from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.explain.elements import describe_effect, describe_factor, describe_place

X = np.array([[0.5, -1.0, 2.0, -0.25], [1.5, -3.0, 0.75, 4.0], [-0.5, 2.5, -2.0, 1.25]])

N = np.array([[1.0, 2.0, -3.0], [0.5, -1.0, 4.0]])
C = np.array([[0.7, -0.2, 0.4], [1.5, 0.3, -0.6]])


def where(index: Any) -> Any:
    found = np.zeros(X.shape, dtype=bool)
    found[index] = True
    return found


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (where(np.s_[:]), "everywhere"),
        (where(np.s_[:, 0]), "only at the first along axis 1 of x"),
        (where(np.s_[2]), "only at the last along axis 0 of x"),
        (where(np.s_[:, 1]), "only at index 1 along axis 1 of x"),
        (where(np.s_[1:]), "only from index 1 on along axis 0 of x"),
        (where(np.s_[:, :2]), "only at the first 2 along axis 1 of x"),
        (where(np.s_[:, 1::2]), "only at odd indices along axis 1 of x"),
        (X > 1, "only where x > 1"),
        (X < 0, "only where x < 0"),
        (np.abs(X) < 0.6, "only where |x| < 0.6"),
        (where(([0, 1, 2], [0, 1, 2])), "only on the diagonal"),
        (where(np.triu_indices(3, 1, 4)), "only above the diagonal"),
        (where((2, 3)), "only at the last element"),
        (where((2, [1, 2, 3])), "only at the last 3 of 12 elements"),
    ],
)
def test_a_place_is_named(wrong: Any, words: str) -> None:
    assert describe_place(wrong, ~wrong, X, "x") == words


def test_elements_that_were_not_judged_fit_any_rule() -> None:
    wrong, right = where(np.s_[0, 1:3]), where(np.s_[2, :])
    assert describe_place(wrong, right, X, "x") == "only at the first along axis 0 of x"


def test_repeated_values_are_named() -> None:
    x = np.array([1.0, 2.0, 1.0, 3.0, 0.5])
    wrong = np.array([True, False, True, False, False])
    assert describe_place(wrong, ~wrong, x, "x") == "only where values of x repeat"


def test_elements_without_order_have_no_place() -> None:
    wrong = where(([0, 1, 2, 0], [2, 0, 1, 1]))
    assert describe_place(wrong, ~wrong, X, "x") is None


@pytest.mark.parametrize(
    ("analytic", "weights", "words"),
    [
        (np.full_like(N, np.nan), None, "yours is not finite"),
        (0 * N, None, "yours is zero"),
        (C, C, "yours equals the cotangent"),
        (-C, C, "yours is the negative cotangent"),
        (N + 0.25, None, "yours is 0.25 too large, whatever the cotangent"),
        (N - 0.25, None, "yours is 0.25 too small, whatever the cotangent"),
        (-N, None, "yours has the opposite sign"),
        (N * 1.5, None, "yours is 1.5 times the derivative"),
        (N * np.array([1.0, 2.0, 3.0]), None, None),
    ],
)
def test_what_wrong_elements_have_in_common_is_named(analytic: Any, weights: Any, words: str | None) -> None:
    assert describe_effect(analytic, N, weights) == words


def test_a_gradient_where_nothing_depends_is_named() -> None:
    assert describe_effect(C, 0 * N, None) == "nothing depends on the element"


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        ("float64", "yours is 1.999999811 times the derivative everywhere"),
        ("float32", "yours is 2 times the derivative everywhere in float32"),
        ("float16", "yours is 2 times the derivative everywhere in float16"),
    ],
)
def test_a_factor_has_the_digits_of_the_dtype_that_it_was_computed_in(dtype, words):
    assert describe_factor(1.999999811, " everywhere", np.dtype(dtype)) == words
