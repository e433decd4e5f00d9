import numpy as np
import pytest

import opsdk
from opsdk.core.errors import GradientMissingError
from opsdk.verify import verify
from opsdk.verify.complex_gradient import admits_complex

Z = np.array([1 + 2j, -0.5 + 1j])


def product(backward, name, **options):
    op = opsdk.op(f"planted::{name}(Tensor x, Tensor y) -> Tensor out", infer=opsdk.infer.broadcast)(lambda x, y: x * y)
    op.backward(**options)(backward)
    return op


def right(x, y, dout):
    return dout * np.conj(y), dout * np.conj(x)


def not_conjugated(x, y, dout):
    return dout * y, dout * x


def test_a_backward_that_declares_complex_tensors_is_judged_on_them():
    report = verify(product(right, "times", complex=True))
    assert report.findings == ()
    assert "complex" in report.coverage.checks


def test_a_missing_conjugate_is_a_finding():
    report = verify(product(not_conjugated, "times_plain", complex=True))
    assert {f.check for f in report.findings} == {"complex.x", "complex.y"}
    assert "conj" in report.findings[0].cause


def test_a_second_order_without_its_conjugate_is_a_finding():
    op = product(right, "times_twice", complex=True)

    @op.grad.backward(composite=True, complex=True)
    def twice(x, y, dout, ddx, ddy):
        return ddy * dout, opsdk.conj(ddx) * dout, ddx * y + ddy * x

    assert {f.check for f in verify(op).findings if f.op == op.opdef.name} == {"complex2.x"}


def test_a_backward_that_declares_nothing_is_refused_complex_tensors_and_said_not_to_be_judged():
    op = product(right, "times_silent")
    assert not admits_complex(op.opdef)
    report = verify(op, samples=[opsdk.Sample(Z, Z)])
    assert any("complex inputs are not judged" in entry for entry in report.coverage.skipped)
    z = opsdk.to_tensor(Z, stop_gradient=False)
    message = (
        r"op 'planted::times_silent': expected real tensors where a gradient is asked for, got complex ones: its "
        r"backward says nothing of them; @times_silent.backward\(complex=True\) declares"
    )
    with pytest.raises(GradientMissingError, match=message):
        opsdk.abs(op(z, z)).sum().backward()


def test_a_real_op_with_complex_outputs_is_refused_or_judged():
    def defined(name, **options):
        op = opsdk.op(f"planted::{name}(Tensor x) -> Tensor out")(lambda x: np.exp(1j * x))
        op.infer(lambda x: opsdk.TensorSpec(x.shape, np.result_type(x.dtype, "complex64")))
        op.backward(**options)(lambda out, dout: (dout * np.conj(1j * out)).real)
        return op

    x = opsdk.to_tensor(np.array([0.3, 2.0]), stop_gradient=False)
    with pytest.raises(GradientMissingError, match="declares that it gives"):
        opsdk.real(defined("phase_silent")(x)).sum().backward()
    op = defined("phase", complex=True)
    opsdk.real(op(x)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), -np.sin([0.3, 2.0]))
    report = verify(op, samples=[opsdk.Sample(np.array([0.3, 2.0]))])
    assert report.findings == ()
    assert "complex" in report.coverage.checks


def test_register_op_takes_the_declaration():
    op = opsdk.register_op(
        "planted::turned(Tensor x) -> Tensor out",
        forward=lambda x: 1j * x,
        backward=lambda dout: -1j * dout,
        complex=True,
    )
    z = opsdk.to_tensor(Z, stop_gradient=False)
    opsdk.imag(op(z)).sum().backward()
    np.testing.assert_array_equal(z.grad.numpy(), [1, 1])


def doubled(x, dy):
    return 2 * np.conj(x) * dy


def squares(**options):
    op = opsdk.op("planted::squares(Tensor x) -> Tensor y")(lambda x: x * x)
    op.backward(**options)(doubled)
    return op


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("samples", [None, [opsdk.Sample(Z)], [opsdk.Sample(Z.astype("complex64"))]])
def test_a_kernel_of_a_complex_gradient_is_held_to_the_reference_on_complex_numbers(dtype, is_right, samples):
    op = squares(complex=True)

    @op.grad.kernel("cpu", language="numba", dtype=dtype)
    def own(x, dy, dx):
        for i in range(x.size):
            dx.flat[i] = 2 * (np.conj(x.flat[i]) if is_right else x.flat[i]) * dy.flat[i]

    if samples is not None:
        op.samples(lambda: iter(samples))
    assert verify(op).verdict == ("pass" if is_right else "fail")


def test_a_kernel_for_whole_numbers_of_a_gradient_is_not_judged_as_one_of_real_numbers():
    op = opsdk.op("planted::squares(Tensor x) -> Tensor y")(lambda x: x * x)
    op.backward(lambda x, dy: 2 * x * dy)

    @op.grad.kernel("cpu", language="numba", dtype="int64")
    def own(x, dy, dx):
        for i in range(x.size):
            dx.flat[i] = 2 * x.flat[i] * dy.flat[i]

    report = verify(op)
    assert report.verdict == "pass"
    said = "planted::squares_grad[cpu,int64,numba]: not run, no call is of its dtype; give samples"
    assert said in report.coverage.skipped
