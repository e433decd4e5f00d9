"""Where the cache cannot be written, every language goes on without it, and that is said once."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.backends.c import compiler as c_compiler
from opsdk.backends.c.compiler import Complaint, expect_room
from opsdk.backends.cache import places as cache_places
from opsdk.backends.cache import store as cache
from opsdk.backends.cache.store import cached, cached_bytes
from opsdk.core.errors import CompileError
from tests.contracts.tree import REPOSITORY

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
NOTICE = (
    "opsdk: what is compiled is kept until the process ends: {} cannot be written, No space left on device; make room "
    "or set OPSDK_CACHE_DIR to a folder that can be\n"
)
LANGUAGES = """\
import resource, sys
import numpy as np
import opsdk
from opsdk import vmath

sys.dont_write_bytecode = True


@opsdk.elementwise
def swish(x, *, beta: float = 1.0):
    return x * vmath.sigmoid(beta * x)


@opsdk.op
def relu(x):
    return np.maximum(x, 0)


@relu.kernel("cpu", language="numba")
def relu_numba(x, y):
    for i in range(x.size):
        y.flat[i] = max(x.flat[i], 0)


@opsdk.op
def triple(x):
    return x * 3


triple.kernel("cpu", language="c", source=\"\"\"
int32_t triple_f64(const DLTensor *x, DLTensor *y) {
    for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, y)[i] = 3 * OPSDK_DATA(const double, x)[i];
    return 0;
}
\"\"\")

resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))  # no file may be longer
for op in (swish, relu, triple):
    try:
        print(op(np.zeros(3) + 2.0)[0])
    except opsdk.errors.CompileError as error:
        print(error.code, error)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_places, "_told", set())
    monkeypatch.setattr(cache_places, "_private", {})
    return tmp_path / "cache"


@pytest.fixture
def full(folder, monkeypatch):
    """The disk of the cache folder has no room for contents, as one that is full to the last block."""
    whole = Path.write_bytes

    def write(path, data):
        if path.is_relative_to(folder):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return whole(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)


def test_on_a_full_disk_a_file_is_kept_for_the_process_and_that_is_said_once(folder, full, capsys):
    path = cached("thing", "key", ".so", lambda path: path.write_bytes(b"library"))
    assert path.read_bytes().startswith(b"library")
    assert not path.is_relative_to(folder)
    assert cached("thing", "key", ".so", lambda path: pytest.fail("built again")) == path
    cached("thing", "other", ".so", lambda path: path.write_bytes(b"library"))
    assert capsys.readouterr().err == NOTICE.format(folder)
    assert [each.name for each in folder.rglob("*") if each.is_file()] == ["CACHEDIR.TAG"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.EFBIG])
def test_whatever_the_system_says_there_is_another_place(folder, monkeypatch, capsys, number):
    def build(path):
        if path.is_relative_to(folder):
            raise OSError(number, os.strerror(number))
        path.write_bytes(b"library")

    assert cached("thing", "key", ".so", build).read_bytes()[: -cache._SEAL] == b"library"
    assert f"cannot be written, {os.strerror(number)}; make room" in capsys.readouterr().err


def test_bytes_that_can_be_kept_nowhere_are_made_once_and_given(monkeypatch):
    made = []

    def make():
        made.append(1)
        return b"code"

    def refuse(*arguments):
        raise FULL

    monkeypatch.setattr(Path, "write_bytes", refuse)
    assert cached_bytes("thing", "key", ".o", make) == b"code"
    assert len(made) == 1


def test_a_file_that_can_be_kept_nowhere_is_an_error_that_says_all(folder):
    def refuse(path):
        raise FULL

    with pytest.raises(CompileError, match=r"expected a folder that can be written, got neither .* make room") as e:
        cached("thing", "key", ".so", refuse)
    assert e.value.code == "OP403"
    assert any("No space left on device" in note for note in e.value.__notes__)


