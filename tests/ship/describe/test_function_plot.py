import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import opsdk
from opsdk.define.op import find_op
from opsdk.ship.describe.function_plot import function_plot


def curves(svg):
    return [e.attrib["points"] for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("polyline")]


def test_a_function_is_drawn_with_its_derivative():
    svg = function_plot(find_op("opsdk::tanh"))
    assert len(curves(svg)) == 2
    assert {"out = tanh(x)", "dout/dx"} <= {e.text for e in ElementTree.fromstring(svg).iter()}


def test_without_a_backward_the_function_is_drawn_alone():
    @opsdk.op(namespace="drawn")
    def half(x):
        return np.asarray(x / 2)

    assert len(curves(function_plot(half))) == 1


def test_the_domain_bounds_the_picture():
    @opsdk.op(namespace="drawn", domain={"x": (1.0, 3.0)})
    def root(x):
        assert x.min() >= 1.0
        assert x.max() <= 3.0
        return np.sqrt(x)

    marks = [e.text for e in ElementTree.fromstring(function_plot(root)).iter() if e.tag.endswith("text")]
    assert "1" in marks
    assert "3" in marks


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x - x.mean(),
        lambda x: np.cumsum(x),
        lambda x: x.sum(),
        lambda x: x.copy(),
        lambda x: np.full_like(x, np.nan),
    ],
    ids=["mean", "cumulative", "sum", "copy", "nan"],
)
def test_what_is_no_function_of_single_numbers_has_no_picture(function):
    op = opsdk.register_op("drawn::other", forward=lambda x: function(x), infer=lambda x: None)
    assert function_plot(op) == ""


def test_two_inputs_or_an_attribute_that_is_missing_leave_no_picture():
    assert function_plot(find_op("opsdk::elementwise_add")) == ""

    @opsdk.op(namespace="drawn")
    def powered(x, *, exponent: float):
        return x**exponent

    assert function_plot(powered) == ""
