"""Moments and norms, beside numbers by hand."""

import numpy as np

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
