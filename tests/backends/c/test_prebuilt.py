import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opsdk.backends.c import library as c_library
from opsdk.backends.c import prebuilt as c_prebuilt
from opsdk.backends.c.job import Job
from opsdk.backends.c.prebuilt import FOLDER, build_ahead, outdated, place_of, prebuilt, remove_outdated
from opsdk.core.errors import CompileError

TWICE = """\
import opsdk

@opsdk.op("packed::twice(Tensor x, *, float by=2.0) -> Tensor y")
def twice(x, *, by):
    return x * by

twice.kernel("cpu", language="c", source="twice.c", include_dirs=["inc"])
"""
SOURCE = """\
#include "times.h"
int32_t twice_f64(const DLTensor *x, DLTensor *y, double by) {
  for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, y)[i] = TIMES(OPSDK_DATA(const double, x)[i], by);
  return 0;
}
"""
X = np.array([1.0, 3.0])


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """A cache of its own, and no open libraries."""
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(c_library, "_open", {})


@pytest.fixture
def package(tmp_path):
    """A package with a C kernel."""
    folder = tmp_path / "packed"
    (folder / "ops" / "inc").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "ops" / "__init__.py").write_text("")
    (folder / "ops" / "twice.py").write_text(TWICE)
    (folder / "ops" / "twice.c").write_text(SOURCE)
    (folder / "ops" / "inc" / "times.h").write_text("#define TIMES(x, by) ((x) * (by))\n")
    return folder


def load(package, module="packed.ops.twice"):
    file = package / "ops" / "twice.py"
    scope = {"__name__": module}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["twice"]


@pytest.mark.skipif(os.name != "posix", reason="no modes as on POSIX here")
@pytest.mark.parametrize("which", ["folder", "library", "interface"])
def test_what_more_people_may_write_than_the_python_file_is_not_used(package, capsys, which):
    op = load(package)
    made = built(op)
    assert prebuilt(job(op)) == made
    path = {"folder": made.parent, "library": made, "interface": made.with_suffix(".cffi")}[which]
    path.chmod(path.stat().st_mode | 0o002)
    assert prebuilt(job(op)) is None
    assert prebuilt(job(op)) is None
    said = capsys.readouterr().err
    assert said.startswith(f"opsdk: {made} is not used, others may write to {path} (mode ")
    assert said.count("\n") == 1
    (package / "ops").chmod(0o777)  # then they may write the Python file too
    assert prebuilt(job(op)) == made


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives files to others")
def test_a_library_of_another_user_than_the_python_files_is_not_used(package):
    op = load(package)
    made = built(op)
    os.chown(made, 12345, -1)
    assert prebuilt(job(op)) is None
    os.chown(package / "ops" / "twice.py", 12345, -1)
    assert prebuilt(job(op)) == made


def job(op):
    return Job.of(op.opdef, next(row for row in op.opdef.kernels if row.language == "c"))


def built(op, out=None):
    made = place_of(job(op), out)
    build_ahead(job(op), made)
    return made


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setenv("OPSDK_CC", "/nonexistent")


def test_a_row_that_was_built_needs_no_compiler_and_no_cache(package, tmp_path, no_compiler, monkeypatch):
    with monkeypatch.context() as with_compiler:
        with_compiler.delenv("OPSDK_CC")
        made = built(load(package))
    assert made.parent == package / "ops" / FOLDER
    twice = load(package)
    assert twice(X, by=5.0).tolist() == [5.0, 15.0]
    assert c_library.library_of(twice.opdef, job(twice).kernel).file == str(made)
    assert not (tmp_path / "cache").exists()


def test_what_is_built_is_found_wherever_the_package_is_put(package, tmp_path, monkeypatch):
    built(load(package))
    moved = tmp_path / "elsewhere" / "packed"
    shutil.move(package, moved)
    monkeypatch.setenv("OPSDK_CC", "/nonexistent")
    assert load(moved)(X).tolist() == [2.0, 6.0]


