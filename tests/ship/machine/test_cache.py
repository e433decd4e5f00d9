import json
import os

import pytest

from opsdk.backends.cache.store import cached
from opsdk.ship.machine import cache
from opsdk.ship.machine.cache import size_of, state_of


@pytest.fixture(autouse=True)
def folder(here, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    return here / "cache"


@pytest.fixture
def held():
    """Three files of two kinds."""
    for kind, key, size in (("c", "a", 1), ("native", "a", 1500), ("native", "b", 600)):
        cached(kind, key, ".o", lambda path: path.write_bytes(b"x")).write_bytes(b"x" * size)


def test_info_has_folder_state_and_sizes_by_kind(run, held, folder):
    result = run("cache", "info")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{folder}  writable",
        "kind    files    size",
        "c           1     1 B",
        "native      2  2.1 kB",
        "total       3  2.1 kB",
    ]


def test_info_of_no_folder_makes_none(run, folder):
    assert run("cache", "info").stdout == f"{folder}  not there yet\nempty\n"
    assert not folder.exists()


def test_info_for_machines(run, held, folder):
    assert json.loads(run("cache", "info", "--json").stdout) == {
        "folder": str(folder),
        "state": "writable",
        "files": 3,
        "bytes": 2101,
        "kinds": {"c": {"files": 1, "bytes": 1}, "native": {"files": 2, "bytes": 2100}},
    }


def test_clear_removes_everything_and_says_how_much(run, held, folder):
    result = run("cache", "clear", "--yes")
    assert (result.exit_code, result.stdout) == (0, f"removed 3 files, 2.1 kB, from {folder}\n")
    assert list(folder.rglob("*.o")) == []


def test_clear_leaves_files_of_others_alone(run, held, folder):
    (folder / "mine").mkdir()
    (folder / "mine" / f"{'a' * 32}.o").write_text("")
    (folder / "notes.txt").write_text("")
    run("cache", "clear", "--yes")
    assert (folder / "mine" / f"{'a' * 32}.o").exists()
    assert (folder / "notes.txt").exists()


def test_clear_off_a_terminal_wants_yes(run, held, folder):
    result = run("cache", "clear")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(
        f"cache clear: expected --yes where nobody can be asked; it removes 3 files, 2.1 kB, from {folder}\n"
    )
    assert len(list(folder.rglob("*.o"))) == 3


@pytest.mark.parametrize(("answer", "left", "status"), [("y\n", 0, 0), ("n\n", 3, 1), ("", 3, 1)])
def test_clear_on_a_terminal_asks(held, folder, monkeypatch, answer, left, status):
    from click.testing import CliRunner

    from opsdk.ship.cli.main import cli

    monkeypatch.setattr(cache, "is_terminal", lambda stream: True)
    result = CliRunner().invoke(cli, ["cache", "clear"], input=answer, prog_name="opsdk")
    assert result.exit_code == status
    assert result.stderr.startswith(f"remove 3 files, 2.1 kB, from {folder}? [y/N]: ")
    assert len(list(folder.rglob("*.o"))) == left


def test_an_empty_cache_is_cleared_without_a_question(run, folder):
    result = run("cache", "clear")
    assert (result.exit_code, result.stdout) == (0, f"removed 0 files, 0 B, from {folder}\n")
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_is_an_error_before_anything_is_removed(run, held, folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    result = run("cache", "clear", "--yes")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"cache clear: expected a folder that can be written, got {folder}; ")
    assert run("cache", "info").stdout.startswith(f"{folder}  read-only\n")
    assert len(list(folder.rglob("*.o"))) == 3


def test_a_file_in_the_place_of_the_folder_is_read_only(folder):
    folder.write_text("")
    assert state_of(folder) == "read-only"
    assert state_of(folder / "below") == "read-only"


@pytest.mark.skipif(os.name != "posix", reason="no modes as on POSIX here")
def test_a_folder_that_others_may_write_to_is_shown_as_not_used_and_left_alone(run, held, folder):
    folder.chmod(0o777)
    told = f"others may write to {folder} (mode 0777); chmod go-w {folder}"
    assert run("cache", "info").stdout.startswith(f"{folder}  not used, {told}\n")
    result = run("cache", "clear", "--yes")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"cache clear: expected a folder of your own, got {told}\n")
    assert len(list(folder.rglob("*.o"))) == 3


def test_files_that_stay_are_told(run, held, folder, monkeypatch):
    unlink = type(folder).unlink

    def refuse(path, **given):
        if path.parent.name == "native":
            raise PermissionError("in use")
        unlink(path, **given)

    monkeypatch.setattr(type(folder), "unlink", refuse)
    result = run("cache", "clear", "--yes")
    assert result.stdout == f"removed 1 file, 1 B, from {folder}\n"
    assert result.stderr == "2 files of 3 were not removed: in use, or not yours\n"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (12, "12 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (2000, "2 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (8_388_608, "8.39 MB"),
        (27_840_000, "27.8 MB"),
        (3_000_000_000, "3 GB"),
    ],
)
def test_sizes_have_three_digits(count, text):
    assert size_of(count) == text
