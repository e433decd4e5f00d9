"""Tests of opsdk.vision.models.resnet."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError
from opsdk.vision.models import BasicBlock, BottleneckBlock, ResNet, resnet18


def test_names_and_numbers_of_parameters_are_those_of_paddle_and_torchvision():
    net = resnet18(num_classes=4)
    names = [name for name, _ in net.named_parameters()]
    assert names[:5] == ["conv1.weight", "bn1.weight", "bn1.bias", "bn1._mean", "bn1._variance"]
    assert "layer2.0.downsample.0.weight" in names
    assert names[-2:] == ["fc.weight", "fc.bias"]
    assert [name for name, _ in net.layer2[0].named_children()] == [
        "conv1",
        "bn1",
        "relu",
        "conv2",
        "bn2",
        "downsample",
    ]
    trained = sum(int(np.prod(p.shape)) for p in net.parameters() if not p.stop_gradient)
    assert trained == 11_689_512 - 1000 * 513 + 4 * 513  # torchvision's, with another last layer


@pytest.mark.slow  # eighteen layers; LeNet's training, and a block, stand for it in make test
def test_a_small_input_trains_one_step():
    opsdk.seed(1)
    net = resnet18(num_classes=4)
    x = opsdk.randn([2, 3, 32, 32])
    before = net.layer4[1].conv2.weight.numpy().copy()
    optimizer = opsdk.optimizer.SGD(learning_rate=0.001, parameters=net.parameters())
    loss = opsdk.nn.functional.cross_entropy(net(x), opsdk.to_tensor([0, 3]))
    loss.backward()
    optimizer.step()
    assert np.isfinite(loss.item())
    assert not np.array_equal(net.layer4[1].conv2.weight.numpy(), before)
    assert list(net.eval()(x).shape) == [2, 4]


@pytest.mark.parametrize(("block", "inplanes"), [(BasicBlock, 8), (BottleneckBlock, 32)])
def test_a_block_adds_what_goes_in(block, inplanes):
    made = block(inplanes, 8).eval()
    for parameter in made.parameters():
        if len(parameter.shape) > 1:
            parameter.set_value(np.zeros(parameter.shape, "float32"))
    x = opsdk.abs(opsdk.randn([1, inplanes, 4, 4]))
    np.testing.assert_allclose(made(x).numpy(), x.numpy())


def test_other_depths_and_downloads_are_refused():
    with pytest.raises(AttributeValueError, match="ResNet: depth expected one of 18 of BasicBlock, 34 of BasicBlock"):
        ResNet(BottleneckBlock, 18)
    with pytest.raises(
        AttributeValueError, match="resnet18: pretrained expected False, got True; nothing is downloaded"
    ):
        resnet18(pretrained=True)
