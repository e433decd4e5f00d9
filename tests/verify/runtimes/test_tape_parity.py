"""What `verify` finds on tensors that bare arrays do not show."""

import numpy as np

import opsdk

SCALE = np.sqrt(2 / np.pi)  # a NumPy scalar, which is float64 and makes float32 arrays float64


def test_a_backward_that_gives_float64_for_float32_is_found():
    @opsdk.op("t::scaled(Tensor x) -> Tensor y")
    def scaled(x):
        return x * float(SCALE)

    @scaled.backward
    def scaled_grad(dy):
        return dy * SCALE

    report = opsdk.verify(scaled)
    assert {(finding.check, finding.row) for finding in report.findings} == {("dynamic", "cpu,float32,numpy")}
    assert "gradient of 'x': expected float32 like x, got float64; cast it with .astype('float32')" in str(report)


def test_an_op_that_takes_float64_only_is_not_asked_for_float32():
    @opsdk.op("t::exact(Tensor x) -> Tensor y")
    def exact(x):
        if x.dtype != np.float64:
            raise ValueError("float64 expected")
        return x * 2

    @exact.backward
    def exact_grad(dy):
        return dy * 2.0

    assert opsdk.verify(exact).verdict == "pass"
