"""rms_norm: values, gradients and second derivatives beside torch.nn.functional.rms_norm."""

import numpy as np
import pytest

import opsdk
from contrib_ops import rms_norm

TOLERANCE = {"float32": 2e-6, "float64": 1e-13}


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (7,), (4, 129), (1, 1000)])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values_and_gradients_are_those_of_torch(shape, dtype, rng):
    torch = pytest.importorskip("torch")
    arrays = [array.astype(dtype) for array in (rng.normal(size=shape), rng.normal(size=shape[-1]))]
    dy = rng.normal(size=shape).astype(dtype)
    x, weight = (opsdk.to_tensor(array, stop_gradient=False) for array in arrays)
    y = rms_norm(x, weight, eps=1e-3)
    y.backward(opsdk.to_tensor(dy))
    tx, tweight = (torch.tensor(array, requires_grad=True) for array in arrays)
    wanted = torch.nn.functional.rms_norm(tx, shape[-1:], tweight, 1e-3)
    wanted.backward(torch.tensor(dy))
    near = {"rtol": TOLERANCE[dtype], "atol": 5 * TOLERANCE[dtype]}
    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), **near)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), **near)
    np.testing.assert_allclose(weight.grad.numpy(), tweight.grad.numpy(), **near)


def test_the_second_derivative_is_that_of_torch(rng):
    torch = pytest.importorskip("torch")
    values, scale = rng.normal(size=(2, 5)), rng.normal(size=5)
    x, weight = opsdk.to_tensor(values, stop_gradient=False), opsdk.to_tensor(scale, stop_gradient=False)
    (first,) = opsdk.grad((rms_norm(x, weight) ** 3.0).sum(), x, create_graph=True)
    second = opsdk.grad((first * first).sum(), [x, weight])
    tx, tweight = torch.tensor(values, requires_grad=True), torch.tensor(scale, requires_grad=True)
    (tfirst,) = torch.autograd.grad(
        (torch.nn.functional.rms_norm(tx, (5,), tweight, 1e-6) ** 3).sum(), tx, create_graph=True
    )
    for ours, theirs in zip(second, torch.autograd.grad((tfirst * tfirst).sum(), [tx, tweight]), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10)


def test_rows_of_one_element_have_their_sign(rng):
    x, weight = np.array([[3.0], [-0.5]]), np.array([2.0])
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    y = rms_norm(tensor, weight, eps=0.25)
    y.sum().backward()
    np.testing.assert_allclose(y.numpy(), 2 * x / np.sqrt(x**2 + 0.25), rtol=1e-15)
    np.testing.assert_allclose(tensor.grad.numpy(), 2 * 0.25 * (x**2 + 0.25) ** -1.5, rtol=1e-13)


def test_eps_keeps_a_row_of_zeros_at_zero():
    assert rms_norm(np.zeros((2, 3)), np.ones(3)).tolist() == [[0.0] * 3] * 2
    assert np.isnan(rms_norm(np.zeros((1, 3)), np.ones(3), eps=0.0)).all()


def test_nan_and_infinity_are_seen_in_all_of_their_row_only():
    y = rms_norm(np.array([[1.0, np.nan], [np.inf, 1.0], [3.0, 4.0]]), np.ones(2), eps=0.0)
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(y[1], [np.nan, 0.0])
    np.testing.assert_allclose(y[2], np.array([3.0, 4.0]) / np.sqrt(12.5))


def test_rows_that_are_not_contiguous_are_rows(rng):
    x = rng.normal(size=(5, 3))
    np.testing.assert_allclose(rms_norm(x.T, np.ones(5)), rms_norm(x.T.copy(), np.ones(5)), rtol=1e-15)


def test_no_rows_give_no_rows_and_a_gradient_of_0():
    weight = opsdk.to_tensor(np.ones(4), stop_gradient=False)
    y = rms_norm(opsdk.to_tensor(np.zeros((0, 4))), weight)
    y.sum().backward()
    assert y.shape == [0, 4]
    assert weight.grad.numpy().tolist() == [0.0] * 4


def test_a_weight_of_another_length_is_refused():
    message = r"op 'contrib::rms_norm': input 'weight' expected shape .*3.* beside x .*2, 3.*, got .*2"
    with pytest.raises(ValueError, match=message):
        rms_norm(np.ones((2, 3)), np.ones(2))


def test_an_input_without_an_axis_is_refused():
    with pytest.raises(ValueError, match=r"op 'contrib::rms_norm': input 'x' expected at least one axis"):
        rms_norm(np.array(1.0), np.ones(1))
