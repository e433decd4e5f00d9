from __future__ import annotations

from typing import Any

import pytest

import gradcheck
from tests.gradcheck.bank import FAMILIES

_FEW = 4


def seeded(role: str) -> list[Any]:
    """Gives each pair that has a vjp of the role at a few seeds."""
    rest = pytest.mark.slow  # the other pairs of a family, and other seeds; the first of each is in every run
    cases = []
    for family in FAMILIES.values():
        for number, pair in enumerate(pair for pair in family if getattr(pair, role) is not None):
            for seed in range(_FEW):
                marks = () if number == seed == 0 else rest
                cases.append(pytest.param(pair, seed, id=f"{pair.name}, seed {seed}", marks=marks))
    return cases


@pytest.mark.parametrize(("pair", "seed"), seeded("right"))
def test_a_right_one_of_a_family_passes(pair: Any, seed: int) -> None:
    report = gradcheck.check(pair.forward, pair.right, pair.inputs, seed=seed, **pair.options)
    assert report.verdict == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize(("pair", "seed"), seeded("wrong"))
def test_a_wrong_one_of_a_family_fails(pair: Any, seed: int) -> None:
    assert gradcheck.check(pair.forward, pair.wrong, pair.inputs, seed=seed, **pair.options).verdict == "fail"
