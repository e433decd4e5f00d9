"""All elements moved together: rounding that repeats is no fault, a tie that is counted twice is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from tests.gradcheck.right_more import layer_norm, layer_norm_vjp


# Pairs of numbers far from 0: where the two are near, a row's gradients are what rounding leaves of greater terms.
@pytest.mark.parametrize("seed", range(4))
def test_what_rounding_leaves_of_pairs_far_from_0_is_no_fault(seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(60, 2)) + 1e5
    report = gradcheck.check(layer_norm, layer_norm_vjp, (x,), vary=False)
    assert report.findings == ()


def test_a_shift_that_rounds_alike_at_each_step_is_no_fault() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)) + 1e5
    for seed in (26, 42):  # at other sizes, of which one has 263 pairs
        assert gradcheck.check(layer_norm, layer_norm_vjp, (x,), seed=seed).findings == ()


def every_tie(inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any]:
    return (np.where(inputs[0] == outputs[0][:, None], cotangents[0][:, None], 0.0),)


@pytest.mark.parametrize("level", [0.0, 0.7, 1e5])
def test_a_tie_that_is_counted_twice_is_a_fault_wherever_it_lies(level: float) -> None:
    x = level - np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]])
    report = gradcheck.check(lambda x: x.max(axis=1), every_tie, (x,), vary=False)
    (finding,) = report.findings
    assert "wrong when all 6 elements move together" in finding.message
