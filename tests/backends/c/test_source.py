from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.backends.c.source import (
    CSource,
    definitions,
    headers_of,
    hides_files,
    is_text,
    line_directive,
    missing_function,
    names_defined,
    read,
    shapes_stay,
)
from opsdk.core.errors import CompileError
from opsdk.core.origin import Origin
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.op import REGISTRY
from tests.backends.c_rows import op


def row(made):
    return made.opdef, next(row for row in made.opdef.kernels if row.language == "c")


def test_text_is_told_from_the_name_of_a_file():
    assert [is_text(text) for text in ("relu.c", "C:\\my ops\\relu.c", "int x;", "f() {}", "a\n")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_a_text_is_known_by_the_line_of_the_python_file_where_it_stands(tmp_path):
    file = tmp_path / "ops.py"
    file.write_text('from tests.backends.c_rows import leaky\nmade = leaky\nSOURCE = """\nint first;\n"""\n')
    made = op("f(Tensor x) -> Tensor y", "{")
    opdef, kernel = row(made)
    there = replace(kernel, source="\nint first;\n", origin=Origin(str(file), 1))
    assert read(opdef, there) == CSource("\nint first;\n", str(file), 3, str(tmp_path))
    elsewhere = replace(there, source="int other;")
    assert (read(opdef, elsewhere).file, read(opdef, elsewhere).line) == ("<C source of t::f>", 1)


def test_a_text_that_was_made_of_another_is_known_by_where_most_of_its_lines_stand(tmp_path):
    lines = ["#include <math.h>", "int halve(double *x) {", "    x[0] = x[0] * HALF;", "    return 0;", "}"]
    file = tmp_path / "ops.py"
    file.write_text("import opsdk\n\nSOURCE = dedent(made(\n" + "\n".join(f"    {line}" for line in lines) + "\n))\n")
    opdef, kernel = row(op("f(Tensor x) -> Tensor y", "{"))
    there = replace(kernel, source="\n".join(lines).replace("HALF", "0.5"), origin=Origin(str(file), 1))
    assert (read(opdef, there).file, read(opdef, there).line) == (str(file), 4)
    other = replace(there, source="int g(void) {\n    return 7;\n}\n")
    assert read(opdef, other).file == "<C source of t::f>"


def test_a_file_is_read_when_the_row_is_launched(tmp_path):
    file = tmp_path / "f.c"
    file.write_text("int32_t f_f32(const DLTensor *x, DLTensor *y) { *OPSDK_DATA(float, y) = 1; return 0; }")
    made = op("f(Tensor x) -> Tensor y", str(file))
    file.write_text("int32_t f_f32(const DLTensor *x, DLTensor *y) { *OPSDK_DATA(float, y) = 2; return 0; }")
    assert made(np.zeros(1, "float32")).tolist() == [2.0]


def test_a_file_that_is_gone_or_no_text_is_an_error(tmp_path):
    file = tmp_path / "f.c"
    file.write_text("")
    made = op("f(Tensor x) -> Tensor y", str(file))
    file.write_bytes(b"\xff")
    with pytest.raises(CompileError, match=r"op 't::f', c kernel: expected to read .*f\.c, got 'utf-8' codec"):
        made(np.zeros(1, "float32"))
    file.unlink()
    with pytest.raises(CompileError, match=r"expected to read .*f\.c, got .*No such file"):
        made(np.zeros(1, "float32"))


def test_the_authors_headers_are_found_where_the_compiler_finds_them(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "a.h").write_text('#include "sub/b.h"\n#include <stdio.h>\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.h").write_text('#include "c.h"\n  #  include "../a.h"\nB\n')
    (tmp_path / "sub" / "c.h").write_text("C\n")
    (tmp_path / "inc" / "d.h").write_text("D\n")
    source = CSource('#include "a.h"\n#include <d.h>\n#include "none.h"\n', "f.c", 1, str(tmp_path))
    text = headers_of(source, [str(tmp_path / "inc")])
    assert [word in text for word in ("B\n", "C\n", "D\n", "stdio.h\n#")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "hides"),
    [
        ('#include "a.h"\n#include <math.h>\n', False),
        ('#define A "a.h"\n#include A\n', True),
        ("%:include <a.h>\n", True),
        ('__asm__(".incbin \\"t.bin\\"");\n', True),
        ("#embed <t.bin>\n", True),
        ("#include <b.h>\n", True),
    ],
)
def test_a_source_hides_files_that_its_text_does_not_name(tmp_path, text, hides):
    (tmp_path / "b.h").write_text("#include B\n")
    assert hides_files(CSource(text, "f.c", 1, ""), [str(tmp_path)]) is hides


def test_the_unit_begins_with_its_place():
    assert CSource("int x;", 'a"b\\c.c', 7, "").unit == '#line 7 "a\\"b\\\\c.c"\nint x;\n'
    assert line_directive(1, "f.c") == '#line 1 "f.c"\n'


def test_the_header_stands_beside_the_code():
    from opsdk.backends.c.source import HEADER

    assert Path(HEADER).name == "opsdk.h"
    assert "typedef struct" in HEADER.read_text()


PLAIN = "void f_f32(const DLTensor *x, DLTensor *const *ys) { if (x->shape[0] == 2 && x->ndim >= 1) return; }"


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (PLAIN, True),
        (f"/* a DLTensor view; is made */ // shape[0] = 1\n{PLAIN}", True),
        ("static int n(const DLTensor *t);", True),
        ("DLTensor view = *x;", False),
        ("typedef DLTensor T;", False),
        ("#define T DLTensor\n", False),
        ("DLTensor *t = malloc(sizeof(DLTensor));", False),
        ("DLTensor *t = f(sizeof *t);", False),
        ("__typeof__(*x) view = *x;", False),
        ("y->shape[0] = 3;", False),
        ("y->shape = dims;", False),
        ("y->ndim -= 1;", False),
        ("y->shape[d]++;", False),
        ("--y->ndim;", False),
    ],
)
def test_shapes_stay_where_a_text_makes_no_tensor_and_changes_none(text, stays):
    assert shapes_stay(text) is stays


