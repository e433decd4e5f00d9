"""Conditions of an expression, and which sides of them arrays meet."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.expr.choices import Choices


def sides(function, *calls):
    """The sides that no call met."""
    choices, met = Choices(function), {}
    for inputs, attrs in calls:
        for side, is_met in choices.met(inputs, attrs):
            met[side] = met.get(side, False) or is_met
    return [side for side, is_met in met.items() if not is_met], len(met)


@pytest.fixture
def clipped():
    @opsdk.elementwise("planted::f(Tensor x, *, float most=1.0, bool turned=False) -> Tensor y")
    def f(x, most, turned):
        if turned:
            return vmath.where(x > 9.0, x, -x)
        return vmath.minimum(x, most) + vmath.where(vmath.isnan(x), 1.0, x)

    return f


def source(op):
    return op.opdef.kernels.reference().source


def test_a_side_that_no_element_is_on_is_told(clipped):
    plain = {"most": 1.0, "turned": False}
    left, count = sides(source(clipped), ([np.array([0.5, 0.25])], plain))
    assert left == ["where le(x, most) does not hold", "where isnan(x) holds"]
    assert count == 4
    assert sides(source(clipped), ([np.array([0.5])], plain), ([np.array([2.0, np.nan])], plain)) == ([], 4)


def test_each_form_that_an_attribute_gives_an_expression_has_choices_of_its_own(clipped):
    left, count = sides(source(clipped), ([np.array([0.5])], {"most": 1.0, "turned": True}))
    assert (left, count) == (["where gt(x, 9.0) holds"], 2)


def test_a_condition_on_numbers_of_a_row_is_one_too():
    @opsdk.rowwise("planted::g(Tensor x) -> Tensor y")
    def g(x):
        return vmath.where(vmath.row_max(x) > 1.0, x, 0.0)

    assert sides(source(g), ([np.zeros((2, 3))], {"axis": -1})) == (["where gt(row_max(x), 1.0) holds"], 2)
    assert sides(source(g), ([np.array([[0.0, 2.0], [0.0, 0.0]])], {"axis": 0})) == ([], 2)


def test_a_call_that_is_refused_meets_nothing(clipped):
    assert sides(source(clipped), ([np.array([2**60 + 1])], {"most": 1.0, "turned": False})) == ([], 0)
