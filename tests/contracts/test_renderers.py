"""A format is written, and a chart drawn, by one module; the check finds a second one that is planted."""

import pytest

from tests.contracts import renderers
from tests.contracts.tree import plant, read_tree

PORTABLE = """\
def clean(value):
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return [clean(item) for item in value]
"""


def test_every_format_has_one_renderer_and_every_chart_the_same_axes():
    assert renderers.second_renderers(read_tree()) == []


@pytest.mark.parametrize(
    ("source", "what", "home"),
    [
        ('head = "<!doctype html><title>{}</title>"', "an HTML page", "gradcheck.show.page"),
        ('foot = f"{body}</body>"', "an HTML page", "gradcheck.show.page"),
        ("""chart = f'<svg viewBox="0 0 {width} 9">'""", "a drawing", "gradcheck.show.svg"),
        ("""chart = tag("g", {"viewBox": "0 0 9 9"})""", "a drawing", "gradcheck.show.svg"),
        ("""line = f'<polyline points="{path}"/>'""", "the lines of a chart", "gradcheck.show.axes"),
        ("""line = tag("polyline", {"points": path})""", "the lines of a chart", "gradcheck.show.axes"),
        ("import matplotlib.pyplot", "axes", "gradcheck.show.axes"),
        ("from xml.etree import ElementTree", "XML", "gradcheck.show.junit"),
        ("""text = f"<testsuite name='{name}'>" """, "JUnit's XML", "gradcheck.show.junit"),
        ("""line = f"  {label:<8} {text}" """, "a labelled line", "gradcheck.report"),
        (PORTABLE, "the numbers of JSON", "gradcheck.show.render"),
    ],
    ids=lambda value: None if "\n" in value else value[:30],
)
@pytest.mark.parametrize("path", ["opsdk/ship/bench/planted.py", "opsdk/verify/planted.py", "gradcheck/run/planted.py"])
def test_a_second_renderer_is_found(tmp_path, path, source, what, home):
    problems = renderers.second_renderers(plant(tmp_path, {path: f'"""Planted."""\n\n{source}\n'}))
    assert problems == [f"{path}:3: writes {what} once more; {home} does so for all"]


def test_style_sheets_docstrings_and_other_widths_are_left_alone(tmp_path):
    lines = ['"""Writes <svg> and <!doctype html>."""', 'STYLE = ".picture polyline { fill: none; }"', 'f"{name:<20}"']
    source = "\n".join(lines)
    assert renderers.second_renderers(plant(tmp_path, {"opsdk/ship/planted.py": source})) == []


def test_the_one_renderer_may_write_its_format(tmp_path):
    source = '"""Planted."""\n\nhead = "<!doctype html>"\n'
    assert renderers.second_renderers(plant(tmp_path, {"gradcheck/show/page.py": source})) == []
