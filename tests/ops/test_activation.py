import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError
from opsdk.ops import activation

F = nn.functional
EDGE = np.array([-np.inf, -800.0, -1.0, -0.0, 0.0, 1.0, 800.0, np.inf, np.nan])


def gradient(op, x, *cotangent, **attrs):
    """The gradient of one call on one array, through the tape."""
    tensor = opsdk.to_tensor(x, stop_gradient=False)
    (found,) = opsdk.grad(op(tensor, **attrs), tensor, *(opsdk.to_tensor(c) for c in cotangent))
    return found.numpy()


def test_relu_keeps_what_is_above_zero_and_hands_on_nan():
    np.testing.assert_array_equal(activation.relu(EDGE), [0, 0, 0, 0, 0, 1, 800, np.inf, np.nan])


def test_relu_has_gradient_zero_at_the_kink():
    np.testing.assert_array_equal(gradient(activation.relu, np.array([-2.0, 0.0, 3.0])), [0, 0, 1])


def test_tanh_saturates_and_its_gradient_vanishes():
    np.testing.assert_array_equal(activation.tanh(np.array([-800.0, 0.0, 800.0])), [-1, 0, 1])
    np.testing.assert_array_equal(gradient(activation.tanh, np.array([-800.0, 0.0])), [0, 1])


def test_sigmoid_neither_overflows_nor_loses_its_tail():
    with np.errstate(all="raise", under="ignore"):
        y = activation.sigmoid(EDGE[:-1])
    np.testing.assert_array_equal(y[[0, 1, -2, -1]], [0, 0, 1, 1])
    assert activation.sigmoid(np.array(-700.0)) == pytest.approx(np.exp(-700.0), rel=1e-12)


def test_sigmoid_of_minus_x_is_the_rest():
    x = np.linspace(-5, 5, 11)
    np.testing.assert_allclose(activation.sigmoid(x) + activation.sigmoid(-x), 1, rtol=1e-15)


def test_relu_saves_its_output_and_the_gradient_of_its_gradient_asks_nothing_of_it():
    rule = activation.relu.opdef.grad
    assert (rule.saves("input"), rule.saves("output")) == ((), (0,))
    assert rule.op.opdef.traits.nondifferentiable == ("out",)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def tanh_gelu(x):
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


# Ours, the book's, away from kinks.
CASES = {
    "silu": (F.silu, lambda x: x * sigmoid(x)),
    "swish": (F.swish, lambda x: x * sigmoid(x)),
    "gelu": (F.gelu, lambda x: x * mpmath.ncdf(x)),
    "gelu_tanh": (lambda x: F.gelu(x, "tanh"), tanh_gelu),
    "softplus": (F.softplus, lambda x: mpmath.log(1 + mpmath.exp(x))),
    "softplus_3": (lambda x: F.softplus(x, 3.0), lambda x: mpmath.log(1 + mpmath.exp(3 * x)) / 3),
    "mish": (F.mish, lambda x: x * mpmath.tanh(mpmath.log(1 + mpmath.exp(x)))),
    "leaky_relu": (F.leaky_relu, lambda x: x if x > 0 else mpmath.mpf(0.01) * x),
    "leaky_relu_2": (lambda x: F.leaky_relu(x, 0.2), lambda x: x if x > 0 else mpmath.mpf(0.2) * x),
    "elu": (F.elu, lambda x: x if x > 0 else mpmath.expm1(x)),
    "elu_2": (lambda x: F.elu(x, 2.0), lambda x: x if x > 0 else 2 * mpmath.expm1(x)),
    "relu6": (F.relu6, lambda x: min(max(x, mpmath.mpf(0)), mpmath.mpf(6))),
    "hardswish": (F.hardswish, lambda x: x * min(max(x + 3, mpmath.mpf(0)), mpmath.mpf(6)) / 6),
}


POINTS = (-4.2, -1.3, -0.2, 0.3, 1.7, 6.4)


@pytest.mark.parametrize("name", CASES)
def test_value_and_two_derivatives_are_those_of_the_book(name):
    function, book = CASES[name]
    x = opsdk.to_tensor(np.array(POINTS), stop_gradient=False)
    y = function(x)
    (first,) = opsdk.grad(y.sum(), x, create_graph=True)
    found = [y, first]
    if not first.stop_gradient:
        found += opsdk.grad(first.sum(), x, allow_unused=True)
    for order, got in enumerate(found):
        expected = [float(mpmath.diff(book, mpmath.mpf(point), order)) for point in POINTS]
        got = np.zeros(len(POINTS)) if got is None else got.numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)


def gradient_at(function, *values):
    x = opsdk.to_tensor(np.array(values), stop_gradient=False)
    return opsdk.grad(function(x).sum(), x)[0].tolist()


def test_gradients_at_kinks_are_the_stated_ones():
    assert gradient_at(F.leaky_relu, 0.0) == [0.01]
    assert gradient_at(lambda x: F.elu(x, 0.5), 0.0) == [0.5]
    assert gradient_at(F.relu6, 0.0, 6.0) == [0.0, 0.0]
    assert gradient_at(F.hardswish, -3.0, 3.0) == [0.0, 1.0]


@pytest.mark.parametrize("cotangent", [np.inf, np.nan])
def test_an_infinite_cotangent_stays_out_of_what_is_0_by_choice(cotangent):
    x = opsdk.to_tensor(np.array([-4.0, -3.0], np.float32), stop_gradient=False)
    F.hardswish(x).backward(opsdk.to_tensor(np.full(2, cotangent, np.float32)))
    assert x.grad.tolist() == [0.0, 0.0]


