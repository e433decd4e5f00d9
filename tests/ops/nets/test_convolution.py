"""Tests of opsdk.ops.nets.convolution; gradients and runtimes are swept in tests/parity."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.ops.nets.convolution import conv, conv_input
from tests.ops.nets.loops import convolved

STEPS = {"stride": [2, 1], "padding": [1, 0, 2, 1], "dilation": [1, 2]}


def test_a_convolution_is_that_of_loops_in_both_layouts(rng):
    x, weight = rng.normal(size=(2, 4, 4, 3)), rng.normal(size=(6, 2, 2, 2))
    expected = convolved(x, weight, (2, 1), (1, 2), (1, 2), 2, (2, 4))
    np.testing.assert_allclose(conv(x, weight, **STEPS, groups=2), expected, atol=1e-12)
    last = conv(np.moveaxis(x, 1, -1), weight, **STEPS, groups=2, channels_last=True)
    np.testing.assert_allclose(last, np.moveaxis(expected, 1, -1), atol=1e-12)


def test_a_third_derivative_is_there():
    x = opsdk.to_tensor(np.ones((1, 1, 3)), stop_gradient=False)
    weight = opsdk.to_tensor(np.array([[[2.0, 3.0]]]), stop_gradient=False)
    steps = {"stride": [1], "padding": [0, 0], "dilation": [1]}
    y = conv(conv(x, weight, **steps), weight, **steps)  # a² x₀ + 2ab x₁ + b² x₂
    (dx,) = opsdk.grad(y, x, create_graph=True)
    assert dx.numpy().tolist() == [[[4.0, 12.0, 9.0]]]
    (dxw,) = opsdk.grad(dx.sum(), weight, create_graph=True)  # of (a + b)²
    assert dxw.numpy().tolist() == [[[10.0, 10.0]]]
    (dxww,) = opsdk.grad(dxw.sum(), weight)
    assert dxww.numpy().tolist() == [[[4.0, 4.0]]]


def test_open_sizes_stay_open_in_a_program():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [None, 2, None, 5], "float32")
        weight = opsdk.static.data("w", [3, 2, 2, 2], "float32")
        y = conv(x, weight, **STEPS)
        assert [size == -1 for size in y.shape] == [True, False, True, False]
        assert list(y.shape)[1::2] == [3, 6]
        (dx,) = opsdk.static.gradients([y], [x])
        feed = {"x": np.ones((2, 2, 4, 5), "float32"), "w": np.ones((3, 2, 2, 2), "float32")}
        (made,) = opsdk.static.Executor().run(main, feed=feed, fetch_list=[dx])
    assert made.shape == (2, 2, 4, 5)


PLAIN = {"stride": [1, 1], "padding": [0] * 4, "dilation": [1, 1]}


@pytest.mark.parametrize(
    ("x", "weight", "attrs", "error", "text"),
    [
        (
            (1, 2, 4),
            (1, 2, 2, 2),
            {},
            ShapeError,
            r"expected x \(N, C, \*size\) and a weight with as many axes, at least",
        ),
        (
            (1, 2, 4, 4),
            (1, 3, 2, 2),
            {},
            ShapeError,
            r"weight expected shape \(O, 2 / groups, \*kernel\), where groups=1",
        ),
        ((1, 2, 4, 4), (3, 1, 2, 2), {"groups": 2}, ShapeError, "where groups=2 divides O, got"),
        (
            (1, 2, 4, 4),
            (1, 2, 5, 2),
            {},
            ShapeError,
            r"x expected sizes that the kernel \(5, 2\) with dilation \[1, 1\] fits",
        ),
        ((1, 2, 4, 4), (1, 2, 0, 2), {}, ShapeError, "weight expected a kernel of one tap at least, got"),
        ((1, 2, 4, 4), (1, 2, 2, 2), {"padding": [0, 0]}, ShapeError, r"padding expected 4 numbers, got \[0, 0\]"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(x, weight, attrs, error, text):
    with pytest.raises(error, match=text):
        conv(np.zeros(x), np.zeros(weight), **{**PLAIN, **attrs})


def test_two_dtypes_are_refused():
    with pytest.raises(DTypeError, match="weight expected float64 like x, got float32; cast it"):
        conv(np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 1, 1), np.float32), **PLAIN)


def test_a_cotangent_of_another_shape_is_refused():
    with pytest.raises(
        ShapeError, match=r"dout expected float64 \(1, 1, 2, 2\) like the result, got float64 \(1, 1, 3, 2"
    ):
        conv_input(np.zeros((1, 1, 3, 3)), np.zeros((1, 1, 2, 2)), np.zeros((1, 1, 3, 2)), **PLAIN)
