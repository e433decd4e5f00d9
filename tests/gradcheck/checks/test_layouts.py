"""Layouts in memory: the same values, laid out otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.layouts import LAYOUTS
from tests.gradcheck.points import X


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@pytest.mark.parametrize(
    "array", [X, np.array(2.0), np.zeros((0, 3)), np.arange(4)], ids=["2-d", "0-d", "empty", "int"]
)
def test_every_layout_keeps_the_values(name: str, array: Any) -> None:
    changed = LAYOUTS[name](array)
    assert np.array_equal(changed, array)
    assert changed.dtype == array.dtype
    assert not np.shares_memory(changed, array)


def test_layouts_differ_in_memory() -> None:
    assert LAYOUTS["Fortran order"](X).flags.f_contiguous
    assert all(stride < 0 for stride in LAYOUTS["negative strides"](X).strides)
    assert not LAYOUTS["a strided slice"](X).flags.c_contiguous
    assert not LAYOUTS["an unaligned address"](X).flags.aligned
