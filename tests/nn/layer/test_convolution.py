"""Tests of opsdk.nn.layer.convolution."""

import inspect
import math

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError


@pytest.mark.parametrize(
    ("layer", "text"),  # as Paddle 3.3.1 and PyTorch 2.14 print them
    [
        (lambda: nn.Conv1D(4, 8, 3), "Conv1D(4, 8, kernel_size=[3], data_format=NCL)"),
        (lambda: nn.Conv2D(3, 8, 3, padding=1), "Conv2D(3, 8, kernel_size=[3, 3], padding=1, data_format=NCHW)"),
        (
            lambda: nn.Conv2D(4, 8, 3, stride=2, padding="SAME", groups=2),
            "Conv2D(4, 8, kernel_size=[3, 3], stride=[2, 2], padding=SAME, groups=2, data_format=NCHW)",
        ),
        (
            lambda: nn.Conv2D(4, 8, 3, dilation=2, padding=1, data_format="NHWC", padding_mode="reflect"),
            "Conv2D(4, 8, kernel_size=[3, 3], padding=1, padding_mode=reflect, dilation=[2, 2], data_format=NHWC)",
        ),
        (
            lambda: nn.Conv2DTranspose(4, 8, 3, stride=2, output_padding=1),
            "Conv2DTranspose(4, 8, kernel_size=[3, 3], stride=[2, 2], output_padding=1, data_format=NCHW)",
        ),
        (lambda: nn.Conv1d(4, 8, 3), "Conv1d(4, 8, kernel_size=(3,), stride=(1,))"),
        (
            lambda: nn.Conv2d(4, 8, 3, padding=(1, 2), dilation=2, bias=False, padding_mode="reflect"),
            "Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 2), dilation=(2, 2), bias=False, "
            "padding_mode=reflect)",
        ),
        (
            lambda: nn.ConvTranspose2d(4, 8, 3, stride=2, output_padding=1, padding=1),
            "ConvTranspose2d(4, 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))",
        ),
    ],
)
def test_layers_print_as_in_their_library(layer, text):
    assert repr(layer()) == text


def test_paddles_first_values_are_normal_of_the_fan_in_and_zeros():
    opsdk.seed(3)
    layer = nn.Conv2D(3, 64, 3)
    assert abs(layer.weight.numpy().std() - math.sqrt(2 / 27)) < 0.01
    assert not layer.bias.numpy().any()
    limit = math.sqrt(6 / (3 * 9 + 64 * 9))  # the transposed ones have Xavier's
    assert 0.99 * limit < np.abs(nn.Conv2DTranspose(3, 64, 3).weight.numpy()).max() <= limit


def test_pytorchs_first_values_are_uniform_of_the_fan_in():
    opsdk.seed(3)
    for layer, fan in ((nn.Conv2d(8, 64, 3, groups=2), 36), (nn.ConvTranspose2d(64, 8, 3), 72)):
        for values in (layer.weight.numpy(), layer.bias.numpy()):
            assert 0.7 / math.sqrt(fan) < np.abs(values).max() <= 1 / math.sqrt(fan)


def test_names_shapes_and_order_of_what_is_kept():
    assert [(name, list(p.shape)) for name, p in nn.Conv2D(4, 8, 3, groups=2).state_dict().items()] == [
        ("weight", [8, 2, 3, 3]),
        ("bias", [8]),
    ]
    assert list(nn.ConvTranspose1d(4, 8, 3, groups=2, bias=False).state_dict()) == ["weight"]
    assert nn.Conv2DTranspose(4, 8, 3).weight.shape == [4, 8, 3, 3]
    assert nn.Conv2D(4, 8, 1, bias_attr=False).bias is None


def test_pytorchs_order_of_arguments_differs():
    names = {name: list(inspect.signature(getattr(nn, name)).parameters) for name in ("Conv2d", "ConvTranspose2d")}
    assert names["Conv2d"][6:9] == ["groups", "bias", "padding_mode"]
    assert names["ConvTranspose2d"][5:9] == ["output_padding", "groups", "bias", "dilation"]
    assert list(inspect.signature(nn.Conv1DTranspose).parameters)[5:8] == ["output_padding", "groups", "dilation"]


@pytest.mark.parametrize(("mode", "start"), [("reflect", [3, 2]), ("replicate", [1, 1]), ("circular", [3, 4])])
def test_padding_of_other_modes(mode, start):
    layer = nn.Conv1D(1, 1, 1, padding=2, padding_mode=mode, bias_attr=False)
    layer.weight.set_value(np.ones((1, 1, 1), "float32"))
    made = layer(opsdk.to_tensor([[[1.0, 2.0, 3.0, 4.0]]])).numpy()[0, 0].tolist()
    assert made[:6] == [*start, 1, 2, 3, 4]


def test_a_transposed_layer_takes_an_output_size():
    layer = nn.Conv2DTranspose(1, 1, 3, stride=2, output_padding=1)
    x = opsdk.ones([1, 1, 4, 4])
    assert (layer(x).shape, layer(x, output_size=[9, 10]).shape) == ([1, 1, 10, 10], [1, 1, 9, 10])


def test_b06_a_sequential_from_a_list_of_transposed_convolutions_and_instance_norms():
    layers = []
    for a, b in ((8, 4), (4, 2)):
        layers += [nn.ConvTranspose2d(a, b, 4, 2, 1), nn.InstanceNorm2d(b), nn.ReLU()]
    net = nn.Sequential(*layers)
    assert len(net) == 6
    out = net(opsdk.randn([1, 8, 2, 2]))
    assert out.shape == [1, 2, 8, 8]
    out.sum().backward()
    assert [list(p.grad.shape) for p in net.parameters()] == [[8, 4, 4, 4], [4], [4, 2, 4, 4], [2]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: nn.Conv2D(3, 4, 3, groups=2),
            "groups expected to divide in_channels and out_channels, got 2 for 3 and 4",
        ),
        (lambda: nn.Conv2D(0, 4, 3), "Conv2D: in_channels expected a whole number ≥ 1"),
        (
            lambda: nn.Conv2d(3, 4, 3, padding_mode="foo"),
            "padding_mode expected zeros, reflect, replicate, circular, got 'foo'",
        ),
        (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), "padding_mode expected zeros, got 'reflect'"),
        (
            lambda: nn.Conv2D(3, 4, 3, padding="SAME", padding_mode="reflect"),
            "beside padding_mode='reflect', expected a",
        ),
        (lambda: nn.Conv2D(3, 4, 3, weight_attr=False), "Conv2D: weight_attr expected a weight, got False"),
        (lambda: nn.Conv2D(3, 4, 3, data_format="NCL"), "data_format expected NCHW or NHWC, got 'NCL'"),
    ],
)
def test_misuse_is_refused_when_the_layer_is_made(make, text):
    with pytest.raises(AttributeValueError, match=text):
        make()
