"""Kernels of a backward that leave their arrays are named before they run where that would end the process."""

import pytest

from opsdk.verify import verify

_SOURCE = """
int32_t f_grad_f64(const DLTensor *x, const DLTensor *dy, DLTensor *dx) {
  const int64_t n = opsdk_size(x);
  for (int64_t i = 0; i < n; ++i)
    OPSDK_DATA(double, dx)[i] = 2 * OPSDK_DATA(const double, x)[i] * OPSDK_DATA(const double, dy)[i];
  for (int64_t i = 0; i < 9; ++i) OPSDK_DATA(double, dx)[n + i] = 1e300;
  return 0;
}
"""


def test_a_gradient_kernel_in_c_that_writes_behind_its_output_is_a_finding_and_ends_nothing(define):
    pytest.importorskip("cffi")
    op = define(lambda x: x * x, lambda x, dy: 2 * x * dy)
    op.grad.kernel("cpu", language="c", dtype="float64", source=_SOURCE)
    report = verify(op)
    assert report.findings[0].message.startswith(
        "op 'planted::f_grad', kernel c (cpu, float64): expected it to stay inside its arrays at sample "
    )
    assert "it wrote index 15 of output 'dx', which has 15 elements" in report.findings[0].message
    assert {one.check for one in report.findings} == {"bounds"}
