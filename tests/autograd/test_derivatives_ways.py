"""What nobody wants is not computed, at any order: no zeros of it meet an infinity in what is wanted."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath

X = np.array([-2.0, -0.5, 1.5])
LOGS = {"x": np.array([0.0, 1.0]), "z": np.array([1.0, 2.0])}


def leaf(values, dtype="float64"):
    return opsdk.to_tensor(np.array(values, dtype), stop_gradient=False)


def orders(y, x, count):
    """The first derivatives, each of the one before."""
    found = []
    for _ in range(count):
        (y,) = opsdk.grad(y, x, create_graph=True)
        found.append(y.numpy())
    return found


@pytest.mark.parametrize("exponent", [4, 4.0, "constant", "trained"])
def test_derivatives_of_a_power_are_right_for_negative_bases_to_fourth_order(exponent):
    x = leaf(X)
    n = {"constant": opsdk.to_tensor(np.full(3, 4.0)), "trained": leaf(np.full(3, 4.0))}.get(exponent, exponent)
    expected = [4 * X**3, 12 * X**2, 24 * X, np.full(3, 24.0)]
    np.testing.assert_allclose(orders(x**n, x, 4), expected, rtol=1e-12)


def test_a_third_derivative_is_right_by_backward_too():
    x = leaf(X)
    (first,) = opsdk.grad(x**4, x, create_graph=True)
    (second,) = opsdk.grad(first, x, create_graph=True)
    second.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 24 * X, rtol=1e-12)


def test_one_of_two_first_derivatives_is_differentiated_alone():
    x, n = leaf(X), leaf(np.full(3, 4.0))
    first, by_exponent = opsdk.grad((x**n).sum(), [x, n], create_graph=True)
    assert np.isnan(by_exponent.numpy()[:2]).all()  # log of a negative number
    np.testing.assert_allclose(opsdk.grad(first.sum(), x)[0].numpy(), 12 * X**2, rtol=1e-12)


def test_a_mixed_derivative_beside_an_undefined_one_is_right():
    x, y = leaf([0.0, 2.0]), leaf([3.0, 5.0])

    @opsdk.elementwise
    def scaled_log(x, y):
        return y * vmath.log(x) + x * y

    first, _ = opsdk.grad(scaled_log(x, y).sum(), [x, y], create_graph=True)
    np.testing.assert_array_equal(opsdk.grad(first.sum(), y)[0].numpy(), [np.inf, 1.5])


@opsdk.elementwise("tests_narrowed::twice_and_log(Tensor x, Tensor z) -> (Tensor a, Tensor b)")
def twice_and_log(x, z):
    """Is 2x, and z log x."""
    return 2.0 * x, vmath.log(x) * z


@opsdk.rowwise("tests_narrowed::sum_and_log(Tensor x) -> (Tensor a, Tensor b)")
def sum_and_log(x):
    """Is x less its row's sum, and log x."""
    return x - vmath.row_sum(x), vmath.log(x)


def test_an_output_that_nobody_used_adds_nothing_to_the_gradient():
    x, z = leaf(LOGS["x"]), leaf(LOGS["z"])
    twice_and_log(x, z)[0].sum().backward()
    assert (x.grad.tolist(), z.grad.tolist()) == ([2.0, 2.0], [0.0, 0.0])


def test_an_output_of_rows_that_nobody_used_adds_nothing_to_the_gradient():
    x = leaf([[0.0, 1.0, 3.0]])
    opsdk.grad(sum_and_log(x)[0].sum(), x)
    assert opsdk.grad(sum_and_log(x)[0].sum(), x)[0].tolist() == [[-2.0, -2.0, -2.0]]


def test_an_input_that_only_an_unused_output_depends_on_sends_nothing_further_down():
    x, w = leaf(LOGS["x"]), leaf([0.0, 2.0])
    twice_and_log(x, w.log())[0].sum().backward()  # zeros would meet the infinite slope of the logarithm
    assert x.grad.tolist() == [2.0, 2.0]
    assert w.grad is None


def test_the_gradient_op_is_told_which_cotangents_have_arrived():
    x, z = LOGS["x"], LOGS["z"]
    nothing = np.zeros(2)
    dx, dz = twice_and_log.grad(x, z, np.ones(2), nothing, has_output_grad=(True, False))
    assert (dx.tolist(), dz.tolist()) == ([2.0, 2.0], [0.0, 0.0])
    assert np.isnan(twice_and_log.grad(x, z, np.ones(2), nothing)[0][0])  # zeros that did arrive are zeros


def test_a_gradient_that_nobody_asked_for_is_not_computed():
    masks = []

    @opsdk.op("tests::times(Tensor x, Tensor y) -> Tensor z")
    def times(x, y):
        return x * y

    @times.backward
    def times_grad(x, y, dz, needs_input_grad):
        masks.append(needs_input_grad)
        return [d if wanted else None for d, wanted in zip((dz * y, dz * x), needs_input_grad, strict=True)]

    x, y = leaf([1.0]), leaf([3.0])
    assert opsdk.grad(times(x, y), x)[0].tolist() == [3.0]
    assert opsdk.grad(times(x, y), y)[0].tolist() == [1.0]
    assert masks == [(True, False), (False, True)]


def test_a_written_second_backward_has_a_mask_of_its_own():
    masks = []

    @opsdk.op("tests::times(Tensor x, Tensor y) -> Tensor z")
    def times(x, y):
        return x * y

    @times.backward
    def times_grad(x, y, dz, needs_input_grad):
        return [d if wanted else None for d, wanted in zip((dz * y, dz * x), needs_input_grad, strict=True)]

    @times_grad.backward(materialize=False)
    def times_grad_grad(x, y, dz, ddx, ddy, needs_input_grad):
        masks.append((needs_input_grad, ddx is None, ddy is None))
        return ddx * 0, dz * ddx, ddx * y

    assert times_grad_grad.opdef.schema.attr_names == ("needs_input_grad",)
    x, y = leaf([2.0]), leaf([3.0])
    (first,) = opsdk.grad(times(x, y), x, create_graph=True)
    assert opsdk.grad(first, y)[0].tolist() == [1.0]
    assert masks == [((False, True, False), False, True)]
