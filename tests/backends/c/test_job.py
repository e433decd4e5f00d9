from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk.backends.cache.store import cache_info
from opsdk.core.errors import BindingError, CompileError
from opsdk.core.origin import shorten
from tests.backends.c_rows import nothing, op

X = np.ones(2, "float32")
TAKES = "const DLTensor *x, DLTensor *y"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path / "cache"))


def f(source, **options):
    return op("f(Tensor x) -> Tensor y", source, **options)


def refusal(source, error=CompileError, **options):
    made = f(source, **options)
    with pytest.raises(error) as caught:
        made(X)
    again = f(source, **options)
    with pytest.raises(error) as second:
        again(X)
    assert str(second.value) == str(caught.value)
    return caught.value


def notes(error):
    return {note.split()[0]: note.strip().partition(" ")[2].strip() for note in error.__notes__}


def test_the_first_error_of_the_compiler_is_told_at_the_authors_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "f.c"
    file.write_text(f"#include <math.h>\n\n{nothing('f', TAKES, body='float u = tanhff(1); return undeclared;')}")
    error = refusal(str(file))
    assert str(error).startswith(
        "op 't::f', c kernel: does not compile, f.c:3: implicit declaration of function 'tanhff'; did you mean 'tanhf'?"
    )
    assert "mend that line" not in str(error)  # the compiler says better
    assert error.code == "OP401"
    assert notes(error)["at"].startswith("f.c:3 | int32_t f_f32(const DLTensor *x, DLTensor *y) { float u = tanhff(1);")
    assert "'undeclared' undeclared" in notes(error)["because"]
    assert compiled() == 0


def test_an_error_in_a_text_is_told_at_the_line_of_the_python_file():
    made = f("{")
    made.kernel(
        "cpu",
        language="c",
        source="""
        int32_t f_f32(const DLTensor *x, DLTensor *y) {
            return missing;  // the line that is asked for
        }
        """,
        replace=True,
    )
    with pytest.raises(CompileError, match="'missing' undeclared") as caught:
        made(X)
    lines = Path(__file__).read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.endswith("  // the line that is asked for"))
    assert notes(caught.value)["at"] == f"{shorten(__file__)}:{line} | return missing;  // the line that is asked for"


def test_a_text_that_stands_in_no_file_is_called_by_its_op():
    error = refusal("\n\n" + nothing("f", TAKES, body="return missing;"))
    assert str(error) == (
        "op 't::f', c kernel: does not compile, <C source of t::f>:3: 'missing' undeclared (first use in this "
        "function); "
        "mend that line"
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return no_such_function(1);", "implicit declaration of function 'no_such_function'"),
        ("float *p = 3; return 0;", "makes pointer from integer without a cast"),
        ("float *p = OPSDK_DATA(double, x); return 0;", "from incompatible pointer type 'double *'"),
        ("return 0", "expected ';' before '}' token; mend that line, or the one before it"),
    ],
)
def test_what_c_lets_pass_and_what_then_crashes_is_an_error(body, said):
    assert said in str(refusal(nothing("f", TAKES, body=body)))


def test_a_function_that_no_library_has_is_an_error():
    source = "int elsewhere(void);\n" + nothing("f", TAKES, body="return elsewhere();")
    assert str(refusal(source)) == (
        "op 't::f', c kernel: does not compile, undefined reference to `elsewhere'; define it in the source, or name "
        "the "
        "library that has it: libraries=, library_dirs="
    )


def test_a_library_that_is_not_there_is_an_error():
    error = refusal(nothing("f", TAKES), libraries=["no_such_library"])
    assert str(error).startswith("op 't::f', c kernel: does not compile, cannot find -lno_such_library")


def test_a_header_that_is_not_there_is_an_error(tmp_path):
    error = refusal(f'#include "no_such.h"\n{nothing("f", TAKES)}')
    assert str(error).endswith(
        "<C source of t::f>:1: no_such.h: No such file or directory; mend its name, or name its folder: include_dirs="
    )


EXPECTED = "int32_t f_f32(const DLTensor *x, DLTensor *y)"


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("int32_t f_f32(const DLTensor *x)", "return 0;"),
        ("int32_t f_f32(const DLTensor *x, const DLTensor *y)", "return 0;"),
        ("int32_t f_f32(const float *x, float *y)", "return 0;"),
        ("double f_f32(const DLTensor *x, DLTensor *y)", "return 0;"),
        ("int64_t f_f32(const DLTensor *x, DLTensor *y)", "return 0;"),
        ("int32_t f_f32(const DLTensor *x, DLTensor *y, double slope)", "return 0;"),
        ("int32_t f_f32(void)", "return 0;"),
    ],
)
def test_a_function_of_another_type_than_the_schemas_is_refused(declared, body):
    error = refusal(f"{declared} {{ {body} }}", BindingError)
    assert str(error).startswith(f"op 't::f', c kernel: expected {EXPECTED}, got ")
    # The preprocessor has put types in the place of nothing here, so the text is the author's.
    assert str(error).endswith(f", got {declared}")
    assert notes(error)["at"] == "<C source of t::f>:1"
    assert notes(error)["help"] == f"{EXPECTED} {{ ... }}"
    assert notes(error)["because"] == "the schema is t::f@1(Tensor x) -> Tensor y"


