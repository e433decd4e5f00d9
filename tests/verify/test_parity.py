"""What `verify` finds on tensors and in Programs, which know none of the sizes, that bare arrays do not show."""

import numpy as np

import opsdk
from opsdk.verify import verify


def rows(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), reason="matrix")


def per_row(x):
    return opsdk.TensorSpec(x.shape[:-1], x.dtype)


def of_rows(define, body):
    op = define(body, composite=True)
    op.infer(per_row)
    op.samples(rows)
    return op


def test_a_composite_that_computes_with_a_size_is_noted_to_need_known_ones(define):
    report = verify(of_rows(define, lambda x: x.sum(axis=-1) / x.shape[-1]))
    noted = "planted::f: in a Program it needs known sizes: size 1 of 'in0': expected a number"
    assert any(note.startswith(noted) for note in report.coverage.notes)


def test_a_composite_that_makes_a_number_of_an_inner_open_size_is_found(define):
    report = verify(of_rows(define, lambda x: x.sum(axis=-1) / int(str(x.shape[-1]))))
    assert {finding.check for finding in report.findings} == {"static.y", "static.dx"}


def test_a_composite_that_leaves_sizes_to_ops_needs_none(define):
    report = verify(of_rows(define, lambda x: x.mean(axis=-1) + 0.0))
    assert report.verdict == "pass"
    assert not any("needs known sizes" in note for note in report.coverage.notes)


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
