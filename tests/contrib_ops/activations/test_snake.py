"""snake: values and derivatives beside mpmath with 50 digits; alpha 0 and near it; broadcasting beside PyTorch."""

import mpmath
import numpy as np
import pytest

import opsdk
from contrib_ops import snake

PAIRS = [(1.3, 2.0), (-0.7, 0.5), (2.0, -3.0), (1.0, 0.2499), (1.0, 0.2501), (1.0, 1e-3), (-5.0, 1e-9), (3.0, 1e-300)]


def exact(x, alpha, orders):
    """The derivative of these orders in x and alpha."""
    with mpmath.workdps(700):  # alpha may be 1e-300, and is divided by
        function = lambda t, a: t + mpmath.sin(a * t) ** 2 / a  # noqa: E731
        point = (mpmath.mpf(x), mpmath.mpf(alpha))
        return float(mpmath.diff(function, point, orders, h=mpmath.mpf("1e-310")) if any(orders) else function(*point))


# Those of the second order compile a gradient's gradient; the first two and the mixed one stand for them.
HIGHER = [pytest.param(orders, marks=pytest.mark.slow) for orders in ((2, 0), (0, 2))]


@pytest.mark.parametrize("orders", [(0, 0), (1, 0), (0, 1), (1, 1), *HIGHER])
def test_values_and_derivatives_keep_their_digits_for_alpha_of_any_size(orders):
    x, alpha = (opsdk.to_tensor(np.array(side), stop_gradient=False) for side in zip(*PAIRS, strict=True))
    y = snake(x, alpha)
    for tensor, order in zip((x, alpha), orders, strict=True):
        for _ in range(order):
            (y,) = opsdk.grad(y.sum(), tensor, create_graph=True)
    np.testing.assert_allclose(y.numpy(), [exact(*pair, orders) for pair in PAIRS], rtol=1e-12, atol=1e-14)


def test_alpha_0_is_the_identity_with_the_gradients_of_the_limit():
    x = opsdk.to_tensor(np.array([-2.0, 0.0, 3.0]), stop_gradient=False)
    alpha = opsdk.to_tensor(np.zeros(3), stop_gradient=False)
    y = snake(x, alpha)
    y.sum().backward()
    assert y.numpy().tolist() == [-2.0, 0.0, 3.0]
    assert x.grad.numpy().tolist() == [1.0, 1.0, 1.0]
    assert alpha.grad.numpy().tolist() == [4.0, 0.0, 9.0]  # x + alpha x² + O(alpha³)


def test_float32_near_alpha_0_does_not_divide_0_by_0():
    y = snake(np.array([1.0, -3.0], "float32"), np.array([1e-38, 1e-20], "float32"))
    assert (y.dtype, y.tolist()) == (np.float32, [1.0, -3.0])


@pytest.mark.parametrize("shape", [(3, 1), (1, 3, 1), (4,), (2, 3, 4), ()])
def test_gradients_are_summed_to_the_shape_of_alpha_as_in_torch(shape, rng):
    torch = pytest.importorskip("torch")
    values, alphas, dy = rng.normal(size=(2, 3, 4)), rng.uniform(0.5, 2.0, shape), rng.normal(size=(2, 3, 4))
    x, alpha = opsdk.to_tensor(values, stop_gradient=False), opsdk.to_tensor(alphas, stop_gradient=False)
    y = snake(x, alpha)
    y.backward(opsdk.to_tensor(dy))
    tx, talpha = (torch.tensor(array, requires_grad=True) for array in (values, alphas))
    wanted = tx + torch.sin(talpha * tx) ** 2 / talpha
    wanted.backward(torch.tensor(dy))
    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), rtol=1e-13)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-12, atol=1e-14)
    assert alpha.grad.shape == list(shape)
    np.testing.assert_allclose(alpha.grad.numpy(), talpha.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(
        ValueError, match=r"op 'contrib::snake': expected shapes that broadcast, got \(2, 3\) and \(2,\)"
    ):
        snake(np.ones((2, 3)), np.ones(2))
