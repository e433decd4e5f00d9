"""Precision that a function loses inside."""

from __future__ import annotations

import numpy as np

from gradcheck.numeric.hidden import hidden_eps
from tests.gradcheck.points import X, point


def test_float32_inside_a_float64_function_is_found() -> None:
    generator = np.random.default_rng(0)
    assert hidden_eps(point(np.sin, X), generator) == 2.0**-52
    assert hidden_eps(point(np.round, X), generator) == 2.0**-52
    assert hidden_eps(point(lambda x: np.sin(x.astype(np.float32)).astype(np.float64), X), generator) == 2.0**-23
    assert hidden_eps(point(lambda x: np.sin(x.astype(np.float16)).astype(np.float64), X), generator) == 2.0**-10
