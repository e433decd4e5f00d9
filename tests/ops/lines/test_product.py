"""Products: derivatives by hand, also where factors are 0."""

import numpy as np
import pytest

import opsdk

X = np.array([[0.0, 2.0, 3.0, 4.0, 5.0], [0.0, 2.0, 0.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0]])


def others(row):
    return [np.prod(np.delete(row, i)) for i in range(len(row))]


def test_the_gradient_is_the_product_of_all_others():
    x = opsdk.to_tensor(X, stop_gradient=False)
    opsdk.prod(x, 1).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [others(row) for row in X])


def test_the_second_derivative_is_the_product_of_all_but_two():
    x = opsdk.to_tensor(X[1], stop_gradient=False)
    (first,) = opsdk.grad(opsdk.prod(x), [x], create_graph=True)
    (second,) = opsdk.grad(first[0], [x])
    np.testing.assert_array_equal(second.numpy(), [0, 0, 40, 0, 0])  # of x0 x1 x2 x3 x4 by x0 and each other


def test_the_gradient_of_running_products_is_that_of_each_of_them():
    x = opsdk.to_tensor(X, stop_gradient=False)
    weights = np.array([1.0, 10.0, 100.0, 1e3, 1e4])
    (opsdk.cumprod(x, 1) * weights).sum().backward()
    wanted = np.zeros_like(X)
    for row, found in zip(X, wanted, strict=True):
        for end, weight in enumerate(weights):
            found[: end + 1] += weight * np.array(others(row[: end + 1]))
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16"])
def test_dtypes_are_those_of_sums(dtype):
    x = np.array([1, 1, 0, 1]).astype(dtype)
    assert opsdk.prod(x).dtype == opsdk.cumprod(x).dtype == opsdk.sum(x).dtype


def test_float16_is_rounded_once():
    x = np.full(40, 0.9, np.float16)
    assert opsdk.prod(x) == np.float16(np.prod(x.astype(np.float64)))
