import re
import xml.etree.ElementTree as ElementTree

import numpy as np

from gradcheck.show.axes import Curve
from opsdk.ship.demo.page import alike, cells, key, line_chart
from opsdk.ship.demo.train import Epoch, Run


def made(mode, *losses):
    return Run(mode, "custom", "numpy", tuple(Epoch(loss, 0.5) for loss in losses), 1.234, (np.zeros(1),))


def test_runs_with_one_history_are_one_curve():
    first, second = made("dynamic", 1.0, 0.5), made("static", 1.0, 0.5)
    assert alike([first, second]) == [("all 2 runs", first)]


def test_runs_that_differ_in_one_epoch_are_two_curves():
    first, second, third = made("dynamic", 1.0, 0.5), made("static", 1.0, 0.6), made("static", 1.0, 0.5)
    assert alike([first, second, third]) == [
        ("dynamic, custom (numpy); static, custom (numpy)", first),
        ("static, custom (numpy)", second),
    ]


def test_a_line_of_the_table():
    assert cells(made("static", 1.0, 0.25)) == ("static", "custom", "numpy", "0.250000", "0.5000", "1.23")


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
