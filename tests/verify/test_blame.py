"""Of a wrong gradient and a kernel that differs from the reference, the one that is the cause comes first."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.call.language import LANGUAGES, PyFunc
from opsdk.verify import render_text, verify


@pytest.fixture(autouse=True)
def _spoken(monkeypatch):
    spoken = PyFunc("spoken")
    monkeypatch.setitem(LANGUAGES, ("spoken", "cpu", spoken.form), spoken)


def weighted(forward, backward):
    """Registers an op of x and a constant w whose gradient is the op itself, on the cotangent."""
    op = opsdk.op("f(Tensor x, Tensor w) -> Tensor y", namespace="planted", constant=["w"])(forward)
    op.backward(lambda w, dy: backward(op, w, dy))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=4), rng.uniform(1, 2, size=4), reason="a vector")])
    return op


def test_a_kernel_that_the_backward_calls_is_named_before_the_gradient_that_follows_from_it():
    op = weighted(lambda x, w: x * w, lambda op, w, dy: op(dy, w))
    op.kernel("cpu", language="spoken", dtype=("float32", "float64"))(lambda x, w: x * w + 0.5 * x)
    report = verify(op)
    first, second = report.findings
    assert (first.check, first.row) == ("value.y", "cpu,float64,spoken")
    assert second.check == "vjp.x"
    told = "right without the spoken kernel of op 'planted::f', which it calls; mend that first"
    assert second.compare == told
    assert "the reference kernel passes" not in render_text(report)


def test_a_backward_that_is_wrong_by_itself_is_not_put_down_to_the_kernel_that_it_calls():
    op = weighted(lambda x, w: x * w, lambda op, w, dy: 2 * op(dy, w))
    op.kernel("cpu", language="spoken", dtype=("float32", "float64"))(lambda x, w: x * w + 0.5 * x)
    first, second = verify(op).findings
    assert (first.check, second.check) == ("value.y", "vjp.x")
    assert second.compare == second.help == ""


def test_a_reference_that_differs_from_its_own_gradient_is_named_before_a_kernel_that_does_not():
    op = weighted(lambda x, w: x * w + 0.5 * x, lambda op, w, dy: dy * w)
    op.kernel("cpu", language="spoken", dtype=("float32", "float64"))(lambda x, w: x * w)
    first, second = verify(op).findings
    assert (first.check, first.row) == ("vjp.x", "cpu,float64,numpy")
    assert "right for the spoken kernel, which the reference differs from: look at the forward too" in first.help
    told = "the gradient of 'x' is right for this kernel, and wrong for the reference; look at that first"
    assert (second.check, second.compare) == ("value.y", told)


def test_a_kernel_beside_a_right_reference_is_alone_in_its_fault():
    op = weighted(lambda x, w: x * w, lambda op, w, dy: dy * w)
    op.kernel("cpu", language="spoken", dtype=("float32", "float64"))(lambda x, w: x * w + 0.5 * x)
    report = verify(op)
    assert [one.check for one in report.findings] == ["value.y"]
    assert "compare  the reference kernel passes; only this kernel is wrong" in render_text(report)
    assert len(list(op.opdef.kernels)) == 3


def test_a_gather_whose_backward_assigns_is_told_by_its_gradient_and_not_by_the_layout_of_memory():
    op = opsdk.op(
        "take(Tensor<float> x, Tensor<int> index) -> Tensor y",
        namespace="planted",
        infer=lambda x, index: opsdk.TensorSpec((x.shape[0], index.shape[1]), x.dtype),
        domain={"index": opsdk.domain.positions(of="x", axis=1)},
    )(lambda x, index: np.take_along_axis(x, index, 1))

    @op.backward
    def take_grad(x_spec, index, dy):
        dx = np.zeros(x_spec.shape, dy.dtype)
        dx[np.arange(len(dx))[:, None], index] = dy
        return dx

    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 5)), np.array([[0, 4, 4], [2, 2, 2]]), reason="repeats")])
    first, *others = verify(op).findings
    assert first.check == "vjp.x"
    assert [one.check for one in others] == ["layout.dx"]
    assert others[0].compare == "contiguous inputs give a wrong gradient of 'x' too; mend that first"


def test_a_residual_that_is_an_input_is_told_once_and_beside_a_kernel_too():
    schema = "f(Tensor x) -> Tensor y, residuals (Tensor kept)"
    op = opsdk.op(schema, namespace="planted", infer=lambda x: (x, x))(lambda x: (x * x, x))
    op.backward(lambda kept, dy: 2 * kept * dy)
    op.kernel("cpu", language="spoken", dtype="float64")(lambda x: (x * x, x.copy()))
    (one,) = verify(op).findings
    assert one.check == "alias"
    assert one.message == (
        "op 'planted::f', residual 'kept': expected a new array, got input 'x' itself; name 'x' in the backward, which "
        "keeps it, or return a copy"
    )


def test_an_infer_rule_that_refuses_open_sizes_is_named_by_its_own_line():
    op = opsdk.op("f(Tensor x, Tensor w) -> Tensor y", namespace="planted")(lambda x, w: x * w)

    @op.infer
    def rule(x, w):
        if x.shape[-1:] != w.shape:
            raise ValueError(f"w expected (D,), got {x.shape} and {w.shape}")
        return x

    op.backward(lambda x, w, dy: (dy * w, opsdk.sum_to(dy * x, w.shape)))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), rng.normal(size=3), reason="a row")])
    op.kernel("cpu", language="spoken", dtype="float64")(lambda x, w: x * w)
    (one,) = verify(op).findings
    assert one.message.startswith(
        "op 'planted::f', infer: expected sizes of None to be carried through in a Program, raised ValueError: w "
        "expected (D,), got (None, 3) and (None,); a size that is not known yet is None; ask of it only what it "
        "can tell, and pass it on"
    )
    assert one.help == "it refuses None as x.shape[1] or w.shape[0]"
    assert one.at.endswith(f"test_blame.py:{rule.__code__.co_firstlineno}")
    assert one.row == "cpu,float64,numpy"


def test_numbers_of_elements_that_a_kernel_of_the_backward_left_out_are_no_findings_of_their_own():
    op = opsdk.op("f(Tensor x, Tensor h) -> Tensor y", namespace="planted")(lambda x, h: x * x + h * h)
    op.backward(lambda x, h, dy: (2 * x * dy, 2 * h * dy))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 7)), rng.normal(size=(2, 7)), reason="a tail")])

    @op.grad.kernel("cpu", language="numba")
    def tail(x, h, dy, dx, dh):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                dx[i, j] = 2 * x[i, j] * dy[i, j]
            for j in range(x.shape[1] - x.shape[1] % 4):
                dh[i, j] = 2 * h[i, j] * dy[i, j]

    report = verify(op, level="quick")
    (finding,) = report.findings
    assert finding.check == "value.dh"
    assert finding.cause == "elements that no loop of it sets: none writes them, or one adds to what was there"


def test_a_second_derivative_that_runs_a_wrong_kernel_is_put_down_to_it():
    op = opsdk.op("f(Tensor x) -> Tensor y", namespace="planted")(lambda x: np.exp(x))
    op.backward(lambda y, dy: y * dy, composite=True)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=4), reason="a vector")])
    op.kernel("cpu", language="spoken", dtype=("float32", "float64"))(lambda x: 1.5 * np.exp(x))
    first, *others = verify(op).findings
    assert first.check == "value.y"
    assert {one.check for one in others} == {"vjp2.x", "vjp2.dy"}
    told = "right without the spoken kernel of op 'planted::f', which it calls; mend that first"
    assert {one.compare for one in others} == {told}


ADDS = """
int32_t f_grad_f64(const DLTensor *x, const DLTensor *dy, DLTensor *dx) {
  const double *p = OPSDK_DATA(const double, x), *d = OPSDK_DATA(const double, dy);
  double *to = OPSDK_DATA(double, dx);
  for (int64_t i = 0; i < opsdk_size(dx); ++i) to[i] = (i < 2 ? to[i] : 0) + 2 * p[i] * d[i];
  return 0;
}
"""


def test_a_kernel_that_adds_to_what_memory_held_is_named_before_the_reference_that_calls_it():
    pytest.importorskip("cffi")
    op = opsdk.op("f(Tensor x) -> Tensor y", namespace="planted")(lambda x: x * x)
    op.backward(lambda x, dy: 2 * x * dy)
    op.grad.backward(lambda x, dy, ddx: (op.grad(ddx, dy), op.grad(x, ddx)), composite=True)
    op.grad.kernel("cpu", language="c", dtype="float64", source=ADDS)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=5), reason="a vector")])
    first, *others = verify(op).findings
    assert (first.check, first.row) == ("value.dx", "cpu,float64,c")
    assert "wrong in 2 of 5 elements, first dx[0]: this kernel leaves it as the memory was" in first.message
    told = "right without the c kernel of op 'planted::f_grad', which it calls; mend that first"
    assert others
    assert {one.compare for one in others} == {told}


def second_order(second):
    op = opsdk.op("f(Tensor x) -> Tensor y, residuals (Tensor s)", namespace="planted", infer=lambda x: (x, x))(
        lambda x: (np.sin(x), np.sin(x))
    )

    @op.backward
    def f_grad(x, s, dy):
        return np.cos(x) * dy

    f_grad.backward(second, composite=True)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=4), reason="a vector")])
    return op


def test_a_wrong_second_derivative_is_placed_at_the_backward_of_the_backward():
    def f_grad_grad(x, dy, ddx):
        return {"x": opsdk.sin(x) * dy * ddx, "dy": opsdk.cos(x) * ddx}

    (one,) = verify(second_order(f_grad_grad)).findings
    assert one.check == "vjp2.x"
    assert one.at.endswith(f"test_blame.py:{f_grad_grad.__code__.co_firstlineno}, f_grad_grad")
