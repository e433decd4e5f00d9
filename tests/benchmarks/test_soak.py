import pytest

from benchmarks import soak


def test_a_step_has_all_that_it_says_and_memory_is_looked_at_in_equal_distances():
    found = soak.held(10, workers=0, marks=5)
    assert [step for step, *_ in found] == [2, 4, 6, 8, 10]
    assert all(size > 1 << 20 and objects > 1000 for _, size, objects in found)
    assert len(set(soak.SHAPES)) == 1000


def test_growth_is_from_the_first_tenth_to_the_last_fifth():
    sizes = [100, 103, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 101, 104, 102]
    assert soak.grown([(step, size, 0) for step, size in enumerate(sizes)]) == pytest.approx(104 / 103)
    assert soak.grown([(1, 100, 0), (2, 300, 0)]) == 3.0


@pytest.mark.parametrize(("last", "status"), [(100 << 20, 0), (102 << 20, 1)])
def test_the_page_says_how_much_and_more_than_a_hundredth_is_a_failure(monkeypatch, tmp_path, last, status):
    monkeypatch.setattr(soak, "held", lambda count, workers: [(50, 100 << 20, 7), (count, last, 1234)])
    assert soak.main(["--count", "100", "--out", str(tmp_path / "page.md")]) == status
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert f"fifth: +{2.0 * status:.2f} %; 1 % is allowed." in page
    assert f"| 100 | {100 + 2 * status}.0 | 1,234 |" in page
