import pytest

import opsdk
from opsdk.ship.package.kinds import DEFAULT, folder, kind_of, kinds
from opsdk.ship.package.name import ScaffoldError
from tests.contracts.tree import REPOSITORY


def test_the_kinds_are_those_that_are_promised_with_the_first_to_try_in_front():
    assert list(kinds()) == [
        *("pyfunc", "elementwise", "rowwise", "numba", "cuda", "c", "composite", "collection"),
    ]
    assert next(iter(kinds())) == DEFAULT


def test_every_kind_has_a_folder_and_every_folder_is_a_kind():
    folders = {path.name for path in folder().iterdir() if path.is_dir()}
    assert folders == {"base", *kinds()}


def test_a_collection_has_the_ops_of_its_parts():
    collection = kind_of("collection")
    assert len(collection.parts) >= 3
    assert list(collection.ops) == sorted(op for part in collection.parts for op in kind_of(part).ops)


def test_an_unknown_kind_names_the_nearest():
    with pytest.raises(ScaffoldError) as caught:
        kind_of("nubma")
    listed = ", ".join(kinds())
    assert str(caught.value) == f"--kind: expected one of {listed}, got 'nubma'; did you mean numba?"


def test_a_kind_that_is_like_none_says_where_to_start():
    with pytest.raises(ScaffoldError, match="got 'zzz'; pyfunc is where to start"):
        kind_of("zzz")


def test_templates_are_read_from_the_checkout_or_from_the_installed_package(tmp_path, monkeypatch):
    assert folder() == REPOSITORY / "templates"
    installed = tmp_path / "opsdk" / "templates"
    installed.mkdir(parents=True)
    monkeypatch.setattr(opsdk, "__file__", str(tmp_path / "opsdk" / "__init__.py"))
    assert folder() == installed
