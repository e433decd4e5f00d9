import sys
import xml.etree.ElementTree as tree

from benchmarks import __main__ as command
from benchmarks import plots
from benchmarks.report import Section, microseconds

SAMPLES = {"opsdk": [2e-6, 1.5e-6], "copy, NumPy": [1e-6, 1e-6], "torch eager": [3e-6, 4e-6]}
SECTIONS = [
    Section("Forward", SAMPLES, "opsdk", microseconds, (), (), ()),
    Section("Backward", {"opsdk": [5e-6]}, "opsdk", microseconds, (), (), ()),
    Section("Nothing was measured", {}, "opsdk", microseconds, (), (), ()),
]


def test_a_plot_names_every_subject_with_its_least_time(tmp_path):
    plots.draw("Work", SECTIONS, tmp_path / "work.svg")
    text = " ".join(tree.parse(tmp_path / "work.svg").getroot().itertext())
    for word in ("Work: least time", "Forward", "Backward", "1.50 µs", "1.00 µs", "3.00 µs", "5.00 µs", "torch eager"):
        assert word in text
    assert "Nothing was measured" not in text


def test_the_same_samples_give_the_same_file(tmp_path):
    for name in "ab":
        plots.draw("Work", SECTIONS, tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_without_matplotlib_there_is_a_page_and_no_plot(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(plots, "is_available", lambda: False)
    text = command._written("work", "Work", SECTIONS, tmp_path)
    assert "![" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["work.json", "work.md"]
    assert "no plot: matplotlib is not installed" in capsys.readouterr().err


def test_a_page_shows_its_plot(tmp_path):
    text = command._written("work", "Work", SECTIONS, tmp_path)
    assert "![least time of every subject](work.svg)" in text
    assert (tmp_path / "work.svg").exists()
