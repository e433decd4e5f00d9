"""Tests of opsdk.vision.models.lenet."""

import numpy as np

import opsdk
from opsdk.vision.models import LeNet


def test_parameters_are_paddles():
    shapes = {name: list(parameter.shape) for name, parameter in LeNet().named_parameters()}
    assert shapes == {
        "features.0.weight": [6, 1, 3, 3],
        "features.0.bias": [6],
        "features.3.weight": [16, 6, 5, 5],
        "features.3.bias": [16],
        "fc.0.weight": [400, 120],
        "fc.0.bias": [120],
        "fc.1.weight": [120, 84],
        "fc.1.bias": [84],
        "fc.2.weight": [84, 10],
        "fc.2.bias": [10],
    }
    assert list(LeNet(num_classes=0)(opsdk.ones([1, 1, 28, 28])).shape) == [1, 16, 5, 5]


def test_two_images_are_learned_in_a_few_steps(rng):
    opsdk.seed(1)
    net = LeNet()
    images = opsdk.to_tensor(rng.normal(size=(2, 1, 28, 28)).astype("float32"))
    optimizer = opsdk.optimizer.Adam(learning_rate=0.002, parameters=net.parameters())
    losses = []
    for _ in range(6):
        loss = opsdk.nn.functional.cross_entropy(net(images), opsdk.to_tensor([3, 7]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
    assert np.argmax(net(images).numpy(), 1).tolist() == [3, 7]
