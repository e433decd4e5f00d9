import os
import stat
import sys
from pathlib import Path

import pytest

from opsdk.backends.c import library as c_library
from opsdk.ship.package.build import build_modules, main
from tests.ship.cli.test_main import process

ROW = """\
import numpy as np
import opsdk

@opsdk.op("{module}::{name}(Tensor x) -> Tensor y")
def {name}(x):
    return x * 2

@{name}.backward
def {name}_grad(dy):
    return dy * 2

for each, given in (({name}, "x"), ({name}_grad, "dy")):
    for dtype in ("float32", "float64"):
        each.kernel("cpu", language="c", source="{name}.c", dtype=dtype)
"""
SOURCE = """\
#define TWICE(T, suffix) \\
  int32_t {name}_##suffix(const DLTensor *x, DLTensor *y) {{ \\
    for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(T, y)[i] = 2 * OPSDK_DATA(const T, x)[i]; \\
    return 0; }} \\
  int32_t {name}_grad_##suffix(const DLTensor *dy, DLTensor *dx) {{ return {name}_##suffix(dy, dx); }}
TWICE(float, f32)
TWICE(double, f64)
"""


@pytest.fixture(autouse=True)
def apart(here, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(here / "cache"))
    monkeypatch.setattr(c_library, "_open", {})


def write(folder, name="twice", module="twice"):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(ROW.format(name=name, module=module))
    (folder / f"{name}.c").write_text(SOURCE.format(name=name))


@pytest.fixture
def package(here):
    """A package of two modules with C kernels each."""
    write(here / "packed", "twice", "packed")
    write(here / "packed", "double", "packed")
    (here / "packed" / "__init__.py").write_text("from packed import double, twice\n")
    return here / "packed"


def named(lines):
    return [line.split("/")[-1].partition(".")[0] for line in lines]


def test_the_path_of_each_library_is_printed_once_and_nothing_else(run, here):
    write(here)
    result = run("build", "twice.py")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert named(lines) == ["twice", "twice_grad"]
    assert all((here / line).is_file() for line in lines)
    assert result.stderr == ""


def test_what_was_built_is_used_by_the_next_process_without_a_compiler(run, here):
    write(here)
    assert run("build", "twice.py").exit_code == 0
    done = process("check", "twice.py", OPSDK_CC="/nonexistent", OPSDK_CACHE_DIR=str(here / "none"))
    assert done.returncode == 0, done.stdout
    assert not (here / "none" / "c").exists()


@pytest.mark.parametrize("target", ["packed", "packed.twice", "packed.twice:twice", "packed::twice"])
def test_a_target_is_what_it_is_for_every_command(run, package, target, monkeypatch):
    if "::" in target:
        monkeypatch.syspath_prepend(package.parent)
        __import__("packed")
    expected = {"twice", "twice_grad"} | ({"double", "double_grad"} if target == "packed" else set())
    assert set(named(run("build", target).stdout.splitlines())) == expected


def test_rows_that_a_package_adds_to_ops_of_another_are_its_own(run, here):
    package = here / "packed"
    package.mkdir()
    write(here, "other", "other")
    (here / "other.py").write_text(ROW.format(name="other", module="other").partition("for each")[0])
    (package / "__init__.py").write_text(
        "from other import other\nother.kernel('cpu', language='c', dtype='float32', source='../other.c')\n"
    )
    assert named(run("build", "packed").stdout.splitlines()) == ["other"]


def test_out_is_a_tree_of_packages(run, package, here):
    result = run("build", "packed", "--out", "made")
    assert sorted({str(Path(line).parent) for line in result.stdout.splitlines()}) == ["made/packed/_kernels"]
    assert not (package / "_kernels").exists()


