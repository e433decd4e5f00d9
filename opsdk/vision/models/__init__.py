"""Nets for images, with Paddle's names and arguments, and parameters named as in Paddle and torchvision."""

from opsdk.vision.models.lenet import LeNet
from opsdk.vision.models.resnet import (
    BasicBlock,
    BottleneckBlock,
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
)

__all__ = [
    "BasicBlock",
    "BottleneckBlock",
    "LeNet",
    "ResNet",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
]
