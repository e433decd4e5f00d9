import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opsdk.backends.cache import places as cache_places
from opsdk.backends.cache import store as cache
from opsdk.backends.cache.store import cache_clear, cache_folder, cache_info, cached, cached_bytes
from opsdk.core.errors import CompileError
from tests.contracts.tree import REPOSITORY


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_places, "_private", {})
    return tmp_path / "cache"


def writes(content, log=None):
    def build(path):
        if log is not None:
            log.append(path)
        path.write_bytes(content)

    return build


def fails(path):
    raise AssertionError("built again")


def content(path):
    return path.read_bytes()[: -cache._SEAL]


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name != "CACHEDIR.TAG")


def test_a_file_is_built_once_and_found_afterwards(folder):
    path = cached("thing", "key", ".txt", writes(b"abc"))
    assert content(path) == b"abc"
    assert path.parent == folder / "thing"
    assert len(path.stem) == 32 and path.suffix == ".txt"
    assert cached("thing", "key", ".txt", fails) == path
    assert names(folder) == [path.name]


def test_the_name_is_the_hash_of_format_and_key(folder):
    # printf '1 key' | sha256sum
    assert cached("thing", "key", ".txt", writes(b"")).stem == "d4044e3ef08b8616e63924b284ba57e4"


def test_another_key_kind_suffix_or_format_is_another_file(monkeypatch):
    paths = [cached("thing", key, ".a", writes(b"1")) for key in ("key", "key2")]
    paths += [cached("other", "key", ".a", writes(b"1")), cached("thing", "key", ".b", writes(b"1"))]
    monkeypatch.setattr(cache, "FORMAT", 2)
    paths.append(cached("thing", "key", ".a", writes(b"1")))
    assert len(set(paths)) == 5


def test_the_temporary_lies_in_the_same_folder_and_keeps_the_suffix(folder):
    log = []
    path = cached("thing", "key", ".so", writes(b"1", log))
    assert [temporary.parent for temporary in log] == [path.parent]
    assert log[0].suffix == ".so"


def test_a_build_that_fails_leaves_nothing_and_is_tried_again(folder):
    def halfway(path):
        path.write_bytes(b"ha")
        raise KeyError("planted")

    for _ in range(2):
        with pytest.raises(KeyError, match="planted"):
            cached("thing", "key", ".txt", halfway)
    assert names(folder) == []
    assert content(cached("thing", "key", ".txt", writes(b"right"))) == b"right"


def test_eight_threads_build_a_key_once(folder):
    log, gate = [], threading.Barrier(8)

    def build(path):
        log.append(path)
        path.write_bytes(b"x" * 1000)

    def work(_):
        gate.wait()
        return content(cached("thing", "key", ".bin", build))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(8))) == {b"x" * 1000}
    assert len(log) == 1


CHILD = """
import sys, time
from pathlib import Path
from opsdk.backends.cache.store import cached
log, go = Path(sys.argv[1]), Path(sys.argv[2])
def build(path):
    with log.open("a") as file:
        file.write("built\\n")
    with path.open("wb") as file:
        for _ in range(20):
            file.write(b"x" * 1000)
            file.flush()
            time.sleep(0.002)
print("ready", flush=True)
while not go.exists():
    time.sleep(0.001)
path = cached("thing", "key", ".bin", build)
assert path.read_bytes()[:-52] == b"x" * 20000
"""


