import xml.etree.ElementTree as ElementTree

import pytest

from opsdk.ship.bench import text
from opsdk.ship.bench.result import COPIES, Benched, Measured
from opsdk.ship.bench.timing import Ratio

ROWS = (Measured("numpy", "numpy (cpu, *)"), Measured("numba", "numba (cpu, *)", 0.21, "compiled"), Measured("torch"))
SAMPLES = {
    "numpy": [0.002, 0.00261, 0.003],
    "numba": [0.0002, 0.0003, 0.00031],
    "torch": [0.00021, 0.00029, 0.0003],
    COPIES[0]: [0.0005, 0.0005, 0.0005],
    COPIES[1]: [0.00025, 0.00025, 0.00025],
}
ONE = Benched("ns::relu", "ops.py:relu", "x float32(1024, 1024)", 1 << 20, 2 << 22, ROWS, samples=SAMPLES)


def test_a_block_says_what_was_timed_and_how_it_compares():
    lines = text.block(ONE, 100).splitlines()
    assert lines[0] == "ns::relu  1 048 576 elements, 8.39 MB read and written"
    assert lines[1] == "  x float32(1024, 1024)"
    assert lines[2].split() == [
        "kernel",
        "first",
        "call",
        "median",
        "spread",
        "ns/elem",
        "GB/s",
        "%",
        "of",
        "copy",
        "×",
        "numpy",
    ]
    assert lines[3].split() == ["numpy", "–", "2.61", "ms", "±10", "%", "2.49", "3.21", "10", "%", "1"]
    assert lines[4].split() == [
        "numba",
        "0.21",
        "s",
        "compiled",
        "0.30",
        "ms",
        "±9",
        "%",
        "0.29",
        "28.0",
        "83",
        "%",
        "9.7",
        "±",
        "0.5",
    ]
    assert lines[6].split() == ["copy", "–", "0.25", "ms", "±0", "%", "0.24", "33.6", "100", "%", "–"]


@pytest.mark.parametrize(
    ("width", "gone"),
    [(80, []), (70, ["ns/elem"]), (60, ["ns/elem", "first"]), (45, ["ns/elem", "first", "copy"])],
)
def test_columns_drop_in_their_order_and_never_wrap(width, gone):
    lines = text.block(ONE, width).splitlines()
    assert all(len(line) <= width for line in lines[1:])
    header = lines[2].split()
    for word in ("ns/elem", "first", "copy", "median", "spread", "GB/s"):
        assert (word in header) is (word not in gone)


def test_the_fastest_row_is_compared_with_the_reference_and_with_each_peer():
    assert text.sentences(ONE) == [
        "numba is 9.7 ± 0.5 times faster than numpy",
        "numba and torch take the same time, within the spread",
    ]


def test_a_row_that_does_not_pay_is_said_to_be_slower():
    slow = Benched("ns::f", "ns::f", "x", 9, 72, ROWS[:2], samples={**SAMPLES, "numba": [0.02, 0.0261, 0.03]})
    assert text.sentences(slow) == ["numba is 10.00 ± 0.00 times slower than numpy"]


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (Ratio(8.7, 8.4, 9.0), "a is 8.7 ± 0.3 times faster than b"),
        (Ratio(0.5, 0.45, 0.55), "a is 2.0 ± 0.2 times slower than b"),
        (Ratio(1.03, 0.98, 1.08), "a and b take the same time, within the spread"),
        (Ratio(40.0, 31.0, 140.0), "a is 31 to 140 times faster than b"),
        (Ratio(44.0, 41.0, 47.0), "a is 44 ± 3 times faster than b"),
        (Ratio(1.31, 1.30, 1.32), "a is 1.31 ± 0.01 times faster than b"),
    ],
)
def test_no_comparison_claims_more_than_the_rounds_show(ratio, words):
    assert text.compared("a", "b", ratio) == words


def test_a_wrong_row_is_told_in_full_and_the_next_command_with_it():
    wrong = Measured("c", "c (cpu, float32)", note="output 'y' wrong in 3 of 9 elements", is_wrong=True)
    gone = Measured("paddle", note="not installed (No module named 'paddle')")
    samples = {k: SAMPLES[k] for k in ("numpy", *COPIES)}
    one = Benched("ns::relu", "ops.py:relu", "x", 9, 72, (*ROWS[:1], wrong, gone), samples=samples)
    lines = text.block(one, 100).splitlines()
    assert "FAIL c: output 'y' wrong in 3 of 9 elements" in lines
    assert "paddle: not installed (No module named 'paddle')" in lines
    assert text.last_line([one], [], 3.4) == "1 kernel of 1 op timed in 3.4 s, 1 wrong\nnext: opsdk check ops.py:relu"


def test_the_last_line_is_the_comparison():
    assert text.last_line([ONE], [], 2.0).splitlines() == [
        "3 kernels of 1 op timed in 2.0 s",
        "numba is 9.7 ± 0.5 times faster than numpy; numba and torch take the same time, within the spread",
    ]
    assert text.last_line([ONE, ONE], ["x"], 2.0).splitlines()[0] == (
        "6 kernels of 1 op timed in 2.0 s, 1 that could not be timed"
    )


def test_the_head_says_what_and_how():
    head = text.head("float32", 1, 15)
    assert "opsdk 0.1.0 · numpy " in head
    assert "float32 · 1 thread · up to 15 rounds in alternation" in head


def benched(op, elements, seconds):
    samples = {"numpy": [seconds] * 3, "numba": [seconds / 2] * 3, COPIES[0]: [seconds / 8] * 3}
    return Benched(op, op, "x", elements, 8 * elements, ROWS[:2], samples=samples)


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]


def test_there_is_a_curve_for_each_row_and_a_bound():
    svg = text.chart([benched("ns::f", 1024, 1e-6), benched("ns::f", 1 << 20, 1e-3)])
    tags = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()]
    assert tags.count("polyline") == 3
    assert {"numpy", "numba", "copy", "1K", "1M", "GB/s", "elements"} <= set(map(str, texts(svg)))


def test_rows_of_several_ops_are_named_with_them():
    svg = text.chart([benched("ns::f", 1024, 1e-6), benched("ns::g", 1024, 1e-6)])
    assert {"f numpy", "g numpy"} <= set(texts(svg))


def test_one_size_is_a_dot_and_nothing_timed_an_empty_plot():
    assert 'class="c0 dot"' in text.chart([benched("ns::f", 1000, 1e-6)])
    assert "nothing timed" in text.chart([])


@pytest.mark.parametrize(("count", "label"), [(1024, "1K"), (3 << 20, "3M"), (1000, "1000"), (1 << 30, "1G")])
def test_sizes_are_written_as_they_are_typed(count, label):
    assert text.size_label(float(count)) == label