CHANGES = {
    "source": ("twice.c", SOURCE.replace("return 0", "return  0")),
    "header": ("inc/times.h", "#define TIMES(x, by) ((x) + (by))\n"),
    "schema": ("twice.py", TWICE.replace("float by=2.0", "int by=2")),
    "flags": ("twice.py", TWICE.replace("source=", "flags=['-fwrapv'], source=")),
    "define": ("twice.py", TWICE.replace("source=", "define=['A'], source=")),
    "openmp": ("twice.py", TWICE.replace("source=", "openmp=True, source=")),
    "libraries": ("twice.py", TWICE.replace("source=", "libraries=['m'], source=")),
}


@pytest.mark.parametrize(("file", "text"), CHANGES.values(), ids=CHANGES)
def test_what_was_built_from_anything_else_is_not_used(package, file, text, capsys):
    made = built(load(package))
    (package / "ops" / file).write_text(text)
    assert prebuilt(job(load(package))) is None
    assert made.exists()


def test_a_header_that_a_macro_names_counts_too(package):
    (package / "ops" / "twice.c").write_text(SOURCE.replace('#include "times.h"', '#define H "times.h"\n#include H'))
    built(load(package))
    assert prebuilt(job(load(package))) is not None
    (package / "ops" / "inc" / "times.h").write_text("#define TIMES(x, by) ((x) + (by))\n")
    assert prebuilt(job(load(package))) is None


def test_another_opsdk_header_or_platform_is_not_used(package, tmp_path, monkeypatch):
    built(load(package))
    (tmp_path / "opsdk.h").write_text("another")
    with monkeypatch.context() as other:
        other.setattr(c_prebuilt, "HEADER", tmp_path / "opsdk.h")
        assert prebuilt(job(load(package))) is None
    with monkeypatch.context() as other:
        other.setattr(c_prebuilt.platform, "machine", lambda: "riscv64")
        assert prebuilt(job(load(package))) is None
    assert prebuilt(job(load(package))) is not None


def test_a_changed_source_is_compiled_where_there_is_a_compiler(package):
    built(load(package))
    (package / "ops" / "twice.c").write_text(SOURCE.replace("by);", "by) + 1;"))
    assert load(package)(X).tolist() == [3.0, 7.0]


def test_without_a_compiler_the_error_says_that_something_else_was_built(package, no_compiler, monkeypatch):
    with monkeypatch.context() as with_compiler:
        with_compiler.delenv("OPSDK_CC")
        made = built(load(package))
    (package / "ops" / "twice.c").write_text(SOURCE + "\n")
    with pytest.raises(CompileError, match="op 'packed::twice', c kernel: OPSDK_CC expected a C compiler") as caught:
        load(package)(X)
    assert caught.value.code == "OP402"
    assert caught.value.__notes__[0] == (
        f"  because  {package / 'ops' / FOLDER} has {made.name}, built from another source, by another opsdk "
        "or for another platform"
    )


def test_without_a_compiler_and_without_anything_built_nothing_is_said_of_it(package, no_compiler):
    assert outdated(job(load(package))) == ""
    with pytest.raises(CompileError) as caught:
        load(package)(X)
    assert caught.value.__notes__ == ["  code     OP402"]


@pytest.mark.parametrize("suffix", [".so", ".cffi"])
def test_a_library_without_its_other_half_does_not_count(package, suffix):
    made = built(load(package))
    made.with_suffix(suffix).unlink()
    assert prebuilt(job(load(package))) is None


@pytest.mark.parametrize("suffix", [".so", ".cffi"])
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:99], lambda data: data[:-9] + b"x"])
def test_a_damaged_library_is_compiled_anew_and_told_of(package, suffix, damage, capsys):
    made = built(load(package))
    path = made.with_suffix(suffix)
    path.write_bytes(damage(path.read_bytes()))
    assert prebuilt(job(load(package))) is None
    assert load(package)(X).tolist() == [2.0, 6.0]
    said = f"opsdk: {made} is not used, it is not as it was built; build it again, opsdk build\n"
    assert capsys.readouterr().err == said