TEXT = """
# 1 "/usr/include/stdint.h" 1 3
typedef int int32_t;
# 5 "relu.c" 2
int32_t relu_f32(const int *x, double (*f)(double));
static inline int helper(int a) { return relu_f32(0, 0); }
__attribute__((visibility("default"), optimize("O2"))) void
relu_f32 (const int *x,
          double (*f)(double)) {
  if (relu_f64(x)) { }
}
static int32_t relu_i32(int x) { return 0; } const char *message(int s) { return "{"; }
"""


def test_definitions_are_told_from_declarations_and_calls():
    found = definitions(TEXT, ["relu_f32", "relu_f64", "relu_i32", "message"])
    assert list(found) == ["relu_f32", "relu_i32", "message"]


def test_the_return_type_is_void_or_a_status():
    found = definitions(TEXT, ["relu_f32", "relu_i32"])
    assert (found["relu_f32"].returns, found["relu_i32"].returns) == ("void", "int32_t")


def test_static_functions_are_marked():
    found = definitions(TEXT, ["relu_f32", "relu_i32"])
    assert (found["relu_f32"].static, found["relu_i32"].static) == (False, True)


def test_the_text_is_the_declaration_on_one_line():
    found = definitions(TEXT, ["relu_f32", "message"])
    assert found["relu_f32"].text == "void relu_f32 (const int *x, double (*f)(double))"
    assert found["message"].text == "const char * message(int s)"


def test_a_pointer_to_void_is_no_void():
    assert definitions("void *f(int x) { return 0; }", ["f"])["f"].returns == "int32_t"


def test_a_text_that_ends_within_brackets_has_no_definition():
    assert definitions("int f(int x", ["f"]) == {}


def test_the_functions_of_a_source_are_named_for_a_message():
    source = '#include "a.h"\n/* int no(void) {} */\n// int no2() {}\n'
    source += "int a(int x) { if (x) { b(x); } return c(x); }\nvoid d(){}"
    assert names_defined(source) == ("a", "d")


F32, F64 = np.dtype("float32"), np.dtype("float64")


@pytest.fixture
def missing(tmp_path):
    """Says what a source lacks for a dtype."""

    @opsdk.op(namespace="tests")
    def twice(x):
        return 2 * x

    def ask(source, dtype):
        return missing_function(twice.opdef, Kernel(KernelKey("cpu"), "c", source, twice.opdef.origin), dtype)

    yield ask
    assert "tests::twice" in REGISTRY


SOURCE = "#include <opsdk.h>\nvoid twice_f32(const DLTensor *x, DLTensor *y) { helper(x); }\n"


def test_a_function_that_is_there_is_not_missing(missing):
    assert missing(SOURCE, F32) == ""


def test_a_function_that_is_not_there_is_named_with_those_that_are(missing):
    assert missing(SOURCE, F64) == "its source has no function twice_f64; there are twice_f32"


@pytest.mark.parametrize("line", ['#include "more.h"\n', "#define NAME(s) twice_##s\n"])
def test_what_only_the_preprocessor_sees_is_not_called_missing(missing, line):
    assert missing(line + SOURCE, F64) == ""


def test_a_file_is_read_and_one_that_is_gone_is_what_is_wrong(missing, tmp_path):
    file = tmp_path / "rows.c"
    file.write_text(SOURCE)
    assert missing(str(file), F32) == ""
    file.unlink()
    assert "expected to read" in missing(str(file), F32)