def test_functions_that_a_macro_makes_are_compared_too():
    source = "#define F(s) int32_t f_##s(const DLTensor *x) { return 0; }\nF(f64)\n"
    error = refusal(source, BindingError)
    assert "expected int32_t f_f64(const DLTensor *x, DLTensor *y), got int32_t f_f64(const DLTensor *x)" in str(error)


def test_a_message_function_of_another_type_is_refused():
    source = nothing("f", TAKES) + "int opsdk_message(int32_t status) { return status; }"
    error = refusal(source, BindingError)
    assert "expected const char *opsdk_message(int32_t status), got int opsdk_message(int32_t status)" in str(error)


def test_a_source_without_the_function_is_told_which_it_has():
    error = refusal("int32_t ff_f32(int x) { return 0; }\nvoid g(void) {}", BindingError)
    assert str(error) == (
        f"op 't::f', c kernel: expected a function {EXPECTED}, got none called f_f32 and the like; the source defines "
        "ff_f32, g"
    )


def test_the_function_that_a_row_for_one_dtype_lacks_is_of_that_dtype():
    with pytest.raises(BindingError, match=r"expected a function int32_t f_f64\(const DLTensor \*x"):
        f("int x;", dtype="float64")(X.astype("float64"))


def test_a_static_function_is_refused():
    error = refusal("static " + nothing("f", TAKES), BindingError)
    assert str(error) == (
        "op 't::f', c kernel: function f_f32 is static, expected one that can be called from outside; leave out the "
        "word"
    )


def test_typedefs_of_the_same_types_are_the_same():
    source = "typedef const DLTensor *In; typedef int status;\nstatus f_f32(In x, DLTensor *y) { return 0; }"
    f(source)(X)


def test_the_header_may_be_included():
    f('#include "opsdk.h"\n#include <stdint.h>\n' + nothing("f", TAKES))(X)


def compiled():
    """Counts what the cache has of libraries and their interfaces."""
    return len(cache_info().kinds.get("c", ()))


def fresh(tmp_path, **options):
    """Gives an op whose source no other test has, so that nothing has opened its library."""
    return f(f"// {tmp_path}\n{nothing('f', TAKES)}", **options)


def test_a_source_is_compiled_once(tmp_path):
    fresh(tmp_path)(X)
    files = compiled()
    fresh(tmp_path)(X)
    assert (files, compiled()) == (2, 2)


CHANGES = [{"define": {"A": 1}}, {"flags": ["-O1"]}, {"openmp": True}, {"include_dirs": ["x"]}]


@pytest.mark.parametrize("change", CHANGES)
def test_another_option_is_another_library(change, tmp_path):
    fresh(tmp_path)(X)
    fresh(tmp_path, **change)(X)
    assert compiled() == 4


def test_another_compiler_is_another_library(tmp_path, monkeypatch):
    fresh(tmp_path)(X)
    wrapper = tmp_path / "mycc"
    wrapper.write_text('#!/bin/sh\nexec cc "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("OPSDK_CC", f"{wrapper} -O1")
    fresh(tmp_path)(X)
    assert compiled() == 4


def test_a_header_of_the_author_that_changes_is_another_library(tmp_path):
    (tmp_path / "two.h").write_text("#define TWO 2\n")
    source = nothing("f", TAKES, body="*OPSDK_DATA(float, y) = TWO; return 0;")
    (tmp_path / "f.c").write_text(f'#include "two.h"\n{source}')
    assert f(str(tmp_path / "f.c"))(X)[0] == 2.0
    (tmp_path / "two.h").write_text("#define TWO 3\n")
    assert f(str(tmp_path / "f.c"))(X)[0] == 3.0


def test_options_reach_the_compiler(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "two.h").write_text("#define TWO 2\n")
    source = "#include <two.h>\n" + nothing("f", TAKES, body="*OPSDK_DATA(float, y) = TWO * A * B; return 0;")
    made = f(source, include_dirs=[tmp_path / "inc"], define={"A": 3}, flags=["-DB=5", "-lm"], libraries=["m"])
    assert made(X)[0] == 30.0


def test_a_row_of_opsdks_own_op_may_be_added():
    before = list(opsdk.tanh.opdef.kernels)
    try:
        source = nothing("tanh", TAKES, body="*OPSDK_DATA(float, y) = 7; return 0;")
        opsdk.tanh.kernel("cpu", language="c", source=source)
        assert opsdk.tanh(X)[0] == 7.0
    finally:
        opsdk.tanh.opdef.kernels.restore(before)


def test_a_function_of_the_source_is_that_one_and_not_that_of_a_library_of_the_process():
    # libm, which Python has loaded, has a function `gamma`, and libc a variable `timezone`
    source = "double gamma(double x) { return 2 * x; }\nint64_t timezone = 3;\n"
    body = "*OPSDK_DATA(float, y) = (float)gamma(1.5) + timezone; return 0;"
    assert f(source + nothing("f", TAKES, body=body))(X)[0] == 6.0
