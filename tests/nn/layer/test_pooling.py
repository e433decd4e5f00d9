"""Tests of opsdk.nn.layer.pooling."""

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError

X = opsdk.to_tensor(np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4))


@pytest.mark.parametrize(
    ("layer", "text"),  # as Paddle 3.3.1 and PyTorch 2.14 print them
    [
        (nn.MaxPool2D(kernel_size=2, stride=2, padding=0), "MaxPool2D(kernel_size=2, stride=2, padding=0)"),
        (nn.AvgPool1D(3), "AvgPool1D(kernel_size=3, stride=None, padding=0)"),
        (nn.AdaptiveAvgPool2D(1), "AdaptiveAvgPool2D(output_size=1)"),
        (nn.AdaptiveMaxPool2D((1, 2)), "AdaptiveMaxPool2D(output_size=(1, 2), return_mask=False)"),
        (nn.MaxPool2d(2), "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
        (nn.AvgPool2d(3), "AvgPool2d(kernel_size=3, stride=3, padding=0)"),
        (nn.AvgPool1d(3), "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))"),
        (nn.AdaptiveMaxPool2d((1, 2)), "AdaptiveMaxPool2d(output_size=(1, 2))"),
    ],
)
def test_layers_print_as_in_their_library(layer, text):
    assert repr(layer) == text


def test_padding_counts_in_pytorchs_means_and_not_in_paddles():
    assert nn.AvgPool2D(3, 2, 1)(X).numpy()[0, 0, 0, 0] == 2.5
    np.testing.assert_allclose(nn.AvgPool2d(3, 2, 1)(X).numpy()[0, 0, 0, 0], 10 / 9)
    np.testing.assert_allclose(nn.AvgPool1d(2, 1, 1)(X[0]).numpy()[0, 0], [0, 0.5, 1.5, 2.5, 1.5])


def test_masks_are_int32_and_indices_int64():
    for layer, dtype in (
        (nn.MaxPool2D(2, return_mask=True), "int32"),
        (nn.MaxPool2d(2, return_indices=True), "int64"),
        (nn.AdaptiveMaxPool2D(2, return_mask=True), "int32"),
        (nn.AdaptiveMaxPool2d(2, return_indices=True), "int64"),
    ):
        out, places = layer(X)
        assert (out.tolist(), places.tolist(), places.dtype) == ([[[[5, 7], [13, 15]]]], [[[[5, 7], [13, 15]]]], dtype)


def test_a_dilation_is_pytorchs_alone():
    assert nn.MaxPool2d(2, 1, dilation=3)(X).tolist() == [[[[15]]]]
    with pytest.raises(TypeError):
        nn.MaxPool2D(2, 1, dilation=3)


def test_channels_may_lie_last():
    made = nn.MaxPool2D(2, data_format="NHWC")(opsdk.transpose(X, [0, 2, 3, 1]))
    assert made.tolist() == [[[[5], [7]], [[13], [15]]]]


def test_misuse_is_refused_when_the_layer_is_made():
    with pytest.raises(AttributeValueError, match=r"MaxPool2D: kernel_size expected a whole number ≥ 1, or 2 of them"):
        nn.MaxPool2D([2, 2, 2])
    with pytest.raises(AttributeValueError, match="AvgPool2D: data_format expected NCHW or NHWC, got 'NCW'"):
        nn.AvgPool2D(2, data_format="NCW")
