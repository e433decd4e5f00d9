"""The HTML page: what is wrong is drawn where it is, nothing leaves the page, and text stays text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from gradcheck import Finding, Report, check, render_html
from gradcheck.picture import GradientMap, JacobianMap, Picture, StepCurve
from gradcheck.show.figures import draw_curve, figures
from gradcheck.show.grid import Cell, Grid, draw, shade
from gradcheck.show.maps import draw_gradient, subscript
from gradcheck.show.svg import tag

CURVE = StepCurve("central", (0.1, 0.01, 0.001), (0.5, 0.5, 0.5), (1e-3, 1e-5, 0.0))


def gradient_map(shape: tuple[int, ...], **changes: Any) -> GradientMap:
    count = int(np.prod(shape))
    status = ["right"] * count
    status[-1] = "wrong"
    fields: dict[str, Any] = {
        "shape": shape,
        "in_parts": False,
        "cotangent": "ones",
        "judged": count,
        "elements": tuple(range(count)),
        "analytic": (1.0,) * (count - 1) + (3.0,),
        "numeric": (1.0,) * count,
        "allowed": (1e-9,) * count,
        "status": tuple(status),
        "worst": count - 1,
    }
    return GradientMap(**{**fields, **changes})


def drawn(markup: str) -> ET.Element:
    """Parses one drawing, which must be well-formed."""
    return ET.fromstring(markup)


def kinds(markup: str) -> list[str]:
    return [element.get("class", "") for element in drawn(markup).iter("rect") if element.find("title") is not None]


class Balanced(HTMLParser):
    """Follows opened and closed tags, and gathers text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return parser


def test_only_the_wrong_element_is_coloured() -> None:
    markup = draw_gradient(gradient_map((2, 3)), "x")
    assert kinds(markup) == ["right"] * 5 + ["over worst"]
    assert "x[1, 2]: wrong, yours 3, derivative 1, error +2.00e+00, accepted 1e-09" in markup


def test_a_drawing_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    root = drawn(draw_gradient(gradient_map((2, 3)), "x"))
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Heat map of the gradient of x: 1 of 6 elements are wrong"


def test_the_legend_has_the_greatest_error_on_both_sides() -> None:
    texts = [element.text for element in drawn(draw_gradient(gradient_map((2, 3)), "x")).iter("text")]
    assert {"−2.0e+00", "+2.0e+00", "accepted", "yours is less", "yours is greater", "worst"} <= set(texts)
    assert "not judged" not in texts


def test_what_is_not_judged_is_hatched_and_not_coloured() -> None:
    status = ("right", "unsure", "skipped", "wrong")
    markup = draw_gradient(gradient_map((4,), status=status), "x")
    assert kinds(markup) == ["right", "unsure", "skipped", "over worst"]
    (hatch, _) = (element for element in drawn(markup).iter("path") if element.get("class") == "hatch")
    assert str(hatch.get("d")).count("M") == 2
    assert "not judged" in markup


def test_a_value_that_is_not_finite_is_drawn_as_broken() -> None:
    markup = draw_gradient(gradient_map((2,), analytic=(1.0, float("nan"))), "x")
    assert kinds(markup) == ["right", "broken worst"]
    assert "not finite" in markup


@pytest.mark.parametrize(
    ("shape", "columns", "rows"),
    [
        ((2, 3), ["0", "1", "2"], ["0", "1"]),
        ((5,), ["0", "1", "2", "3", "4"], [""]),
        ((2, 1, 2), ["0", "1"], ["0,0", "1,0"]),
        ((), [""], [""]),
    ],
    ids=str,
)
def test_axes_have_the_indices_of_the_input(shape: tuple[int, ...], columns: list[str], rows: list[str]) -> None:
    texts = [element.text or "" for element in drawn(draw_gradient(gradient_map(shape), "x")).iter("text")]
    middle = texts[2 : 2 + len(columns) + len(rows)]
    assert middle == columns + rows


def test_a_long_vector_is_wrapped() -> None:
    texts = [element.text for element in drawn(draw_gradient(gradient_map((70,)), "x")).iter("text")]
    assert "64" in texts
    assert "from" in texts


def test_few_judged_elements_of_many_become_a_strip() -> None:
    elements = (0, 500, 9999)
    picture = replace(gradient_map((3,)), shape=(100, 100), elements=elements, worst=9999)
    root = drawn(draw_gradient(picture, "x"))
    assert "judged elements of x" in [element.text for element in root.iter("text")]
    assert float(str(root.get("height"))) < 200


