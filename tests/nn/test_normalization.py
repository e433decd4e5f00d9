"""Tests of opsdk.nn.normalization."""

import numpy as np
import pytest

import opsdk
import opsdk.nn.functional as F
from opsdk.core.errors import AttributeValueError, ProgramError, ShapeError


def standardized(x, axes, epsilon=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def test_momentum_is_what_stays_and_the_variance_is_biased():
    mean, var = opsdk.zeros([1]), opsdk.ones([1])
    x = opsdk.to_tensor([[1.0], [2.0], [4.0]])
    F.batch_norm(x, mean, var, training=True)
    np.testing.assert_allclose((mean.item(), var.item()), (0.23333338, 1.0555556), rtol=1e-6)  # Paddle 3.3.1
    out = F.batch_norm(x, mean, var, training=True, use_global_stats=True)
    np.testing.assert_allclose(out.numpy(), (x.numpy() - 0.2333334) / np.sqrt(1.0555656), rtol=1e-5)
    np.testing.assert_allclose(mean.item(), 0.23333338, rtol=1e-6)


def test_the_last_axes_are_normalized(rng):
    x, weight, bias = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 4)), rng.normal(size=12)
    expected = standardized(x, (1, 2))
    np.testing.assert_allclose(F.layer_norm(x, [3, 4]), expected)
    np.testing.assert_allclose(F.layer_norm(x, [3, 4], weight, bias), expected * weight + bias.reshape(3, 4))
    np.testing.assert_allclose(F.layer_norm(x, 4, bias=bias[:4]), standardized(x, (2,)) + bias[:4])
    squares = np.sqrt((x**2).mean((1, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.rms_norm(x, [3, 4], weight), x / squares * weight)
    plain = x / np.sqrt((x**2).mean(2, keepdims=True) + 2.0**-52)
    np.testing.assert_allclose(F.rms_norm(x, 4, eps=None), plain)


@pytest.mark.parametrize("last", [False, True])
def test_groups_of_channels_are_normalized_in_both_layouts(rng, last):
    x, weight, bias = rng.normal(size=(2, 4, 3, 2)), rng.normal(size=4), rng.normal(size=4)
    expected = standardized(x.reshape(2, 2, 12), (2,)).reshape(x.shape)
    expected = expected * weight[:, None, None] + bias[:, None, None]
    given = np.moveaxis(x, 1, -1) if last else x
    made = F.group_norm(given, 2, weight=weight, bias=bias, data_format="NHWC" if last else "NCHW")
    np.testing.assert_allclose(np.moveaxis(made, -1, 1) if last else made, expected)
    one = F.instance_norm(given, data_format="NHWC" if last else "NCHW")
    np.testing.assert_allclose(np.moveaxis(one, -1, 1) if last else one, standardized(x, (2, 3)))


def test_an_instance_may_be_normalized_by_running_statistics():
    x = np.array([[[3.0, 5.0]]])
    made = F.instance_norm(x, np.array([1.0]), np.array([4.0]), use_input_stats=False, eps=1e-12)
    np.testing.assert_allclose(made, [[[1.0, 2.0]]])


def test_open_batches_and_sizes_are_normalized_in_a_program():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [None, 4, None, 2], "float64")
        made = F.group_norm(x, 2)
        value = np.arange(48.0).reshape(2, 4, 3, 2) ** 1.5
        (out,) = opsdk.static.Executor().run(main, feed={"x": value}, fetch_list=[made])
        np.testing.assert_allclose(out, standardized(value.reshape(2, 2, 12), (2,)).reshape(value.shape))
        with pytest.raises(ProgramError, match="a number of channels for group_norm"):
            F.group_norm(opsdk.static.data("y", [2, None, 3], "float64"), 2)


X = np.zeros((2, 4, 3))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: F.group_norm(X, 3),
            ShapeError,
            r"num_groups expected to divide the 4 channels of x \(2, 4, 3\), got 3",
        ),
        (
            lambda: F.group_norm(X, 2, weight=np.ones(3)),
            ShapeError,
            r"group_norm: weight expected shape \(4,\), got \(3,\)",
        ),
        (lambda: F.group_norm(X[0, 0], 1), ShapeError, r"group_norm: x expected shape \(N, C, \*size\), got \(3,\)"),
        (lambda: F.layer_norm(X, [5]), ShapeError, r"layer_norm: x expected shape \(…, 5\), got \(2, 4, 3\)"),
        (lambda: F.layer_norm(X, 3, np.ones(4)), ShapeError, r"layer_norm: weight expected shape \(3,\), got \(4,\)"),
        (lambda: F.layer_norm(X, 0), AttributeValueError, "normalized_shape expected sizes ≥ 1, got 0"),
        (
            lambda: F.batch_norm(X, None, None, training=True, data_format="CHW"),
            AttributeValueError,
            "data_format expected one of NC, NCL",
        ),
    ],
)
def test_misuse_is_refused_by_name(call, error, text):
    with pytest.raises(error, match=text):
        call()
