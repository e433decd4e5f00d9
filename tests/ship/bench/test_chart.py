import xml.etree.ElementTree as ElementTree

import pytest

from opsdk.ship.bench.chart import chart, size_label
from opsdk.ship.bench.result import COPIES, Benched, Measured

ROWS = (Measured("numpy", "numpy (cpu, *)"), Measured("numba", "numba (cpu, *)"))


def benched(op, elements, seconds):
    samples = {"numpy": [seconds] * 3, "numba": [seconds / 2] * 3, COPIES[0]: [seconds / 8] * 3}
    return Benched(op, op, "x", elements, 8 * elements, ROWS, samples=samples)


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def test_there_is_a_curve_for_each_row_and_a_bound():
    svg = chart([benched("ns::f", 1024, 1e-6), benched("ns::f", 1 << 20, 1e-3)])
    tags = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()]
    assert tags.count("polyline") == 3
    assert {"numpy", "numba", "copy", "1K", "1M", "GB/s", "elements"} <= set(map(str, texts(svg)))


def test_rows_of_several_ops_are_named_with_them():
    assert {"f numpy", "g numpy"} <= set(texts(chart([benched("ns::f", 1024, 1e-6), benched("ns::g", 1024, 1e-6)])))


def test_one_size_is_a_dot_and_nothing_timed_an_empty_plot():
    assert 'class="c0 dot"' in chart([benched("ns::f", 1000, 1e-6)])
    assert "nothing timed" in chart([])


@pytest.mark.parametrize(("count", "text"), [(1024, "1K"), (3 << 20, "3M"), (1000, "1000"), (1 << 30, "1G")])
def test_sizes_are_written_as_they_are_typed(count, text):
    assert size_label(float(count)) == text
