"""What is told of a gradient beside its numbers: why it is not judged, what is undecided, what a wrong dtype hides."""

import numpy as np

import opsdk
from opsdk.verify import derivative, verify
from opsdk.verify.inputs.calls import Call


def test_a_wrong_dtype_hides_no_factor(define):
    report = verify(define(lambda x: x * x, lambda x, dy: (4 * x * dy).astype("float32")))
    first, second, *_ = report.findings
    assert (first.check, first.code) == ("vjp.x", "OP202")
    assert second.check == "vjp.x.value"
    assert second.cause.startswith("yours is 2.0000000")


def test_a_factor_of_two_kernels_is_told_from_the_one_in_float64(define):
    op = define(lambda x: x * x * x, lambda x, dy: 3 * x * x * dy)
    for dtype in ("float32", "float64"):
        op.grad.kernel("cpu", lambda x, dy: 6 * x * x * dy, language="numpy", dtype=dtype)
    gradient = next(one for one in verify(op).findings if one.check == "vjp.x")
    assert gradient.row == "cpu,float64,numpy"
    assert gradient.cause == "yours is 2 times the derivative everywhere: a constant factor"


def test_an_input_without_a_derivative_is_not_asked_for_one_where_no_output_has_a_cotangent():
    op = opsdk.op("f(Tensor x) -> Tensor y", namespace="planted", nondifferentiable=["x", "y"])(lambda x: np.ceil(x))
    report = verify(op)
    assert report.findings == ()
    assert "planted::f: carries no gradient, y declared nondifferentiable" in report.coverage.notes


def test_a_real_gradient_of_complex_outputs_is_said_to_be_refused_and_what_to_declare():
    op = opsdk.op("f(Tensor<float> x) -> Tensor<complex> y", namespace="planted", infer=lambda x: _complex(x))(
        lambda x: x * np.asarray(1j).astype(_complex(x).dtype)
    )
    op.backward(lambda dy: dy.imag.copy())
    (told, *_) = verify(op).coverage.skipped
    assert "complex outputs are not judged, as they are refused: its backward says nothing of them; " in told
    assert "@f.backward(complex=True) declares" in told


def _complex(x):
    return opsdk.TensorSpec(x.shape, "complex64" if x.dtype == "float32" else "complex128")


def test_elements_that_nobody_could_judge_are_told_though_the_others_pass(define):
    op = define(lambda x: np.round(x * 1e9) * 1e-9, lambda dy: dy * 1.0)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 4)), reason="stairs too fine to see")])
    report = verify(op)
    assert report.verdict == "pass"
    (told,) = report.coverage.inconclusive
    assert "vjp at (float64(3, 4)) stairs too fine to see: " in told
    assert "elements, error bar too wide to judge" in told


def test_one_element_that_nobody_could_judge_is_one(define):
    op = define(lambda x: np.where(x > 5, np.round(x * 1e9) * 1e-9, x), lambda dy: dy * 1.0)
    op.samples(lambda rng: [opsdk.Sample(np.array([1.0, 7.0]), reason="a stair")])
    (told,) = verify(op).coverage.inconclusive
    assert told.endswith("a stair: 1 element, error bar too wide to judge")


def test_a_size_that_jumps_with_the_values_is_undecided_where_the_rule_leaves_it_open_and_no_fault():
    schema = "f(Tensor x) -> Tensor y"
    op = opsdk.op(schema, namespace="planted", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))(lambda x: x[x > 0])

    @op.backward
    def f_grad(x, dy):
        made = np.zeros_like(x)
        made[x > 0] = dy
        return made

    op.samples(lambda rng: [opsdk.Sample(np.array([1.0, -1.0, 0.0, 2.0, 1e-12, 3.0]), reason="one at the edge")])
    report = verify(op)
    assert report.findings == ()
    (told,) = report.coverage.inconclusive
    assert "expected one output shape, got [(3,)] after a small step, [(4,)] before" in told


def test_what_it_sees_down_to_is_that_of_its_samples_and_not_of_great_numbers(monkeypatch):
    far = Call([np.full(3, 30.0)], {}, "great", False, extra=True)
    monkeypatch.setattr(derivative, "special_calls", lambda *_: [far])
    op = opsdk.op("f(Tensor x) -> Tensor y", namespace="planted")(lambda x: 1 + np.exp(-x * x / 33))
    op.backward(lambda x, dy: -dy * np.exp(-x * x / 33) * x / 16.5)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 4)), reason="a matrix")])
    report = verify(op)
    assert report.verdict == "pass"
    assert max(row.sees_down_to for row in report.rows if row.sees_down_to is not None) < 1e-7
