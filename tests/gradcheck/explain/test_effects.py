from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.explain.effects import describe_effect

N = np.array([[1.0, 2.0, -3.0], [0.5, -1.0, 4.0]])
C = np.array([[0.7, -0.2, 0.4], [1.5, 0.3, -0.6]])


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
