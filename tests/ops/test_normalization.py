import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ShapeError
from opsdk.ops import normalization


def test_softmax_of_equal_numbers_is_uniform():
    np.testing.assert_allclose(normalization.softmax(np.zeros((2, 4))), 0.25, rtol=0)


def test_softmax_does_not_change_when_a_number_is_added():
    x = np.array([[1.0, 2.0, 4.0]])
    np.testing.assert_allclose(normalization.softmax(x + 1000), normalization.softmax(x), rtol=1e-12)
    np.testing.assert_allclose(normalization.softmax(x), np.exp(x) / np.exp(x).sum(), rtol=1e-15)


def test_softmax_sums_to_one_along_its_axis(rng):
    np.testing.assert_allclose(normalization.softmax(rng.normal(size=(3, 4, 2)), axis=1).sum(axis=1), 1, rtol=1e-15)


def test_log_softmax_is_the_logarithm_also_where_softmax_is_zero(rng):
    x = rng.normal(size=(3, 4))
    np.testing.assert_allclose(normalization.log_softmax(x), np.log(normalization.softmax(x)), rtol=1e-12)
    np.testing.assert_array_equal(normalization.log_softmax(np.array([0.0, -2000.0])), [0, -2000])


@pytest.mark.parametrize("op", [normalization.softmax, normalization.log_softmax])
def test_nothing_along_the_axis_gives_nothing(op):
    assert op(np.zeros((3, 0))).shape == (3, 0)
    assert op(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("op", [normalization.softmax, normalization.log_softmax])
def test_a_row_of_minus_infinity_is_nan_without_a_warning(op):
    assert np.isnan(op(np.full((1, 3), -np.inf))).all()


@pytest.mark.parametrize("op", [normalization.softmax, normalization.log_softmax])
def test_an_axis_that_is_not_there_is_refused(op):
    with pytest.raises(ShapeError, match=r"softmax': axis expected in \[-2, 2\), got 2"):
        op(np.zeros((2, 2)), axis=2)
    with pytest.raises(ShapeError, match=r"softmax': input 'x' expected at least one axis, got shape \(\)"):
        op(np.array(1.0))


def gradients(op, *arrays, cotangent, **attrs):
    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in arrays]
    found = opsdk.grad(op(*tensors, **attrs), tensors, grad_outputs=[opsdk.to_tensor(cotangent)])
    return [tensor.numpy() for tensor in found]


def test_layer_norm_centres_scales_and_shifts_each_row(rng):
    x, weight, bias = rng.normal(size=(3, 4, 7)), rng.normal(size=7), rng.normal(size=7)
    centred = x - x.mean(-1, keepdims=True)
    wanted = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(normalization.layer_norm(x, weight, bias), wanted, rtol=1e-12)


def test_the_gradients_of_layer_norm_are_those_of_the_paper(rng):
    x, weight, bias, dy = rng.normal(size=(5, 7)), rng.normal(size=7), rng.normal(size=7), rng.normal(size=(5, 7))
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    normal, g = centred * scale, dy * weight
    dx = scale * (g - g.mean(-1, keepdims=True) - normal * (g * normal).mean(-1, keepdims=True))
    found = gradients(normalization.layer_norm, x, weight, bias, cotangent=dy)
    for got, want in zip(found, [dx, (dy * normal).sum(0), dy.sum(0)], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_rms_norm_divides_by_the_root_of_the_mean_square(rng):
    x, weight, dy = rng.normal(size=(5, 7)), rng.normal(size=7), rng.normal(size=(5, 7))
    scale = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + 0.01)
    np.testing.assert_allclose(normalization.rms_norm(x, weight, epsilon=0.01), x * scale * weight, rtol=1e-12)
    g = dy * weight
    dx = scale * (g - x * scale**2 * (g * x).mean(-1, keepdims=True))
    found = gradients(normalization.rms_norm, x, weight, cotangent=dy, epsilon=0.01)
    np.testing.assert_allclose(found[0], dx, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[1], (dy * x * scale).sum(0), rtol=1e-10)


def test_cosine_similarity_of_parallel_opposed_and_zero_vectors():
    a, b = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 0.0]]), np.array([[2.0, 4.0], [-1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(normalization.cosine_similarity(a, b), [1, -1, 0], rtol=1e-15)


def test_a_weight_of_another_length_is_refused():
    with pytest.raises(ShapeError, match=r"input .weight. expected shape \(3,\) beside x \(2, 3\), got \(2,\)"):
        normalization.rms_norm(np.ones((2, 3)), np.ones(2))


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, [0, 2], (1, 2), [1, 0]])
def test_logsumexp_is_the_logarithm_of_a_sum_over_any_axes(axis, keepdim, rng):
    x = rng.normal(size=(2, 3, 4))
    wanted = np.log(np.exp(x).sum(tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdim))
    for got in (opsdk.logsumexp(x, axis, keepdim), opsdk.to_tensor(x).logsumexp(axis, keepdim)):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-14)


def test_logsumexp_of_what_overflows_of_nothing_and_of_a_number():
    assert opsdk.logsumexp(np.array([1000.0, 1000.0])) == 1000.0 + np.log(2.0)
    assert opsdk.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert opsdk.logsumexp(np.array(2.0)) == 2.0
    assert opsdk.logsumexp([0.0, 0.0]) == np.log(2.0)
