import numpy as np

from opsdk.ops import exponential


def test_exp_at_its_edges_without_a_warning():
    x = np.array([-np.inf, -800.0, 0.0, 1.0, 800.0, np.nan])
    np.testing.assert_array_equal(exponential.exp(x), [0, 0, 1, np.e, np.inf, np.nan])


def test_log_at_its_edges_without_a_warning():
    np.testing.assert_array_equal(exponential.log(np.array([1.0, 0.0, -1.0, np.inf])), [0, -np.inf, np.nan, np.inf])


def test_log_undoes_exp(rng):
    x = rng.normal(size=(3, 5))
    np.testing.assert_allclose(exponential.log(exponential.exp(x)), x, atol=1e-15)


def test_zero_d_and_empty_keep_their_shape():
    assert exponential.exp(np.array(0.0)).shape == ()
    assert exponential.log(np.zeros((0, 4))).shape == (0, 4)