def test_nothing_overflows_far_out():
    far = (-800.0, -100.0, 100.0, 800.0)
    for function in (F.silu, F.gelu, lambda x: F.gelu(x, "tanh"), F.softplus, F.mish, F.elu, F.hardswish):
        assert np.isfinite(function(np.array(far))).all()
        np.testing.assert_allclose(gradient_at(function, *far), [0, 0, 1, 1], atol=1e-40)


def test_gelu_keeps_its_left_tail():
    expected = float(-10 * mpmath.ncdf(-10))
    np.testing.assert_allclose(F.gelu(np.array([-10.0])), [expected], rtol=1e-14)


def test_gelu_knows_two_formulas():
    with pytest.raises(AttributeValueError, match="op 'opsdk::gelu': approximate expected 'none' or 'tanh', got 'sig'"):
        activation.gelu(np.zeros(2), approximate="sig")


@pytest.mark.parametrize(
    ("layer", "name", "text"),
    [
        (nn.Silu(), "silu", "Silu()"),
        (nn.Mish(), "mish", "Mish()"),
        (nn.Hardswish(), "hardswish", "Hardswish()"),
        (nn.ReLU6(), "relu6", "ReLU6()"),
        (nn.GELU(), "gelu", "GELU(approximate=none)"),
        (nn.GELU("tanh"), "gelu_tanh", "GELU(approximate=tanh)"),
        (nn.Softplus(3.0), "softplus_3", "Softplus(beta=3.0)"),
        (nn.LeakyReLU(0.2), "leaky_relu_2", "LeakyReLU(negative_slope=0.2)"),
        (nn.ELU(2.0), "elu_2", "ELU(alpha=2.0)"),
    ],
)
def test_layers_are_these_functions(layer, name, text):
    x = np.array(POINTS)
    np.testing.assert_array_equal(layer(x), CASES[name][0](x))
    assert repr(layer) == text


BENDS = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
# What Paddle 3.3.1 gives of BENDS and its gradient, in float64.
PADDLE = {
    "celu": ({"alpha": 2.0}, [-1.26424112, -0.44239843, 0, 0.5, 2], [0.36787944, 0.77880078, 1, 1, 1]),
    "hardshrink": ({}, [-2, 0, 0, 0, 2], [1, 0, 0, 0, 1]),
    "hardsigmoid": ({"slope": 0.5}, [0, 0.25, 0.5, 0.75, 1], [0, 0.5, 0.5, 0.5, 0]),
    "hardtanh": ({"min": -0.5}, [-0.5, -0.5, 0, 0.5, 1], [0, 0, 1, 1, 0]),
    "log_sigmoid": ({}, [-2.12692801, -0.97407698, -0.69314718, -0.47407698, -0.12692801], None),
    "selu": ({}, [-1.52016647, -0.69175818, 0, 0.52535049, 2.10140197], None),
    "softshrink": ({}, [-1.5, 0, 0, 0, 1.5], [1, 0, 0, 0, 1]),
    "softsign": ({}, [-2 / 3, -1 / 3, 0, 1 / 3, 2 / 3], [1 / 9, 4 / 9, 1, 4 / 9, 1 / 9]),
    "tanhshrink": ({}, [-1.03597242, -0.03788284, 0, 0.03788284, 1.03597242], None),
    "thresholded_relu": ({"value": -3.0}, [-3, -3, -3, -3, 2], [0, 0, 0, 0, 1]),
}


@pytest.mark.parametrize("name", PADDLE)
def test_values_and_gradients_are_paddles(name):
    attrs, values, slopes = PADDLE[name]
    function = getattr(F, name)
    np.testing.assert_allclose(function(BENDS, **attrs), values, rtol=1e-7, atol=1e-12)
    if slopes is not None:
        np.testing.assert_allclose(gradient(function, BENDS, **attrs), slopes, rtol=1e-7, atol=1e-12)


def test_prelu_has_a_slope_for_each_channel():
    x = -np.ones((1, 3, 2))
    made = activation.prelu(x, np.array([[0.1], [0.2], [0.3]]))
    np.testing.assert_array_equal(made[0], [[-0.1, -0.1], [-0.2, -0.2], [-0.3, -0.3]])


def test_layers_of_two_attributes_print_both_and_take_them_by_position():
    assert repr(nn.Hardtanh(-2.0, 3.0)) == "Hardtanh(min=-2.0, max=3.0)"
    assert nn.Hardtanh(-2.0, 3.0)(opsdk.to_tensor([-9.0, 1.0, 9.0])).tolist() == [-2.0, 1.0, 3.0]


WRONG = {"selu": {"scale": 0.5}, "celu": {"alpha": 0.0}, "hardshrink": {"threshold": -1.0}}


@pytest.mark.parametrize("name", WRONG)
def test_an_attribute_that_paddle_refuses_is_refused(name):
    (attr,) = WRONG[name]
    with pytest.raises(ValueError, match=f"attribute '{attr}' expected float"):
        getattr(F, name)(BENDS, **WRONG[name])


def test_nan_goes_through_what_is_bent():
    for name in ("hardtanh", "hardsigmoid", "hardshrink", "softshrink", "thresholded_relu", "relu6", "hardswish"):
        assert np.isnan(getattr(opsdk.nn.functional, name)(opsdk.to_tensor(np.nan)).numpy()), name
