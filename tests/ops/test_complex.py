import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError

Z = np.array([[1 + 2j, -3j], [0.5, -1 - 1j]])


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64", "int64"])
@pytest.mark.parametrize("name", ["conj", "real", "imag", "abs"])
def test_parts_are_those_of_numpy_in_value_and_dtype(name, dtype):
    x = Z.astype(dtype) if dtype.startswith("c") else Z.real.astype(dtype)
    want = getattr(np, name)(x)
    for got in (getattr(opsdk, name)(x), getattr(opsdk.to_tensor(x), name)().numpy()):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_results_are_memory_of_their_own():
    for op in (opsdk.conj, opsdk.real, opsdk.imag):
        for x in (Z.copy(), Z.real.copy()):
            assert not np.shares_memory(op(x), x)


def test_numpy_functions_on_tensors_are_recorded():
    for function, want in ((np.conj, [1, 1]), (np.real, [1, 1]), (np.imag, [1j, 1j])):
        z = opsdk.to_tensor(np.array([1 + 2j, 3j]), stop_gradient=False)
        opsdk.real(function(z)).sum().backward()
        np.testing.assert_array_equal(z.grad.numpy(), want)


@pytest.mark.parametrize("function", [opsdk.conj, opsdk.real])
def test_of_real_tensors_gradients_are_real(function):
    x = opsdk.to_tensor([1.0, -2.0], stop_gradient=False)
    (3.0 * function(x)).sum().backward()
    assert x.grad.numpy().tolist() == [3.0, 3.0]
    assert x.grad.dtype == np.float32


def test_the_imaginary_part_of_real_tensors_is_zero_and_so_is_its_gradient():
    x = opsdk.to_tensor([1.0, -2.0], stop_gradient=False)
    (first,) = opsdk.grad(opsdk.imag(x).sum() + x.sum(), x, create_graph=True)
    assert first.numpy().tolist() == [1.0, 1.0]


def test_sigmoid_of_complex_numbers_is_the_quotient_on_both_sides():
    z = np.array([1 + 2j, -1 + 2j, -800 + 1j, 800 - 1j, 0.3j])
    want = np.array([1 / (1 + np.exp(-z[0])), 1 / (1 + np.exp(-z[1])), 0, 1, 1 / (1 + np.exp(-z[4]))])
    np.testing.assert_allclose(opsdk.sigmoid(z), want, rtol=1e-15)
    np.testing.assert_allclose(opsdk.vmath.sigmoid(z), want, rtol=1e-15)


@pytest.mark.parametrize("gives", ["erf", "softplus"])
def test_functions_that_complex_numbers_do_not_have_are_refused(gives):
    op = opsdk.erf if gives == "erf" else opsdk.elementwise(lambda x: opsdk.vmath.softplus(x), name="soft_of_complex")
    with pytest.raises(DTypeError, match=f"expected real numbers, since there is no {gives} of complex ones"):
        op(Z)


def test_complex_beside_real_numbers_in_both_orders():
    x = opsdk.to_tensor(np.array([2.0, 3.0]), stop_gradient=False)
    z = opsdk.to_tensor(np.array([1 + 1j, 2j]), stop_gradient=False)
    (first,) = opsdk.grad(opsdk.abs(x * z).sum(), x, create_graph=True)
    np.testing.assert_allclose(first.numpy(), np.abs(z.numpy()))
    assert first.dtype == np.float64
    (mixed,) = opsdk.grad(first.sum(), z)
    np.testing.assert_allclose(mixed.numpy(), z.numpy() / np.abs(z.numpy()))


def test_casts_to_complex_give_real_gradients():
    x = opsdk.to_tensor(np.array([2.0, -3.0]), stop_gradient=False)
    opsdk.abs(x.astype("complex64") * 1j).sum().backward()
    assert x.grad.dtype == np.float64
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, -1.0])
