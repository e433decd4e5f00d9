"""Lines of a C source that no call reached, also of functions that a macro of several lines makes."""

import shutil

import numpy as np
import pytest

import opsdk
from opsdk.backends.c import coverage
from opsdk.backends.c.coverage import expanded, reached_lines
from opsdk.core.errors import CompileError

SOURCE = """
static double large(double v) {
  return v > 100 ? 100 : v;
}
#define DEFINE(T, suffix)                                    \\
  int32_t f_##suffix(const DLTensor *x, DLTensor *y) {       \\
    const T *in = OPSDK_DATA(const T, x);                    \\
    for (int64_t i = 0; i < opsdk_size(x); ++i) {            \\
      T v = in[i];                                           \\
      if (v > 10)                                            \\
        v = (T)large(v);                                     \\
      if (v != v)                                            \\
        return 7;                                            \\
      OPSDK_DATA(T, y)[i] = v;                               \\
    }                                                        \\
    return 0;                                                \\
  }

DEFINE(float, f32)
DEFINE(double, f64)
"""


@pytest.fixture
def define_from(tmp_path):
    """Defines an op with a C kernel from the text of a file."""

    def define(text, *dtypes):
        (tmp_path / "f.c").write_text(text)
        op = opsdk.op(name="f", namespace="planted")(lambda x: np.minimum(x, 100))
        op.kernel("cpu", language="c", dtype=dtypes or "float64", source=str(tmp_path / "f.c"))
        return op.opdef

    return define


@pytest.fixture
def clipped(define_from):
    return define_from(SOURCE, "float32", "float64")


def lines(opdef, *inputs):
    kernel = list(opdef.kernels)[1]
    counted = reached_lines(opdef, kernel, [([np.array(each)], {}) for each in inputs])
    return [line for (_, line, _), is_reached in counted.items() if not is_reached]


def test_lines_are_told_by_their_number_in_the_macro_whichever_dtype_reached_them(clipped):
    assert lines(clipped, [1.0]) == [11, 13]
    assert lines(clipped, [1.0], [20.0]) == [13]
    assert lines(clipped, [20.0], [np.nan]) == []


def test_a_macro_is_written_out_with_what_it_was_given():
    text = "#define F(T, name) \\\n  T a_##name; \\\n  T b;\nF(int, x)\nF(nested(1), x)\nint c;"
    assert expanded(text, 1, "f.c").split("\n") == [
        *("#define F(T, name) \\", "  T a_##name; \\", "  T b;"),
        *('#line 1 "f.c"', "", "  int a_x;", "  int b;", '#line 5 "f.c"'),
        *("F(nested(1), x)", "int c;"),
    ]


def test_without_a_reader_of_counts_it_is_said(clipped, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CompileError, match="expected gcov, which counts lines, got none; it comes with gcc"):
        lines(clipped, [1.0])


def test_counts_that_cannot_be_read_are_said(clipped, monkeypatch):
    monkeypatch.setattr(coverage, "_READER", "true")
    with pytest.raises(
        CompileError, match="expected counts of lines that true can read, got none; use gcc and its own"
    ):
        lines(clipped, [1.0])


def test_counts_of_lines_that_the_source_does_not_have_are_said(define_from):
    op = define_from("#line 500\nint32_t f_f64(const DLTensor *x, DLTensor *y) {\n  return 0;\n}\n")
    told = r"expected counts of the 4 lines of .*f\.c, got one of line 50[012]; take out what numbers lines otherwise"
    with pytest.raises(CompileError, match=told):
        lines(op, [1.0])