def test_headers_of_the_system_do_not_count(package, tmp_path):
    system = tmp_path / "system"
    system.mkdir()
    (system / "more.h").write_text("#define MORE 1\n")
    (package / "ops" / "twice.c").write_text('#include "more.h"\n' + SOURCE)
    (package / "ops" / "twice.py").write_text(TWICE.replace('["inc"]', f'["inc", {str(system)!r}]'))
    built(load(package))
    (system / "more.h").unlink()
    assert prebuilt(job(load(package))) is not None


def test_the_code_is_for_any_processor(package, monkeypatch):
    given = []
    run = Job.build

    def build(self, path):
        given.append(self.arguments)
        run(self, path)

    monkeypatch.setattr(Job, "build", build)
    built(load(package))
    load(package)
    assert not any(word.startswith(("-march", "-mcpu")) for word in given[0])
    assert any(word.startswith(("-march", "-mcpu")) for word in job(load(package)).arguments)


def test_a_build_that_fails_leaves_nothing_behind(package):
    (package / "ops" / "twice.c").write_text(SOURCE.replace("return 0", "return no"))
    with pytest.raises(CompileError, match="'no' undeclared"):
        built(load(package))
    assert not (package / "ops" / FOLDER).exists()


def test_a_build_that_fails_keeps_what_there_was(package):
    made = built(load(package))
    (package / "ops" / "twice.c").write_text(SOURCE.replace("return 0", "return no"))
    with pytest.raises(CompileError):
        built(load(package))
    assert sorted((package / "ops" / FOLDER).iterdir()) == sorted([made, made.with_suffix(".cffi")])


def test_out_gets_the_folders_of_the_packages(package, tmp_path):
    made = built(load(package), tmp_path / "out")
    assert made.parent == tmp_path / "out" / "packed" / "ops" / FOLDER
    assert prebuilt(job(load(package))) is None


@pytest.mark.parametrize("module", ["twice", "other.package.twice", "__main__"])
def test_out_gets_what_a_loose_file_has(package, tmp_path, module):
    made = place_of(job(load(package, module)), tmp_path / "out")
    assert made.parent == tmp_path / "out" / FOLDER


def test_the_module_of_a_package_itself_is_a_package(package, tmp_path):
    (package / "ops" / "__init__.py").write_text(TWICE)
    file = package / "ops" / "__init__.py"
    scope = {"__name__": "packed.ops"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    made = place_of(job(scope["twice"]), tmp_path / "out")
    assert made.parent == tmp_path / "out" / "packed" / "ops" / FOLDER


def test_a_row_of_a_cell_has_no_place(package, monkeypatch):
    monkeypatch.chdir(package / "ops")
    scope = {"__name__": "__main__"}
    exec(compile(TWICE, "<ipython-input-1>", "exec"), scope)
    assert prebuilt(job(scope["twice"])) is None
    assert outdated(job(scope["twice"])) == ""
    with pytest.raises(
        CompileError, match=r"c kernel: expected a kernel that a file registers, .* got one of <ipython-input"
    ):
        place_of(job(scope["twice"]))


def test_what_older_sources_left_is_removed_for_this_platform_only(package):
    old = built(load(package))
    foreign = old.with_name(f"twice.other-cpu-64.{'0' * 16}.so")
    neighbour = old.with_name(old.name.replace("twice.", "thrice."))
    foreign.touch(), neighbour.touch()
    (package / "ops" / "twice.c").write_text(SOURCE + "\n")
    new = built(load(package))
    remove_outdated([new])
    assert set(old.parent.iterdir()) == {new, new.with_suffix(".cffi"), foreign, neighbour}


def test_the_library_needs_no_python(package):
    if not sys.platform.startswith("linux"):
        pytest.skip("readelf is for Linux")
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("no readelf")
    made = built(load(package))
    needed = subprocess.run([readelf, "-d", made], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed.replace(str(Path(sys.prefix)), "")
