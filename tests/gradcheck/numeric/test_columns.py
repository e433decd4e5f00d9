"""Functions of which every output depends on one element, told from others."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
from gradcheck.model.domain import measure_room
from gradcheck.numeric.columns import is_elementwise, owners
from tests.gradcheck.points import X, point


def test_elementwise_functions_are_told_from_others() -> None:
    def verdict(forward: Any) -> bool:
        here = point(forward, X)
        owner = owners(here, 0)
        return owner is not None and is_elementwise(here, 0, owner, measure_room(X, Domain()))

    assert verdict(np.sin)
    assert verdict(lambda x: x + np.zeros((2, 1, 1)))
    assert not verdict(lambda x: x - x.mean())
    assert not verdict(lambda x: x[:, ::-1] + 0)
    assert not verdict(lambda x: x.sum())
