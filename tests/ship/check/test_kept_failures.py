from pathlib import Path

import pytest

from opsdk.ship.check.kept import failed_last, remember
from opsdk.ship.check.result import Checked
from opsdk.verify.report import VerifyReport


@pytest.fixture(autouse=True)
def cache(here, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    return here / "cache"


def checked(name, verdict):
    return Checked(VerifyReport(name, verdict), target=f"file.py:{name}")


def test_what_failed_is_kept_until_it_passes():
    remember([checked("a", "fail"), checked("b", "pass"), checked("c", "inconclusive")])
    assert failed_last() == {"a": "file.py:a", "c": "file.py:c"}
    remember([checked("a", "pass")])
    assert failed_last() == {"c": "file.py:c"}


def test_each_folder_has_its_own(here, monkeypatch):
    remember([checked("a", "fail")])
    (here / "other").mkdir()
    monkeypatch.chdir(here / "other")
    assert failed_last() == {}


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"a": 1}', "\xff"])
def test_a_damaged_file_holds_nothing(cache, text):
    remember([checked("a", "fail")])
    (file,) = (cache / "last_failed").iterdir()
    file.write_text(text, encoding="latin-1")
    assert failed_last() == {}


def test_where_nothing_can_be_written_nothing_is_remembered(here, monkeypatch):
    (here / "file").touch()
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "file"))
    remember([checked("a", "fail")])
    assert failed_last() == {}


def test_only_what_failed_is_checked_again(run, right, wrong):
    assert run("check", "good.py", "bad.py").exit_code == 1
    again = run("check", "--last-failed")
    assert "1 failed in " in again.stdout
    wrong.write_text(right.read_text())
    among = run("check", "--lf", "good.py", "bad.py")  # in the same process: the file is not loaded anew
    assert among.stdout.count("::clamp") >= 1
    assert "good::clamp" not in among.stdout


def test_where_nothing_failed_there_is_nothing_to_check_without_a_target(run, right):
    result = run("check", "--last-failed")
    assert result.exit_code == 5
    assert result.stderr == "nothing to check: nothing failed last time here; name a target\n"
    assert run("check", "--last-failed", "good.py").exit_code == 0


def test_where_others_failed_all_are_checked_and_that_is_said(run, right, wrong):
    run("check", "bad.py")
    result = run("check", "--last-failed", "good.py")
    assert result.exit_code == 0
    assert "none of these failed last time: all are checked" in result.stderr


def test_what_others_may_write_to_is_not_read(cache):
    remember([checked("a", "fail")])
    cache.chmod(0o777)
    assert failed_last() == {}
    remember([checked("b", "fail")])
    cache.chmod(0o700)
    assert failed_last() == {"a": "file.py:a"}


def test_a_full_disk_leaves_nothing_half_written(cache, monkeypatch):
    def write_text(path, text, **options):
        with path.open("w", **options) as file:
            file.write(text[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write_text)
    remember([checked("a", "fail")])
    assert list((cache / "last_failed").iterdir()) == []
