import numpy as np
import pytest

import opsdk
from opsdk.backends.c.row import launch_into

pytest.importorskip("cffi")

LOOP = """
#define ROW(T, s) int32_t f_##s(const DLTensor *x, DLTensor *y) { \\
  const T *in = OPSDK_DATA(const T, x); T *out = OPSDK_DATA(T, y); const int64_t n = opsdk_size(x); \\
  BODY \\
  return 0; }
ROW(float, f32)
ROW(double, f64)
"""


def row(body, **options):
    @opsdk.op("t::f(Tensor x) -> Tensor y")
    def f(x):
        return x * 2

    f.kernel("cpu", language="c", source=LOOP.replace("BODY", body), **options)
    return f


def checks(body, **options):
    report = opsdk.verify(row(body, **options))
    assert all(finding.row.endswith(",c") for finding in report.findings)
    return {finding.check for finding in report.findings}


GOOD = "for (int64_t i = 0; i < n; ++i) out[i] = in[i] * 2;"


def test_a_good_row_passes_and_its_bounds_were_tried():
    report = opsdk.verify(row(GOOD))
    assert (report.verdict, report.findings) == ("pass", ())
    lines = [line for line in report.rows if line.row.endswith(",c")]
    assert [line.row for line in lines] == ["cpu,float64,c", "cpu,float32,c"]
    assert all({"bounds", "runs", "mutation"} <= set(line.passed) for line in lines)
    assert "layout" in lines[0].passed


def test_a_row_that_writes_behind_its_output_is_found():
    assert checks("for (int64_t i = 0; i <= n; ++i) out[i] = in[i % (n ? n : 1)] * 2;") == {"bounds"}


def test_a_row_that_writes_before_its_output_is_found():
    assert checks(f"{GOOD} out[-1] = 0;") == {"bounds"}


def test_a_row_that_leaves_an_element_is_found():
    assert "value.y" in checks("for (int64_t i = 0; i + 1 < n; ++i) out[i] = in[i] * 2;")


def test_a_row_with_wrong_values_is_found():
    assert "value.y" in checks("for (int64_t i = 0; i < n; ++i) out[i] = in[i] * (i == 4 ? 3 : 2);")


def test_a_row_that_changes_its_input_is_found():
    body = f"{GOOD} if (n) ((T *)x->data)[0] = 7;"
    assert any(check.startswith("mutation") for check in checks(body))


def test_a_row_that_asked_for_arrays_as_they_lie_and_ignores_strides_is_found():
    assert any(check.startswith("layout") for check in checks(GOOD, contiguous=False))


def test_a_row_without_a_function_for_a_dtype_is_skipped_with_a_word():
    @opsdk.op("t::g(Tensor x) -> Tensor y")
    def g(x):
        return x * 2

    @g.backward
    def g_grad(dy):
        return dy * 2

    source = "void {0}_f32(const DLTensor *x, DLTensor *y) {{ for (int64_t i = 0; i < opsdk_size(x); ++i)"
    source += " OPSDK_DATA(float, y)[i] = OPSDK_DATA(float, x)[i] * 2; }}"
    for each, name in ((g, "g"), (g_grad, "g_grad")):
        each.kernel("cpu", language="c", source=source.format(name))
    report = opsdk.verify(g)
    assert report.findings == ()
    verdicts = {line.row: line.verdict for line in report.rows if line.op == "t::g" and line.row.endswith(",c")}
    assert verdicts == {"cpu,float64,c": "skipped", "cpu,float32,c": "pass"}
    assert any("no function g_f64 for float64; there are g_f32" in entry for entry in report.coverage.skipped)


def test_a_wrong_gradient_row_is_found():
    @opsdk.op("t::h(Tensor x) -> Tensor y")
    def h(x):
        return x * 2

    @h.backward
    def h_grad(dy):
        return dy * 2

    source = "void h_grad_f64(const DLTensor *x, DLTensor *y) { for (int64_t i = 0; i < opsdk_size(x); ++i)"
    h_grad.kernel("cpu", language="c", source=f"{source} OPSDK_DATA(double, y)[i] = OPSDK_DATA(double, x)[i] * 3; }}")
    assert opsdk.verify(h).verdict == "fail"


def test_a_launch_fills_memory_that_is_made_for_it():
    made = row(GOOD)
    kernel = next(each for each in made.opdef.kernels if each.language == "c")
    lent = []

    def empty(shape, dtype):
        lent.append(np.full(shape, 5, dtype))
        return lent[-1]

    y = launch_into(made.opdef, kernel, empty)(np.array([1.0, 2.0]))
    assert y is lent[0]
    assert y.tolist() == [2.0, 4.0]


def test_a_row_that_refuses_its_inputs_is_not_taken_for_one_that_leaves_its_arrays():
    assert {finding.check for finding in opsdk.verify(row("return 1;")).findings} >= {"runs"}