def test_the_next_place_is_memory(folder, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(cache_places, "_MEMORY", str(tmp_path / "memory"))

    def build(path):
        if not path.is_relative_to(tmp_path / "memory"):
            raise FULL
        path.write_bytes(b"library")

    assert cached("thing", "key", ".so", build).is_relative_to(tmp_path / "memory")


def test_where_no_temporary_folder_is_known_memory_is(folder, tmp_path, monkeypatch):
    def unknown():
        raise FileNotFoundError("no usable temporary directory")

    folder.write_text("")
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr("tempfile.gettempdir", unknown)
    monkeypatch.setattr(cache_places, "_MEMORY", str(tmp_path / "memory"))
    path = cached("thing", "key", ".so", lambda path: path.write_bytes(b"1"))
    assert path.is_relative_to(tmp_path / "memory")


@pytest.mark.parametrize(
    "said",
    [
        "/usr/bin/ld: final link failed: No space left on device\ncollect2: error: ld returned 1 exit status",
        "cc1: fatal error: error writing to /tmp/ccX.s: No space left on device",
        "Cannot create temporary file in /tmp/: Disk quota exceeded",
        "cc: internal compiler error: File size limit exceeded signal terminated program cc1",
        "/usr/bin/ld: cannot open output file a.so: Read-only file system",
        "collect2: fatal error: ld terminated with signal 7 [Bus error]",
    ],
)
def test_a_compiler_without_room_is_told_from_a_source_that_is_wrong(said):
    with pytest.raises(OSError, match="the C compiler found no room: ") as error:
        expect_room(Complaint("", 0, "error: ld returned 1 exit status", said), Path("x.so"))
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, "x.so")


def test_a_source_that_is_wrong_is_not_the_disks_fault():
    expect_room(Complaint("x.c", 3, "expected ';'", "x.c:3:1: error: expected ';'"), Path("x.so"))


def test_a_c_kernel_runs_where_the_linker_finds_the_disk_of_the_cache_full(folder, tmp_path, monkeypatch, capsys):
    pytest.importorskip("cffi")
    whole = c_compiler.find_compiler("test")
    fake = tmp_path / "cc"
    fake.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *"-o {folder}"*)\n'
        'echo "/usr/bin/ld: final link failed: No space left on device" >&2; exit 1;; esac\n'
        f'[ -n "$TMPDIR" ] && echo "$TMPDIR" >> {tmp_path}/scratch\n'
        f'exec {" ".join(whole.command)} "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("OPSDK_CC", str(fake))

    @opsdk.op
    def quadruple(x):
        return x * 4

    source = """
    int32_t quadruple_f64(const DLTensor *x, DLTensor *y) {
        for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, y)[i] = 5 * OPSDK_DATA(const double, x)[i];
        return 0;
    }
    """
    quadruple.kernel("cpu", language="c", source=source)
    np.testing.assert_array_equal(quadruple(np.ones(3)), np.full(3, 5.0))
    said = capsys.readouterr().err
    assert f" is kept until the process ends: {folder} cannot be written, the C compiler found no room: " in said
    assert said.count("\n") == 1
    scratch = (tmp_path / "scratch").read_text().splitlines()[-1]
    assert Path(scratch).parent.name.startswith("opsdk-")  # what the compiler writes on its way lies there too


def test_under_a_limit_of_file_sizes_numba_and_expressions_run_and_c_is_told(tmp_path):
    pytest.importorskip("resource")
    pytest.importorskip("cffi")
    (tmp_path / "languages.py").write_text(LANGUAGES)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, str(tmp_path / "languages.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    swish, relu, triple = done.stdout.splitlines()
    assert float(swish) == pytest.approx(2 / (1 + np.exp(-2.0)))
    assert float(relu) == 2.0
    assert triple.startswith("OP403 cache: expected a folder that can be written, got neither ")
    assert done.stderr.count("opsdk: what is compiled is kept until the process ends: ") == 1


def test_the_folder_stays_unused_where_it_was_looked_up_only(folder):
    assert cache.held_bytes("thing", "key", ".o") is None
    assert not folder.exists()


WORKERS = """\
import multiprocessing, sys
import numpy as np
import opsdk


@opsdk.elementwise
def twice(x):
    return 2.0 * x


def work(count):
    return float(twice(np.ones(count, "float32")).sum())


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(pool.map(work, range(3)))
        pool.close()
        pool.join()
    alone = context.Process(target=work, args=(1,))
    alone.start()
    alone.join()
    print(alone.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])  # which imports all anew
def test_workers_of_multiprocessing_take_their_folders_along(tmp_path, method):
    room = tmp_path / "temporary"
    room.mkdir()
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "workers.py").write_text(WORKERS)
    env = {**os.environ, "TMPDIR": str(room), "OPSDK_CACHE_DIR": str(tmp_path / "file" / "cache")}
    command = [sys.executable, "workers.py", method]
    env["PYTHONPATH"] = str(REPOSITORY)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "[0.0, 2.0, 4.0]\n0\n", done.stderr
    assert list(room.iterdir()) == []
