import os

import pytest

from opsdk.ship.check.kept import keep, kept


@pytest.fixture(autouse=True)
def cache(here, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    return here / "cache"


def test_each_kind_and_each_folder_has_a_file_of_its_own(here, monkeypatch):
    keep("one", {"a": 1})
    keep("other", {"b": [2]})
    assert (kept("one"), kept("other"), kept("none")) == ({"a": 1}, {"b": [2]}, {})
    (here / "inner").mkdir()
    monkeypatch.chdir(here / "inner")
    assert kept("one") == {}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_what_others_may_write_is_not_read(cache):
    keep("one", {"a": 1})
    (cache / "one").chmod(0o777)
    assert kept("one") == {}
