import numpy as np
import pytest

import opsdk


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64", "int64"])
def test_angles_are_those_of_numpy_in_value_and_dtype(dtype):
    x = np.array([1 + 2j, -3j, 0, -1 - 1j, -2])
    x = x.astype(dtype) if dtype.startswith("c") else x.real.astype(dtype)
    for got in (opsdk.angle(x), opsdk.to_tensor(x).angle().numpy(), np.angle(opsdk.to_tensor(x)).numpy()):
        assert got.dtype == (np.float32 if dtype == "int64" else np.angle(x).dtype)
        np.testing.assert_allclose(got, np.angle(x), rtol=1e-6)


def test_the_gradient_turns_against_the_radius_and_is_0_at_0():
    z = opsdk.to_tensor(np.array([2 + 0j, 2j, 0j, 3 + 4j]), stop_gradient=False)
    (2.0 * opsdk.angle(z)).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [1j, -1, 0, (-8 + 6j) / 25])  # 2 i z/|z|²


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_the_gradient_of_what_is_tiny_or_huge_is_a_number(size):
    z = opsdk.to_tensor(np.array([size + 0j]), stop_gradient=False)
    opsdk.angle(z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [1j / size])


def test_of_real_numbers_nothing_depends_on_them():
    x = opsdk.to_tensor([1.0, -2.0], stop_gradient=False)
    opsdk.angle(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