def test_a_row_that_does_not_compile_is_told_and_the_others_are_built(run, package):
    (package / "double.c").write_text("int32_t double_f32(const DLTensor *x, DLTensor *y) { return no; }\n")
    result = run("build", "packed")
    assert result.exit_code == 1
    assert set(named(result.stdout.splitlines())) == {"twice", "twice_grad"}
    assert "op 'packed::double', c kernel: does not compile, " in result.stderr
    assert "'no' undeclared" in result.stderr
    assert result.stderr.splitlines()[-1] == "2 not built, 2 built"
    assert set(named(map(str, (package / "_kernels").iterdir()))) == {"twice", "twice_grad"}


def test_a_row_that_is_at_odds_with_its_schema_is_told(run, here):
    write(here)
    (here / "twice.c").write_text("int32_t twice_f32(const DLTensor *x) { return 0; }\n")
    result = run("build", "twice.py:twice")
    assert result.exit_code == 1
    assert "op 'twice::twice', c kernel: expected int32_t twice_f32(const DLTensor *x, DLTensor *y), " in result.stderr


def test_without_a_compiler_nothing_is_built_and_the_remedy_is_told(run, package, monkeypatch):
    monkeypatch.delenv("OPSDK_CC", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    result = run("build", "packed")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "c kernel: no C compiler, tried $OPSDK_CC and $CC (unset), cc, gcc, clang; " in result.stderr
    assert "code     OP402" in result.stderr
    assert not (package / "_kernels").exists()


def test_a_target_without_c_rows_is_told(run, right):
    result = run("build", "good.py")
    assert result.exit_code == 5
    assert result.stderr == (
        "nothing to build: good.py has no C kernel; a kernel is op.kernel('cpu', language='c', source=...)\n"
    )


def test_a_target_that_names_nothing_is_an_error(run):
    result = run("build", "nowhere.py")
    assert result.exit_code == 2
    assert "nowhere.py: expected a file at nowhere.py, there is none" in result.stderr


def test_a_folder_that_cannot_be_written_is_an_error(run, here):
    write(here)
    (here / "file").write_text("")
    result = run("build", "twice.py", "--out", "file/below")
    assert result.exit_code == 2
    assert "expected a folder that can be written, got: Not a directory" in result.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_somebody_else_is_an_error(run, here):
    write(here)
    (here / "locked").mkdir()
    (here / "locked").chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "got: Permission denied" in run("build", "twice.py", "--out", "locked/below").stderr


def test_building_again_removes_what_older_sources_left(run, here):
    write(here)
    run("build", "twice.py")
    with (here / "twice.c").open("a") as file:
        file.write("\n")
    result = run("build", "twice.py")
    assert sorted(path.name for path in (here / "_kernels").glob("*.so")) == sorted(
        Path(line).name for line in result.stdout.splitlines()
    )


# -- what setup.py runs ------------------------------------------------------------------------------------------------


def test_modules_are_built_by_their_names_alone(package, here, capsys):
    sys.path.insert(0, str(here))
    assert build_modules(["packed"]) == 0
    assert set(named(capsys.readouterr().out.splitlines())) == {"twice", "twice_grad", "double", "double_grad"}


def test_a_module_called_like_a_built_in_op_is_the_module(here, capsys):
    write(here, "twice", "softmax")
    (here / "softmax.py").write_text("import twice\ntwice.twice.kernel('cpu', language='c', source='twice.c')\n")
    sys.path.insert(0, str(here))
    assert build_modules(["softmax"]) == 0
    assert named(capsys.readouterr().out.splitlines()) == ["twice"]


def test_modules_without_c_rows_are_told_how_to_make_a_wheel_for_every_platform(right, here, capsys):
    sys.path.insert(0, str(here))
    assert build_modules(["good"]) == 5
    assert capsys.readouterr().err == (
        "good: expected C kernels to build, got none; leave distclass= out of setup.py, so that the wheel is for every "
        "platform\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No module named 'broken'"),
        ("import nothing_of_that_name", "broken: expected a file or module that loads, got ModuleNotFoundError"),
    ],
)
def test_a_module_that_does_not_load_ends_the_build(here, monkeypatch, capsys, text, message):
    if text:
        (here / "broken.py").write_text(text)
    monkeypatch.setattr(sys, "argv", ["-c", "broken"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
