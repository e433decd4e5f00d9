"""Points: a subject as functions of float64 vectors, and what its functions raise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.model.evaluation import VjpError
from tests.gradcheck.points import X, point


def test_a_point_raises_short_dtypes_to_float64_unless_forward_refuses() -> None:
    def only_float32(x: Any) -> Any:
        if x.dtype != np.float32:
            raise TypeError("float32 only")
        return np.sin(x)

    assert point(np.sin, X.astype(np.float32)).forward_eps == 2.0**-52
    assert point(only_float32, X.astype(np.float32)).forward_eps == 2.0**-23


def test_a_point_gives_nan_where_forward_raises() -> None:
    def positive(x: Any) -> Any:
        if (x < 0).any():
            raise ValueError("negative")
        return x + 0

    here = point(positive, np.ones(2))
    assert np.isnan(here.forward_at(0, -np.ones(2))).all()


def test_a_vjp_that_raises_or_returns_a_mapping_is_a_vjp_error() -> None:
    with pytest.raises(VjpError, match="TypeError: vjp returned a mapping"):
        point(np.sin, X, vjp=lambda i, o, c: {"x": c[0]}).gradients(np.ones(12))

    calls = []

    def once(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("second call")
        return x + 0

    with pytest.raises(VjpError, match="forward raised on inputs it accepted before: RuntimeError: second call"):
        point(once, X).gradients(np.ones(12))
