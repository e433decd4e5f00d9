import os
import stat

import pytest

from opsdk.backends.cache import places as cache_places
from opsdk.backends.cache import store as cache
from opsdk.backends.cache import trust as cache_trust
from opsdk.backends.cache.store import cache_clear, cache_info, cached, held_bytes
from opsdk.backends.cache.trust import danger, danger_of_file, make_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no owners and modes as on POSIX here")
needs_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives files to others")
OTHER = 12345  # a user that nobody is here


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "up" / "cache"))
    monkeypatch.setattr(cache_places, "_told", set())
    monkeypatch.setattr(cache_places, "_private", {})
    make_private(tmp_path / "up" / "cache" / "thing")
    return tmp_path / "up" / "cache"


def keep(content=b"mine"):
    return cached("thing", "key", ".txt", lambda path: path.write_bytes(content))


def content(path):
    return path.read_bytes()[: -cache._SEAL]


def foreign(path, monkeypatch):
    """Has a folder, file or link belong to somebody else, as this process sees it."""
    whole = os.lstat
    number = whole(path).st_ino

    def lstat(at):
        state = whole(at)
        return state if state.st_ino != number else os.stat_result((*state[:4], OTHER, *state[5:10]))

    monkeypatch.setattr(cache_trust.os, "lstat", lstat)


@pytest.mark.parametrize("place", ["up/cache", "up/cache/thing", "up"])
def test_a_folder_that_others_may_write_to_is_not_used_and_it_is_said_how_to_mend_it(tmp_path, capsys, place):
    path = tmp_path / place
    path.chmod(0o777)
    (tmp_path / "up/cache/thing").mkdir(exist_ok=True)
    made = keep()
    assert content(made) == b"mine"
    assert not made.is_relative_to(tmp_path)
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700
    assert keep() == made
    said = capsys.readouterr().err
    assert said == (
        f"opsdk: what is compiled is kept until the process ends: {tmp_path}/up/cache is not used, others may write to "
        f"{path} (mode 0777); chmod go-w {path}, or set OPSDK_CACHE_DIR to a folder of your own\n"
    )


@pytest.mark.parametrize("place", ["up/cache", "up/cache/thing", "up"])
def test_what_lies_in_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch, capsys, place):
    planted = keep(b"planted")
    assert planted.is_relative_to(tmp_path)
    foreign(tmp_path / place, monkeypatch)
    assert content(keep(b"mine")) == b"mine"
    said, path = capsys.readouterr().err, tmp_path / place
    assert f"{path} belongs to user {OTHER}; take over what you trust: chown -R $USER {path}" in said


@needs_root
@pytest.mark.parametrize("place", ["up/cache", "up/cache/thing", "up"])
def test_what_really_belongs_to_another_user_is_not_used(tmp_path, place):
    keep(b"planted")
    os.chown(tmp_path / place, OTHER, -1)
    assert content(keep(b"mine")) == b"mine"


def test_a_link_of_another_user_is_not_followed(tmp_path, folder, monkeypatch):
    keep(b"planted")
    link = tmp_path / "link"
    link.symlink_to("up/../up")
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(link / "cache"))
    assert content(keep(b"other")) == b"planted"  # a link of one's own
    foreign(link, monkeypatch)
    assert content(keep(b"mine")) == b"mine"
    found = danger(link / "cache")
    assert found is not None
    assert found.reason == f"{link} is a link of user {OTHER}"


def test_the_folders_that_a_link_leads_through_are_looked_at(tmp_path, monkeypatch):
    (tmp_path / "open" / "cache" / "thing").mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open" / "cache")
    found = danger(tmp_path / "link" / "thing")
    assert found is not None
    assert found.reason == f"others may write to {tmp_path / 'open'} (mode 0777)"


def test_links_that_lead_in_circles_are_nobodys_danger(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert danger(tmp_path / "a" / "thing") is None  # nothing can be there


def test_a_sticky_folder_above_is_fine_and_the_folder_itself_may_not_be_one(tmp_path, folder):
    (tmp_path / "up").chmod(0o1777)
    assert danger(folder / "thing") is None
    (folder / "thing").chmod(0o1777)
    assert danger(folder / "thing") is not None


def test_a_group_of_the_owners_own_may_write_above_the_cache_and_not_to_it(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(cache_trust, "_is_private_group", lambda state: True)
    (tmp_path / "up").chmod(0o775)
    assert danger(folder / "thing") is None
    folder.chmod(0o775)
    assert danger(folder / "thing") is not None
    folder.chmod(0o755)
    monkeypatch.setattr(cache_trust, "_is_private_group", lambda state: False)
    assert danger(folder / "thing") is not None


def test_a_group_with_another_member_is_not_the_owners_own(tmp_path, monkeypatch):
    class Group:
        gr_name, gr_mem = "root", ["somebody"]

    class Pwd:
        getpwuid = staticmethod(lambda number: type("User", (), {"pw_name": "root"}))

    class Grp:
        getgrgid = staticmethod(lambda number: Group)

    monkeypatch.setattr(cache_trust, "slow", {"pwd": Pwd, "grp": Grp}.__getitem__)
    assert not cache_trust._is_private_group(tmp_path.stat())
    Group.gr_mem = ["root"]
    assert cache_trust._is_private_group(tmp_path.stat())


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o777])
def test_a_file_that_others_may_write_to_is_built_again(folder, mode):
    path = keep(b"planted")
    path.chmod(mode)
    assert keep(b"mine") == path
    assert content(path) == b"mine"
    assert stat.S_IMODE(path.stat().st_mode) & 0o022 == 0


def test_a_link_in_the_place_of_a_file_is_replaced(tmp_path):
    path = keep(b"planted")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert content(keep(b"mine")) == b"mine"
    assert not path.is_symlink()
    assert content(tmp_path / "elsewhere") == b"planted"
    assert danger_of_file(path) is None


def test_whatever_the_umask_nobody_else_may_write(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "a" / "b" / "cache"))
    before = os.umask(0)
    try:
        path = keep()
    finally:
        os.umask(before)
    assert path.is_relative_to(tmp_path)
    for each in (path, *path.parents[:4]):
        assert each.stat().st_mode & 0o022 == 0, each


def test_bytes_that_are_kept_there_are_not_read(folder):
    cache.cached_bytes("thing", "key", ".bin", lambda: b"planted")
    assert held_bytes("thing", "key", ".bin") == b"planted"
    folder.chmod(0o777)
    assert held_bytes("thing", "key", ".bin") is None
    assert cache.cached_bytes("thing", "key", ".bin", lambda: b"mine") == b"mine"


def test_nothing_is_removed_from_a_folder_that_others_may_write_to(folder):
    path = keep()
    folder.chmod(0o777)
    assert cache_clear().files == 0
    assert path.exists()
    folder.chmod(0o700)
    assert (cache_info().files, cache_clear().files) == (1, 1)


def test_a_temporary_folder_that_others_may_change_is_passed_over(tmp_path, folder, monkeypatch):
    folder.chmod(0o777)
    unsafe = tmp_path / "tmp"
    unsafe.mkdir()
    unsafe.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(unsafe))
    monkeypatch.setattr("opsdk.backends.cache.places._MEMORY", str(tmp_path / "up"))
    path = keep()
    assert path.is_relative_to(tmp_path / "up")
    assert list(unsafe.iterdir()) == []
