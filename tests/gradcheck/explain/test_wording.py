"""Numbers and calls as findings write them."""

from __future__ import annotations

import numpy as np

from gradcheck.explain.wording import repro_call, tell_apart
from tests.gradcheck.points import X


def test_two_numbers_are_written_until_they_differ() -> None:
    assert tell_apart(1.0, 2.0) == ("1", "2")
    assert tell_apart(1.0, 1.00000001) == ("1", "1.00000001")


def test_a_rerun_names_the_inputs_or_writes_them_out() -> None:
    assert repro_call((X,), "the given inputs", 3) == "gradcheck.check(forward, vjp, inputs, vary=False, seed=3)"
    assert repro_call((np.ones(2), 4), "signs flipped", 0) == (
        "gradcheck.check(forward, vjp, (np.array([1.0, 1.0], dtype='float64'), 4), vary=False, seed=0)"
    )
    assert repro_call((np.ones(99),), "signs flipped", 5) == "gradcheck.check(forward, vjp, inputs, seed=5)"
