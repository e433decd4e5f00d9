"""The version of the code generator."""

import pytest

from opsdk.backends.native import versions


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Stands for the package: three folders with a source each."""
    for folder in ("native", "vmath", "expr"):
        (tmp_path / "a" / folder).mkdir(parents=True)
        (tmp_path / "a" / folder / "one.py").write_text(f"{folder} = 1\n")
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "a" / "native" / "versions.py"))
    monkeypatch.setattr(versions, "_FOLDERS", (".", "../vmath", "../expr"))
    return tmp_path / "a"


def key():
    return versions.sources_key.__wrapped__()


def test_the_key_is_the_same_for_the_same_sources(sources):
    assert key() == key()


@pytest.mark.parametrize("folder", ["native", "vmath", "expr"])
def test_a_change_of_any_source_changes_the_key(sources, folder):
    before = key()
    (sources / folder / "one.py").write_text("changed = 1\n")
    assert key() != before


@pytest.mark.parametrize("folder", ["native", "vmath", "expr"])
def test_a_new_source_changes_the_key(sources, folder):
    before = key()
    (sources / folder / "two.py").write_text("new = 1\n")
    assert key() != before


def test_what_is_no_source_changes_nothing(sources):
    before = key()
    (sources / "native" / "one.pyc").write_text("bytes")
    (sources / "other").mkdir()
    (sources / "other" / "one.py").write_text("elsewhere = 1\n")
    assert key() == before


def test_the_folders_of_the_real_package_exist():
    here = versions.Path(versions.__file__).parent
    assert all(list((here / folder).glob("*.py")) for folder in versions._FOLDERS)
