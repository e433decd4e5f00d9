import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opsdk.backends.c import library as c_library
from opsdk.backends.c.library import library_of
from opsdk.core.errors import CompileError
from tests.backends.c_rows import nothing, op
from tests.contracts.tree import REPOSITORY

X = np.ones(2, "float32")
TAKES = "const DLTensor *x, DLTensor *y"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(c_library, "_open", {})
    return tmp_path / "cache"


def fresh(tmp_path, value=7, **options):
    body = f"*OPSDK_DATA(float, y) = {value}; return 0;"
    return op("f(Tensor x) -> Tensor y", f"// {tmp_path}\n{nothing('f', TAKES, body=body)}", **options)


def library(made):
    return library_of(made.opdef, next(row for row in made.opdef.kernels if row.language == "c"))


def test_a_library_is_opened_once(tmp_path):
    first, again = library(fresh(tmp_path)), library(fresh(tmp_path))
    assert first is again
    assert list(first.functions) == ["float32"]
    assert Path(first.file).is_relative_to(tmp_path)


BOTH = """#define F(T, s) int32_t f_##s(const DLTensor *x, DLTensor *y) { *OPSDK_DATA(T, y) = FACTOR; return 0; }
F(float, f32)
F(double, f64)
"""


@pytest.mark.parametrize("named", ["source", "header"])
def test_a_row_stays_what_its_files_were_at_its_first_call_for_every_dtype(tmp_path, named):
    source, header = tmp_path / "f.c", tmp_path / "factor.h"
    source.write_text('#include "factor.h"\n' + BOTH)
    header.write_text("#define FACTOR 2\n")
    made = op("f(Tensor x) -> Tensor y", str(source))
    assert made(X)[0] == 2.0
    if named == "source":
        source.write_text("#define FACTOR 3\n" + BOTH)
    else:
        header.write_text("#define FACTOR 3\n")
    assert made(X)[0] == 2.0
    assert made(X.astype("float64"))[0] == 2.0
    assert op("f(Tensor x) -> Tensor y", str(source))(X.astype("float64"))[0] == 3.0  # registered again


def test_a_source_that_did_not_compile_is_read_again(tmp_path):
    source = tmp_path / "f.c"
    source.write_text("#define FACTOR nothing\n" + BOTH)
    made = op("f(Tensor x) -> Tensor y", str(source))
    with pytest.raises(CompileError, match="nothing"):
        made(X)
    source.write_text("#define FACTOR 4\n" + BOTH)
    assert made(X)[0] == 4.0


def test_a_found_library_needs_no_compiler_run(tmp_path, monkeypatch):
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/log\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert fresh(tmp_path)(X)[0] == 7.0
    assert len((tmp_path / "log").read_text().splitlines()) == 2  # to read what it defines, to compile it
    monkeypatch.setattr(c_library, "_open", {})
    assert fresh(tmp_path)(X)[0] == 7.0
    assert len((tmp_path / "log").read_text().splitlines()) == 2


SEVEN = """
import sys, time
from pathlib import Path
import numpy as np
from tests.backends.c_rows import nothing, op
body = "*OPSDK_DATA(float, y) = 7; return 0;"
made = op("f(Tensor x) -> Tensor y", nothing("f", "const DLTensor *x, DLTensor *y", body=body))
print("ready", flush=True)
while not Path(sys.argv[1]).exists():
    time.sleep(0.001)
print(made(np.ones(1, "float32"))[0])
"""


def seven(go):
    """Starts a process that computes 7 in C once a file is there."""
    command = [sys.executable, "-c", SEVEN, str(go)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("suffix", [".so", pytest.param(".py", marks=pytest.mark.slow)])  # a build in a process each
def test_a_damaged_file_is_built_again(folder, suffix, tmp_path):
    go = tmp_path / "go"
    go.touch()
    assert seven(go).communicate() == ("ready\n7.0\n", "")
    (path,) = folder.rglob(f"*{suffix}")
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-60] + b"x" * 60):
        path.write_bytes(damaged)
        assert seven(go).communicate() == ("ready\n7.0\n", "")
        assert path.read_bytes() != damaged


def test_processes_that_compile_the_same_source_at_once_are_all_right(tmp_path, folder):
    children = [seven(tmp_path / "go") for _ in range(3)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    assert [child.communicate() for child in children] == [("7.0\n", "")] * 3
    assert len(list(folder.rglob("*.so"))) == 1


def test_a_library_that_does_not_open_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(c_library.Job, "build", lambda self, path: path.write_bytes(b"no library"))
    with pytest.raises(
        CompileError, match=r"op 't::f', c kernel: was built and does not open, .*(file too short|invalid ELF)"
    ):
        fresh(tmp_path)(X)


def test_a_library_that_is_removed_before_it_is_opened_is_built_again(tmp_path, folder, monkeypatch):
    found = c_library.cached_bytes

    def cleared(*arguments):  # another process clears the cache between the two files
        made = found(*arguments)
        for path in folder.rglob("*.so"):
            path.unlink()
        return made

    monkeypatch.setattr(c_library, "cached_bytes", cleared)
    assert fresh(tmp_path)(X)[0] == 7.0
