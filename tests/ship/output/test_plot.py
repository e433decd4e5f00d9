import math
import xml.etree.ElementTree as ElementTree

import pytest

from gradcheck.show.axes import Axis, Curve
from opsdk.ship.output.plot import HEIGHT, LEFT, RIGHT, WIDTH, plot

ACROSS, UP = Axis("x", (0.0, 10.0)), Axis("y", (0.0, 1.0))


def points(svg, kind="polyline"):
    found = [e.attrib["points"] for e in ElementTree.fromstring(svg).iter() if e.tag.endswith(kind)]
    return [[tuple(map(float, pair.split(","))) for pair in path.split()] for path in found]


def test_ends_of_the_axes_are_corners_of_the_plot():
    ((first, last),) = points(plot("t", [Curve("c", ((0.0, 0.0), (10.0, 1.0)))], ACROSS, UP))
    assert (first[0], last[0]) == (LEFT, WIDTH - RIGHT)
    assert first[1] > last[1] > 0
    assert first[1] < HEIGHT


def test_a_logarithmic_axis_gives_equal_factors_equal_room():
    across = Axis("n", (1.0, 100.0), is_log=True)
    ((a, b, c),) = points(plot("t", [Curve("c", ((1.0, 0.5), (10.0, 0.5), (100.0, 0.5)))], across, UP))
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2)


def test_a_line_is_interrupted_where_it_cannot_be_drawn():
    curve = Curve("c", ((0.0, 0.1), (1.0, 0.2), (2.0, math.nan), (3.0, 7.0), (4.0, 0.3), (5.0, 0.4)))
    assert [len(path) for path in points(plot("t", [curve], ACROSS, UP))] == [2, 2]


def test_a_key_that_is_too_long_goes_on_in_the_next_line():
    curves = [Curve(f"a rather long name {i}", ((0.0, 0.0), (10.0, 1.0))) for i in range(6)]
    svg = plot("t", curves, ACROSS, UP)
    ends = [float(e.attrib["x"]) for e in ElementTree.fromstring(svg).iter() if (e.text or "").startswith("a rather")]
    assert max(ends) < WIDTH
    assert len(set(ends)) < len(ends)


def test_titles_are_escaped():
    ElementTree.fromstring(plot("a < b & c", [Curve("<c>", ((0.0, 0.0), (1.0, 1.0)))], ACROSS, UP))
