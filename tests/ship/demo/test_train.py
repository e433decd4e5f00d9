import dataclasses

import numpy as np
import pytest

from opsdk.ship.demo.train import Epoch, Run, claims_of

KINDS = [("pair", "numpy"), ("expression", "numba"), ("built-in", "numba")]


@pytest.fixture
def runs():
    weights = (np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros(3, np.float32))
    return [
        Run(mode, relu, row, (Epoch(0.1, 0.97),), 1.0, tuple(array.copy() for array in weights))
        for mode in ("dynamic", "static")
        for relu, row in KINDS
    ]


def failing(runs):
    return [(claim.text, claim.evidence) for claim in claims_of(runs) if not claim.holds]


def test_equal_runs_fulfil_every_claim(runs):
    assert len(claims_of(runs)) == 6
    assert failing(runs) == []


def test_one_changed_bit_breaks_the_claim_on_that_run(runs):
    runs[2].parameters[0][1, 2] += 2**-20
    assert failing(runs) == [
        ("built-in (numba) equals the NumPy pair, dynamic", "parameters differ by up to 9.5e-07"),
    ]


def test_a_changed_bit_of_the_pair_breaks_every_claim_on_it(runs):
    runs[0].parameters[0][1, 2] += 2**-20
    assert [text for text, _ in failing(runs)] == [
        "dynamic and static agree, NumPy pair",
        "expression (numba) equals the NumPy pair, dynamic",
        "built-in (numba) equals the NumPy pair, dynamic",
    ]


def test_minus_zero_is_not_zero(runs):
    runs[1].parameters[1][0] = -0.0
    assert [text for text, _ in failing(runs)] == ["expression (numba) equals the NumPy pair, dynamic"]


def test_another_dtype_is_not_the_same(runs):
    runs[4] = dataclasses.replace(runs[4], parameters=tuple(a.astype(np.float64) for a in runs[4].parameters))
    assert [text for text, _ in failing(runs)] == ["expression (numba) equals the NumPy pair, static"]


def test_the_worst_accuracy_counts(runs):
    runs[3] = dataclasses.replace(runs[3], epochs=(Epoch(0.1, 0.99), Epoch(0.1, 0.9)))
    assert failing(runs) == [("every run recognises 95% of the test digits", "least: 90.00%, static, pair (numpy)")]
