"""Axes: where values lie, and what is drawn between them."""

import math
import xml.etree.ElementTree as ET

import pytest

from gradcheck.show.axes import Axis, Curve, Plot, dot, line, marks_between

PLOT = Plot(Axis("x", (0.0, 10.0)), Axis("y", (0.0, 1.0)), 20.0, 120.0, 10.0, 60.0)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.02, 2.0, [0, 0.5, 1, 1.5, 2]),
        (0.97, 0.97, [0.8, 1.0]),
        (1.0, 1.0, [1.0, 1.2]),
    ],
)
def test_ticks_are_round_and_enclose_the_values(low, high, ticks):
    assert marks_between(low, high) == tuple(ticks)


def test_a_corner_of_the_plot_is_an_end_of_both_axes():
    assert PLOT.at(0.0, 0.0) == (20.0, 60.0)
    assert PLOT.at(10.0, 1.0) == (120.0, 10.0)
    assert PLOT.at(5.0, 0.5) == (70.0, 35.0)


def test_ends_beyond_the_marks_move_the_marks_inwards():
    axis = Axis("x", (10.0, 100.0), is_log=True, ends=(1.0, 1000.0))
    assert [axis.place(mark, 0.0, 30.0) for mark in axis.marks] == pytest.approx([10.0, 20.0])


def test_an_axis_without_rules_has_marks_all_the_same():
    ruled, bare = (Plot(Axis("", (0.0, 10.0), is_ruled=r), PLOT.up, 0.0, 9.0, 0.0, 9.0).axes() for r in (True, False))
    assert (sum("<path" in part for part in ruled), sum("<path" in part for part in bare)) == (4, 2)
    assert sum("<text" in part for part in ruled) == sum("<text" in part for part in bare) == 5  # the title of y too


def test_a_line_is_interrupted_where_it_cannot_be_drawn_and_a_lone_point_is_a_dot():
    points = ((0.0, 0.1), (1.0, 0.2), (2.0, math.nan), (3.0, 7.0), (4.0, 0.3), (5.0, -1.0), (6.0, 0.5), (7.0, 0.5))
    kinds = [ET.fromstring(part).tag for part in PLOT.curve(Curve("c", points), 0)]
    assert kinds == ["polyline", "circle", "polyline"]


def test_a_bar_ends_where_the_plot_does():
    *_, bar = PLOT.curve(Curve("c", ((5.0, 0.9),), bars=(0.4,)), 7)
    assert ET.fromstring(bar).attrib == {"class": "c1", "x1": "70", "x2": "70", "y1": "35", "y2": "10"}


def test_titles_are_escaped_and_left_out_where_there_are_none():
    assert ET.fromstring(line([(0.0, 0.0)], "c0", "a < b")).findtext("title") == "a < b"
    assert dot((1.0, 2.0), "c0") == '<circle cx="1" cy="2" r="3" class="c0"/>'
