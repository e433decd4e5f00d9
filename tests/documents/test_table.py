"""The page of the documents' items is what the names of the tests say."""

from pathlib import Path

from tests.documents.table import COMMAND, LATER, named, page, untold

HERE = Path(__file__).parent


def test_the_page_in_docs_is_made_of_the_names_of_the_tests():
    held = (HERE.parents[1] / "docs" / "documents.md").read_text(encoding="utf-8")
    assert held == page(named(HERE)), f"run {COMMAND}"


def test_every_item_has_a_test_or_a_reason():
    assert untold(named(HERE)) == []


def test_what_has_a_test_needs_no_reason():
    assert LATER.keys() & named(HERE).keys() == set()


def test_an_item_is_told_by_the_name_of_a_test(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_b07_one_of_them():\n    pass\n\n\ndef test_other():\n    pass\n")
    found = named(tmp_path)
    assert found == {"B7": [("test_it.py", "one of them")]}
    assert "B8" in untold(found)
    assert "| B7 | one of them | test_it.py |" in page(found)
