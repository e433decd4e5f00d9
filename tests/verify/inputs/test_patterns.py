"""Patterns of values keep shape, dtype and domain, and change nothing where they do not apply."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.inputs.patterns import MASKS, ORDERS, PATTERNS, patterned


@pytest.fixture
def masked():
    return opsdk.op("planted::f(Tensor x, Tensor<bool> mask) -> Tensor y", domain={"x": (0, 1)})(lambda x, mask: x)


@pytest.mark.parametrize("reason", PATTERNS)
def test_a_pattern_keeps_shape_dtype_and_domain(masked, reason):
    call = Call([np.linspace(0.1, 0.9, 6).reshape(2, 3), np.array([[True, True, False]])], {})
    for made in patterned(masked.opdef, call, reason):
        assert [(a.shape, a.dtype) for a in made.inputs] == [(a.shape, a.dtype) for a in call.inputs]
        assert made.inputs[0].min() >= 0
        assert made.inputs[0].max() <= 1
        assert str(made).endswith(f"values: {reason}")


def test_masks_get_holes_and_numbers_stay(masked):
    call = Call([np.ones(4), np.array([True, True, True, False])], {})
    found = {reason: next(patterned(masked.opdef, call, reason)).inputs for reason in MASKS}
    assert found["every other one"][1].tolist() == [True, False, True, False]
    assert found["none"][1].tolist() == [False] * 4
    assert all(inputs[0] is call.inputs[0] for inputs in found.values())


def test_a_pattern_that_changes_no_input_gives_no_call(masked):
    only_bools = Call([np.zeros((0, 2)), np.ones(2, bool)], {})
    assert [made for reason in ORDERS for made in patterned(masked.opdef, only_bools, reason)] == []
    assert list(patterned(masked.opdef, Call([np.ones(3), np.ones(2, bool)], {}), "great", positions=[1])) == []