def child(source, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", source, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow  # stress, in six processes; threads that build a key are looked at above
def test_six_processes_build_a_key_once(tmp_path):
    log, go = tmp_path / "log", tmp_path / "go"
    children = [child(CHILD, log, go) for _ in range(6)]
    for each in children:
        assert each.stdout.readline() == "ready\n"
    go.touch()
    assert [(each.communicate()[1], each.returncode) for each in children] == [("", 0)] * 6
    assert log.read_text().splitlines() == ["built"]


STUCK = """
import time
from opsdk.backends.cache.store import cached
def build(path):
    path.write_bytes(b"half")
    print(path, flush=True)
    time.sleep(600)
cached("thing", "key", ".bin", build)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no kill -9 here")
def test_a_builder_that_is_killed_leaves_no_half_file_and_the_next_run_builds(folder):
    builder = child(STUCK)
    temporary = builder.stdout.readline().strip()
    assert temporary
    builder.send_signal(signal.SIGKILL)
    builder.communicate()
    assert [name for name in names(folder) if not name.startswith(".")] == []
    assert content(cached("thing", "key", ".bin", writes(b"whole"))) == b"whole"


def test_what_was_damaged_is_built_again():
    path = cached("thing", "key", ".so", writes(b"library"))
    assert cached("thing", "key", ".so", fails) == path
    whole = path.read_bytes()
    assert whole.startswith(b"library")
    for damaged in (whole[:-1], whole[:3], b"", b"L" + whole[1:], whole + b"\0", whole[1:]):
        path.write_bytes(damaged)
        log = []
        assert cached("thing", "key", ".so", writes(b"library", log)).read_bytes() == whole
        assert len(log) == 1


def test_bytes_come_back_as_they_were_made():
    counts = Counter()

    def make():
        counts["made"] += 1
        return b"\0binary\xff"

    assert [cached_bytes("thing", "key", ".bin", make) for _ in range(3)] == [b"\0binary\xff"] * 3
    assert counts["made"] == 1
    next(cache_folder().rglob("*.bin")).write_bytes(b"\0bina")
    assert cached_bytes("thing", "key", ".bin", make) == b"\0binary\xff"
    assert counts["made"] == 2


def test_empty_bytes_are_bytes_too():
    assert cached_bytes("thing", "key", ".bin", lambda: b"") == b""
    assert cached_bytes("thing", "key", ".bin", lambda: pytest.fail("made again")) == b""


def test_temporaries_older_than_a_day_are_swept_at_the_next_build(folder, monkeypatch):
    path = cached("thing", "key", ".txt", writes(b"1"))
    old, young = [path.with_name(f".{path.stem}.1-{digit * 12}.tmp.txt") for digit in "ab"]
    lock, foreign = path.with_name(f".{path.stem}.txt.lock"), path.with_name(".gitignore")
    for each in (old, young, lock, foreign):
        each.write_text("")
    for each in (old, lock, foreign):
        os.utime(each, (0, 0))
    cache._sweep_once.cache_clear()
    cached("thing", "key2", ".txt", writes(b"2"))
    assert [each.exists() for each in (old, young, lock, foreign)] == [False, True, False, True]


def test_a_folder_that_cannot_be_written_is_replaced_by_one_of_this_process(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(file / "below"))
    path = cached("thing", "key", ".txt", writes(b"1"))
    assert content(path) == b"1"
    assert cached("thing", "key", ".txt", fails) == path
    assert not path.is_relative_to(tmp_path)


def test_the_folder_of_a_process_goes_with_it_and_not_with_its_child(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    source = """
import os, sys
from opsdk.backends.cache.store import cached
path = cached("thing", "key", ".txt", lambda path: path.write_bytes(b"1"))
pid = os.fork()
if not pid:
    sys.exit()
os.waitpid(pid, 0)
assert path.exists()
print(path)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OPSDK_CACHE_DIR": str(file / "below")}
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == (  # once, and not in the child
        f"opsdk: what is compiled is kept until the process ends: {file / 'below'} cannot be written, Not a directory; "
        "make room or set OPSDK_CACHE_DIR to a folder that can be\n"
    )
    path = done.stdout.strip()
    assert path
    assert not os.path.exists(os.path.dirname(os.path.dirname(path)))  # noqa: PTH110, PTH120


def test_without_any_folder_the_error_names_the_variable(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(file / "below"))

    def refuse(prefix, dir):
        raise PermissionError("planted")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(CompileError, match=r"cache: expected a folder that can be written, got neither .*below") as e:
        cached("thing", "key", ".txt", writes(b"1"))
    assert "make room, or set OPSDK_CACHE_DIR to one" in str(e.value)
    assert e.value.code == "OP403"
    assert any("planted" in note for note in e.value.__notes__)


def test_the_folder_is_removed_under_a_running_process_and_made_again(folder):
    path = cached("thing", "key", ".txt", writes(b"1"))
    for each in [*folder.rglob("*")][::-1]:
        each.rmdir() if each.is_dir() else each.unlink()
    assert cached("thing", "key", ".txt", writes(b"1")) == path


def test_info_and_clear_count_finished_files_of_ours_only(folder):
    assert (cache_info().files, cache_info().bytes) == (0, 0)
    path = cached("thing", "a", ".txt", writes(b"123"))
    cached("other", "b", ".txt", writes(b"4567"))
    numba = path.parent / "__pycache__" / f"{path.stem}.f-1.py311.nbc"
    numba.parent.mkdir()
    numba.write_bytes(b"89")
    living = path.with_name(f".{path.stem}.1-{'a' * 12}.tmp.txt")
    living.write_text("")
    foreign = folder / "mine" / f"{'a' * 32}.txt"
    foreign.parent.mkdir()
    foreign.write_text("")
    assert (cache_info().folder, cache_info().files, cache_info().bytes) == (folder, 3, 9 + 2 * cache._SEAL)
    assert (cache_clear().files, cache_info().files) == (3, 0)
    assert living.exists() and foreign.exists()
    assert content(cached("thing", "a", ".txt", writes(b"new"))) == b"new"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/opsdk"),
        ("linux", {"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/opsdk"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/opsdk"),
        ("win32", {"LOCALAPPDATA": "/l", "HOME": "/h"}, "/l/opsdk"),
        ("linux", {"OPSDK_CACHE_DIR": "~/mine", "HOME": "/h"}, "/h/mine"),
    ],
)
def test_the_folder_is_the_platforms_own(monkeypatch, platform, variables, expected):
    for name in ("OPSDK_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache_places.sys, "platform", platform)
    assert cache_folder().as_posix() == expected


def test_a_user_without_a_home_has_a_folder_among_the_temporary_ones(monkeypatch, tmp_path):
    for name in ("OPSDK_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: {}[number])  # as of a container's number
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_folder() == tmp_path / f"opsdk-{os.getuid()}"
    monkeypatch.setenv("OPSDK_CACHE_DIR", "mine")
    assert cache_folder() == Path("mine").absolute()
