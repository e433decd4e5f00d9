import os

import numpy as np
import pytest

from opsdk.backends.c import compiler as c_compiler
from opsdk.backends.c.compiler import find_compiler, machine, run
from opsdk.core.errors import CompileError
from tests.backends.c_rows import nothing, op


@pytest.fixture
def path(tmp_path, monkeypatch):
    for variable in ("OPSDK_CC", "CC"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path, name, text="exit 0"):
    file = path / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_the_first_of_the_usual_names_is_taken(path):
    clang = program(path, "clang")
    assert find_compiler("row").command == (clang,)
    gcc = program(path, "gcc")
    assert find_compiler("row").command == (gcc,)


def test_variables_come_first_and_may_hold_arguments(path, monkeypatch):
    program(path, "cc")
    first, second = program(path, "ccache"), program(path, "gcc-12")
    monkeypatch.setenv("CC", "gcc-12")
    assert find_compiler("row").command == (second,)
    monkeypatch.setenv("OPSDK_CC", "ccache gcc-12 -m64")
    assert find_compiler("row").command == (first, "gcc-12", "-m64")


def test_the_identity_changes_with_any_of_the_programs(path, monkeypatch):
    program(path, "ccache")
    gcc = program(path, "gcc-12")
    monkeypatch.setenv("CC", "ccache gcc-12")
    before = find_compiler("row").identity
    assert find_compiler("row").identity == before
    os.utime(gcc, (1, 1))
    assert find_compiler("row").identity != before


def test_without_a_compiler_the_error_says_what_to_install(path, monkeypatch):
    monkeypatch.setattr(c_compiler.sys, "platform", "linux")
    made = op("f(Tensor x) -> Tensor y", nothing("f", "const DLTensor *x, DLTensor *y"))
    with pytest.raises(CompileError) as caught:
        made(np.ones(1, "float32"))
    assert str(caught.value) == (
        "op 't::f', c kernel: no C compiler, tried $OPSDK_CC and $CC (unset), cc, gcc, clang; apt install gcc, or name "
        "one in OPSDK_CC"
    )
    assert caught.value.code == "OP402"


def test_a_variable_that_names_no_program_is_an_error(path, monkeypatch):
    monkeypatch.setenv("CC", "icc-99 -O1")
    with pytest.raises(CompileError) as caught:
        find_compiler("row")
    message = "row: CC expected a C compiler, got 'icc-99 -O1', which is no program here; unset it, or "
    assert str(caught.value).startswith(message)
    assert caught.value.code == "OP402"


def test_a_compiler_that_says_nothing_is_reported_by_its_status(path):
    program(path, "cc", "exit 3")
    _, complaint = run(find_compiler("row"), ["-E", "-"], "int x;")
    assert (complaint.file, complaint.text) == ("", "exit status 3")


def test_the_last_line_stands_for_what_is_not_understood(path):
    program(path, "cc", "echo one >&2; echo two >&2; exit 1")
    _, complaint = run(find_compiler("row"), [], "")
    assert (complaint.text, complaint.whole) == ("two", "one\ntwo\n")


def test_long_complaints_are_cut_in_the_note(path):
    program(path, "cc", "for i in $(seq 50); do echo line $i >&2; done; exit 1")
    _, complaint = run(find_compiler("row"), [], "")
    error = c_compiler.failure("row", c_compiler.Complaint("", 0, "x", "\n".join(f"line {i}" for i in range(50))))
    assert complaint is not None
    assert any("line 19" in note and "and 30 lines more" in note and "line 20" not in note for note in error.__notes__)


def test_the_machine_is_known_by_its_processor():
    assert machine() == machine()
    assert machine().startswith(f"{c_compiler.sys.platform}")


def test_a_machine_without_a_list_of_processors_is_known_by_its_system(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError

    monkeypatch.setattr(c_compiler.Path, "open", refuse)
    assert c_compiler.platform.version() in machine.__wrapped__()
