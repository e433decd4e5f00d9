import re
import xml.etree.ElementTree as ElementTree

from gradcheck.show.axes import Curve
from opsdk.ship.demo.chart import key, line_chart


def over_epochs(name, *values):
    return Curve(name, tuple(enumerate(values, 1)))


CURVES = [over_epochs("first", 2.0, 1.0, 0.5), over_epochs("second <&>", 2.0, 1.5, float("nan"))]


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
    assert "<circle" in line_chart("Loss", [over_epochs("only", 1.0)])


def test_shares_are_labelled_in_per_cent():
    assert ">100%</text>" in line_chart("Accuracy", [over_epochs("a", 0.5, 1.0)], percent=True)


def test_the_key_escapes_names():
    assert "second &lt;&amp;&gt;" in key(CURVES)