def test_parts_of_complex_numbers_are_named() -> None:
    assert subscript(3, (2, 2), in_parts=True) == "[1].imag"
    assert subscript(0, (2,), in_parts=True) == ".real"
    assert subscript(5, (2, 3)) == "[1, 2]"
    texts = [element.text for element in drawn(draw_gradient(gradient_map((3, 2), in_parts=True), "z")).iter("text")]
    assert {"real", "imag", "part of z"} <= set(texts)


def test_colours_grow_with_the_error_and_are_never_invisible() -> None:
    strengths = [shade(error, 1.0) for error in (1e-12, 0.01, 0.25, -1.0)]
    assert strengths == sorted(strengths)
    assert strengths[0] > 0.25
    assert strengths[-1] == 1.0


def test_an_empty_cell_of_a_jacobian_is_zero_on_both_sides() -> None:
    jacobian = JacobianMap(
        (2,), False, ((2,), (1,)), (False, False), (0, 2), (0, 1), (0,), (1,), (4.0,), (-1.5,), (1e-9,), ("wrong",)
    )
    markup = figures(Picture(gradient_map((2,)), jacobian), "x")
    assert "∂ output 0[0] / ∂ x[1]: wrong, derivative 4, error -1.50e+00, accepted 1e-09" in markup
    assert "1 entry is wrong, in 1 of 2 outputs" in markup
    assert "Shown are 2 of 3 outputs and 2 of 2 elements." in markup
    assert ">1[0]<" in markup


def test_the_step_curve_has_a_point_per_step_and_a_zero_on_its_lower_edge() -> None:
    markup = draw_curve(CURVE, "x[0]")
    root = drawn(markup)
    circles = [element for element in root.iter("circle") if element.get("class") == "settled"]
    heights = [float(str(circle.get("cy"))) for circle in circles]
    assert heights == sorted(heights)
    assert heights[-1] == 256.0
    assert heights[-2] < 240.0
    assert "0" in [element.text for element in root.iter("text")]
    assert "to yours: stays 5.0e-01 away" in markup
    assert root.get("aria-label") == "Step curve at x[0]: the quotients come no nearer to your value than 5.0e-01"


def test_a_curve_of_zeros_is_drawn_all_the_same() -> None:
    drawn(draw_curve(StepCurve("central", (0.1,), (0.0,), (0.0,)), "x"))


def test_worst_elements_are_listed_worst_first_with_digits_that_tell_them_apart() -> None:
    picture = gradient_map((3,), analytic=(1.0 + 1e-8, 1.0, 2.0), status=("wrong", "right", "wrong"))
    rows = re.findall(
        r"<tr><td>(.*?)</td><td class=\"num\">(.*?)</td><td class=\"num\">(.*?)</td>", figures(Picture(picture), "x")
    )
    assert rows == [("x[2]", "2", "1"), ("x[0]", "1.00000001", "1")]


def test_every_text_is_escaped() -> None:
    hostile = "<script>alert('&')</script>"
    finding = Finding(
        hostile, hostile, hostile, cause=hostile, repro=hostile, picture=Picture(gradient_map((2, 2)), curve=CURVE)
    )
    page = render_html(Report("fail", (finding,)), hostile)
    assert "<script" not in page
    assert "script" not in parsed(page).seen
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;" in page


def test_an_attribute_cannot_be_left() -> None:
    assert tag("g", {"class": 'a" onload="b', "x": 1.5, "y": None}) == '<g class="a&quot; onload=&quot;b" x="1.5"/>'


def test_a_page_needs_nothing_beside_itself_and_follows_the_readers_colours() -> None:
    page = render_html(check(np.sin, lambda i, o, c: (c[0],), (np.ones((2, 2)),)), "sin")
    assert parsed(page).seen.count("svg") == 3
    assert "http" not in page
    assert "<link" not in page
    assert "prefers-color-scheme: dark" in page
    assert page.startswith("<!doctype html>")


def test_a_pass_tells_what_was_looked_at() -> None:
    page = render_html(check(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]),), (np.ones((2, 2)),)), "sin")
    parsed(page)
    assert '<h1>sin: <span class="pass">pass</span></h1>' in page
    assert "gradient elements, with" in page
    assert "<svg" not in page


def test_cells_without_a_picture_of_errors_have_no_scale() -> None:
    markup = draw(Grid(["0"], ["0"], "", "", [Cell(0, 0, "unsure", 0.0, "x")], "untested"), "label")
    assert "yours is less" not in markup
