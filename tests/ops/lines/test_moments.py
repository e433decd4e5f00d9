"""Moments and norms, beside numbers by hand."""

import numpy as np
import pytest

import opsdk


def test_the_norm_of_zeros_has_a_gradient_of_zeros():
    x = opsdk.to_tensor(np.array([[0.0, 0.0], [3.0, 4.0]]), stop_gradient=False)
    opsdk.norm(x, axis=1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0, 0], [0.6, 0.8]])


def test_a_variance_of_one_element_is_nan():
    assert np.isnan(opsdk.var(np.array([3.0])))
    assert opsdk.var(np.array([3.0]), unbiased=False) == 0


def test_numbers_of_16_bits_are_computed_in_float32_and_rounded_once():
    great, apart = np.full(4, 300, np.float16), np.array([0, 600], np.float16)
    assert (opsdk.norm(great).dtype, opsdk.norm(great)) == (np.float16, 600)
    assert opsdk.std(apart) == np.float16(np.std([0.0, 600.0], ddof=1))
    assert opsdk.norm(opsdk.to_tensor(great)).item() == 600
    assert opsdk.var(np.array([0, 100], np.float16)) == 5000


def test_the_variance_of_complex_numbers_is_real():
    z = np.array([1 + 2j, 3 - 1j, -2 + 0.5j])
    for function in ("var", "std"):
        made = getattr(opsdk, function)(opsdk.to_tensor(z))
        np.testing.assert_allclose(made.numpy(), getattr(np, function)(z, ddof=1), rtol=1e-14)
        assert made.dtype == np.float64


@pytest.mark.parametrize("given", [{}, {"axis": 1}, {"dim": 1}])
def test_a_correction_is_how_much_less_than_the_count_divides(given):
    x = np.array([[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]])
    axis = 1 if given else None
    np.testing.assert_allclose(opsdk.var(x, correction=0, **given), np.var(x, axis), rtol=1e-14)
    np.testing.assert_allclose(opsdk.std_mean(x, correction=1.5, **given)[0], np.std(x, axis, ddof=1.5), rtol=1e-14)
