from __future__ import annotations

from typing import Any

import pytest

import gradcheck
from tests.gradcheck.bank import FAMILIES, Entry, entries

_FEW = 4


def seeded(verdict: str) -> list[Any]:
    """Gives each entry of the families that has to get the verdict at a few seeds."""
    rest = pytest.mark.slow  # the others of a family, and other seeds; the first of each is in every run
    cases = []
    for kind in FAMILIES:
        ours = [entry for entry in entries() if (entry.kind, entry.verdict) == (kind, verdict)]
        for number, entry in enumerate(ours):
            for seed in range(_FEW):
                marks = () if number == seed == 0 else rest
                cases.append(pytest.param(entry, seed, id=f"{entry.name}, seed {seed}", marks=marks))
    return cases


@pytest.mark.parametrize(("entry", "seed"), seeded("pass"))
def test_a_right_one_of_a_family_passes(entry: Entry, seed: int) -> None:
    report = gradcheck.check(entry.forward, entry.vjp, entry.inputs, seed=seed, **entry.options)
    assert entry.judged(report) == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize(("entry", "seed"), seeded("fail"))
def test_a_wrong_one_of_a_family_fails(entry: Entry, seed: int) -> None:
    report = gradcheck.check(entry.forward, entry.vjp, entry.inputs, seed=seed, **entry.options)
    assert entry.judged(report) == "fail"
