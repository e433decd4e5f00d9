import mpmath
import numpy as np
import pytest

import opsdk
from opsdk.ops import elementary, exponential

OPS = {
    elementary.sin: (mpmath.sin, (-7.3, -0.4, 0.0, 2.1)),
    elementary.cos: (mpmath.cos, (-7.3, -0.4, 0.0, 2.1)),
    elementary.tan: (mpmath.tan, (-1.3, -0.4, 0.0, 1.1)),
    elementary.erf: (mpmath.erf, (-2.3, -0.4, 0.0, 1.1)),
    elementary.rsqrt: (lambda x: 1 / mpmath.sqrt(x), (0.2, 1.0, 7.3)),
    elementary.reciprocal: (lambda x: 1 / x, (-2.3, 0.2, 7.3)),
    exponential.expm1: (mpmath.expm1, (-2.3, 1e-9, 3.1)),
    exponential.log1p: (mpmath.log1p, (-0.6, 1e-9, 7.3)),
}


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_value_and_two_derivatives_are_those_of_the_book(op):
    function, points = OPS[op]
    x = opsdk.to_tensor(np.array(points), stop_gradient=False)
    y = op(x)
    (first,) = opsdk.grad(y.sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    for order, found in enumerate((y, first, second)):
        expected = [float(mpmath.diff(function, mpmath.mpf(point), order)) for point in points]
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_integers_give_floats_and_float32_stays(op):
    assert op(np.array([1, 2, 3])).dtype == np.float64
    assert op(np.array([0.5], np.float32)).dtype == np.float32


def test_values_outside_of_the_domain_are_nan_or_infinite_without_a_warning():
    np.testing.assert_array_equal(elementary.rsqrt(np.array([0.0, -1.0])), [np.inf, np.nan])
    np.testing.assert_array_equal(elementary.reciprocal(np.array([0.0, -0.0])), [np.inf, -np.inf])
    np.testing.assert_array_equal(exponential.log1p(np.array([-1.0, -2.0])), [-np.inf, np.nan])
    np.testing.assert_array_equal(elementary.sin(np.array([np.inf])), [np.nan])


@pytest.mark.parametrize("function", [np.sin, np.cos, np.tan, np.expm1, np.log1p, np.reciprocal])
def test_numpys_own_functions_are_these_ops_on_tensors(function):
    x = opsdk.to_tensor(np.array([0.3, 0.7]), stop_gradient=False)
    y = function(x)
    assert not y.stop_gradient
    np.testing.assert_allclose(y.numpy(), function(x.numpy()), rtol=1e-15)
