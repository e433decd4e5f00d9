import re
import xml.etree.ElementTree as ElementTree

import pytest

from opsdk.ship.demo.chart import Curve, key, line_chart
from opsdk.ship.output.plot import marks_between

CURVES = [Curve("first", (2.0, 1.0, 0.5)), Curve("second <&>", (2.0, 1.5, float("nan")))]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0.0, 1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (0.02, 2.0, [0, 0.5, 1, 1.5, 2]), (0.97, 0.97, [0.8, 1.0])],
)
def test_ticks_are_round_and_enclose_the_values(low, high, ticks):
    assert marks_between(low, high) == tuple(ticks)


def test_a_chart_is_well_formed_and_has_a_line_for_each_curve():
    tree = ElementTree.fromstring(line_chart("Loss", CURVES))
    lines = [element for element in tree.iter() if element.tag == "polyline"]
    assert len(lines) == 2
    assert lines[0].find("title").text == "first: 0.5000 after epoch 3"


def test_points_lie_inside_the_drawing_and_fall_with_the_loss():
    (points,) = re.findall(r'polyline points="([^"]*)"', line_chart("Loss", CURVES[:1]))
    places = [tuple(map(float, point.split(","))) for point in points.split()]
    assert all(0 <= x <= 460 and 0 <= y <= 270 for x, y in places)
    assert [y for _, y in places] == sorted(y for _, y in places)  # down the page


def test_values_that_are_no_numbers_are_left_out():
    points = re.findall(r'polyline points="([^"]*)"', line_chart("Loss", CURVES))
    assert [len(line.split()) for line in points] == [3, 2]


def test_a_single_epoch_is_a_dot():
    assert "<circle" in line_chart("Loss", [Curve("only", (1.0,))])


def test_shares_are_labelled_in_per_cent():
    assert ">100%</text>" in line_chart("Accuracy", [Curve("a", (0.5, 1.0))], percent=True)


def test_the_key_escapes_names():
    assert "second &lt;&amp;&gt;" in key(CURVES)
