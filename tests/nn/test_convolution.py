"""Tests of opsdk.nn.convolution."""

import inspect

import numpy as np
import pytest

import opsdk
import opsdk.nn.functional as F
from opsdk.core.errors import AttributeValueError, ShapeError

X = np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4)
ONES = np.ones((1, 1, 3, 3), np.float32)


def test_names_and_order_are_paddles():
    planar = ["x", "weight", "bias", "stride", "padding", "dilation", "groups", "data_format", "name"]
    assert list(inspect.signature(F.conv2d).parameters) == planar
    back = list(inspect.signature(F.conv2d_transpose).parameters)
    assert back[5:9] == ["output_padding", "dilation", "groups", "output_size"]
    assert list(inspect.signature(F.conv1d_transpose).parameters)[5:9] == [
        "output_padding",
        "groups",
        "dilation",
        "output_size",
    ]


def test_values_are_sums_of_what_lies_under_ones():
    made = F.conv2d(X, ONES, np.array([0.5], np.float32), stride=[3, 1], padding="SAME")
    rows, columns = [(0, 1), (2, 3)], [(0, 1), (0, 1, 2), (1, 2, 3), (2, 3)]
    np.testing.assert_allclose(made[0, 0], [[X[0, 0][np.ix_(r, c)].sum() + 0.5 for c in columns] for r in rows])


def test_a_sequence_has_the_channels_last():
    x = np.arange(6.0).reshape(1, 3, 2)  # three elements of two channels
    weight = np.array([[[1.0, 0.0], [0.0, 10.0]]])
    np.testing.assert_allclose(F.conv1d(x, weight, np.array([1.0]), data_format="NLC"), [[[31.0], [53.0]]])


def test_an_output_size_decides_among_those_that_give_x():
    assert F.conv2d_transpose(X, ONES, stride=2, output_size=[9, 10]).shape == (1, 1, 9, 10)
    assert F.conv2d_transpose(X, ONES, stride=2, padding="SAME").shape == (1, 1, 8, 8)
    made = F.conv2d_transpose(X, ONES, stride=2, output_padding=1)
    np.testing.assert_allclose(made[0, 0, :-1, :-1], F.conv2d_transpose(X, ONES, stride=2)[0, 0])
    assert not made[0, 0, -1].any()


def test_gradients_are_pytorchs():
    """The numbers are those of torch 2.14 for the same call."""
    x = opsdk.to_tensor(X, stop_gradient=False)
    weight = opsdk.to_tensor(np.arange(4.0, dtype=np.float32).reshape(1, 1, 2, 2), stop_gradient=False)
    bias = opsdk.to_tensor(np.zeros(1, np.float32), stop_gradient=False)
    F.conv2d(x, weight, bias, stride=2, padding=1).sum().backward()
    assert x.grad[0, 0].tolist() == [[3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0]]
    assert weight.grad[0, 0].tolist() == [[5 + 7 + 13 + 15, 4 + 6 + 12 + 14], [1 + 3 + 9 + 11, 0 + 2 + 8 + 10]]
    assert bias.grad.tolist() == [9]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: F.conv2d(X[0], ONES),
            ShapeError,
            r"conv2d: expected x \(N, C, H, W\) and a weight of 4 axes, got shapes",
        ),
        (
            lambda: F.conv2d(X, ONES, np.ones(2)),
            ShapeError,
            r"bias expected shape \(1,\), a number for each output channel",
        ),
        (
            lambda: F.conv2d(X, ONES, data_format="NCL"),
            AttributeValueError,
            "data_format expected NCHW or NHWC, got 'NCL'",
        ),
        (
            lambda: F.conv2d_transpose(X, ONES, stride=2, output_size=8),
            AttributeValueError,
            r"conv2d_transpose: output_size beyond the least expected in \[0, 2\), got -1",
        ),
        (
            lambda: F.conv2d_transpose(X, ONES, stride=2, output_padding=2),
            AttributeValueError,
            r"output_padding expected in \[0, 2\), got 2",
        ),
        (
            lambda: F.conv2d_transpose(X, ONES, stride=2, output_padding=1, output_size=10),
            AttributeValueError,
            "expected output_size or output_padding, got both",
        ),
    ],
)
def test_misuse_is_refused_by_name(call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert issubclass(error, ValueError)  # as Paddle's
