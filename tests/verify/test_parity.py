"""What `verify` finds on tensors and in Programs, which know none of the sizes, that bare arrays do not show."""

import numpy as np
import pytest

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


PICK_GRAD = """
int32_t pick_grad_f64(const DLTensor *index, const DLTensor *dy, DLTensor *dsrc, const DLTensor *src_spec) {
  double *out = OPSDK_DATA(double, dsrc);
  for (int64_t i = 0; i < opsdk_size(dsrc); ++i) out[i] = 0;
  for (int64_t i = 0; i < opsdk_size(dy); ++i)
    out[OPSDK_DATA(const int64_t, index)[i]] += OPSDK_DATA(const double, dy)[i];
  return 0;
}
"""


@pytest.fixture
def pick():
    """An op whose backward is in C for int64 indices and float64 alone."""
    pytest.importorskip("cffi")

    @opsdk.op(
        "t::pick(Tensor src, Tensor<int> index) -> Tensor y",
        infer=lambda src, index: opsdk.TensorSpec(index.shape, src.dtype),
        domain={"index": opsdk.domain.positions(of="src")},
    )
    def pick(src, index):
        return src[index]

    @pick.backward
    def pick_grad(src_spec, index, dy):
        return opsdk.sum_at(dy, index, src_spec.shape[0])

    pick.grad.kernel("cpu", language="c", dtypes={"index": "int64"}, source=PICK_GRAD)
    return pick


def test_a_sample_of_the_author_that_has_no_gradient_on_tensors_is_a_finding(pick):
    @pick.samples
    def pick_samples(rng):
        yield opsdk.Sample(rng.normal(size=4), np.array([1, 1, 3]), reason="int64")
        yield opsdk.Sample(rng.normal(size=4), np.array([1, 1, 3], "int32"), reason="int32")

    report = opsdk.verify(pick)
    first = report.findings[0]
    assert (first.check, first.code) == ("dynamic", "OP220")
    refused = "op 't::pick_grad', c kernel: input 'index' expected int64, got int32; cast it"
    assert first.message == (
        "op 't::pick', on tensors: sample (float64(4,), int32(3,)) int32 expected to run as on arrays, raised "
        f"KernelNotFoundError: {refused}"
    )


def test_a_dtype_that_only_verify_tries_may_be_refused_by_a_compiled_backward(pick):
    sample = opsdk.Sample(np.arange(4.0), np.array([1, 1, 3]))
    report = opsdk.verify(pick, samples=[sample])
    assert report.verdict == "pass"
    assert any("no function pick_grad_f32 for float32" in text for text in report.coverage.skipped)


PRODUCT = """
int32_t NAME_f64(const DLTensor *x, const DLTensor *dy, DLTensor *dx) {
  for (int64_t i = 0; i < opsdk_size(dx); ++i)
    OPSDK_DATA(double, dx)[i] = 2 * OPSDK_DATA(const double, x)[i] * OPSDK_DATA(const double, dy)[i];
  return 0;
}
"""


def product(x, dy):
    return x * 0.1 * dy * 20.0


def rounded_by_kernel(op):
    pytest.importorskip("cffi")
    op.kernel("cpu", language="c", dtype="float64", source=PRODUCT.replace("NAME", op.opdef.schema.name))
    return op


def square(backward):
    op = opsdk.op("t::square(Tensor x) -> Tensor y", infer=lambda x: x)(lambda x: x * x)
    op.backward(composite=True)(backward)
    op.samples(rows)
    return op


def test_a_kernel_beside_a_composite_backward_may_round_otherwise():
    op = square(product)
    rounded_by_kernel(op.grad)
    report = opsdk.verify(op)
    assert report.verdict == "pass", str(report)


def test_a_kernel_beside_a_composite_op_may_round_otherwise():
    op = rounded_by_kernel(opsdk.op("t::product(Tensor x, Tensor dy) -> Tensor dx", composite=True)(product))
    op.samples(lambda rng: [opsdk.Sample(*rng.normal(size=(2, 3, 5)))])
    report = opsdk.verify(op)
    assert report.verdict == "pass", str(report)


def test_a_composite_backward_that_gives_other_numbers_when_it_is_recorded_is_found():
    op = square(lambda x, dy: x * dy * (2.0 if x.stop_gradient else 2.0 + 1e-9))
    assert "recorded.dx" in {finding.check for finding in opsdk.verify(op).findings}
