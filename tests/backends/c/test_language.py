import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import CompileError, DefinitionError
from tests.backends.c_rows import LEAKY, leaky


@pytest.fixture
def op():
    @opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y")
    def f(x, w):
        raise AssertionError("the reference ran")

    return f


def row(op):
    return next(row for row in op.opdef.kernels if row.language == "c")


def register(op, source="int32_t f_f32(void) { return 0; }", **options):
    op.kernel("cpu", language="c", source=source, **options)
    return row(op)


def test_registering_reads_and_compiles_nothing(op, tmp_path):
    file = tmp_path / "f.c"
    file.write_bytes(b"\xff no C at all")
    register(op, source=str(file))
    script = "import sys, opsdk; opsdk.relu.kernel('cpu', language='c', source='{'); "
    script += "print({'cffi', '_cffi_backend', 'opsdk.backends.c.row'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout == "set()\n"


def test_a_relative_path_starts_at_the_registering_file(op):
    with pytest.raises(DefinitionError) as caught:
        register(op, source="no_such.c")
    expected = str(Path(__file__).with_name("no_such.c"))
    assert str(caught.value) == (
        f"op 't::f', c kernel: source expected a C text or an existing file, got {expected!r}, which does not exist"
    )
    assert register(op, source=Path(__file__).name).source == __file__


def test_what_has_a_brace_a_semicolon_or_a_line_break_is_c(op):
    assert [register(op, source=text).source for text in ("{", "int x;", "a\nb")] == ["{", "int x;", "a\nb"]


def test_folders_start_at_the_registering_file_too(op):
    options = register(op, include_dirs=["include", "/abs"], library_dirs=["lib"]).options
    here = Path(__file__).parent
    assert options["include_dirs"] == (str(here / "include"), "/abs")
    assert options["library_dirs"] == (str(here / "lib"),)


def test_a_row_is_listed_with_its_language():
    rows = [str(row) for row in leaky(dtype="float32").opdef.kernels]
    assert rows == ["numpy (cpu, *)", "c (cpu, float32)"]


def test_a_row_that_is_registered_again_replaces_the_first(op):
    register(op, source="int a;")
    register(op, source="int b;")
    assert [row.source for row in op.opdef.kernels if row.language == "c"] == ["int b;"]


def test_the_command_line_shows_the_row():
    from opsdk.ship.describe.catalog import rows_of
    from opsdk.ship.describe.op_facts import facts_of, screen

    op = leaky()
    assert rows_of(op.opdef) == ("numpy", "c")
    assert ["kernel", "c", "(cpu,", "*)"] in [line.split()[:4] for line in screen(facts_of(op), 100).splitlines()]


def test_the_source_of_a_row_is_the_text(op):
    assert register(op, source=LEAKY).source == LEAKY


def test_an_error_inside_a_macro_of_the_header_is_shown_on_the_authors_line():
    @opsdk.op(namespace="tests")
    def copied(x):
        return x + 0

    copied.kernel(
        "cpu",
        language="c",
        source="""
int32_t copied_f64(const DLTensor *x, DLTensor *y) {
  int64_t n = opsdk_size(x)
  double *out = OPSDK_DATA(double, y);
  return 0;
}
""",
    )
    with pytest.raises(CompileError) as caught:
        copied(np.zeros(3))
    text = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "opsdk.h" not in text
    assert "test_language.py" in text
