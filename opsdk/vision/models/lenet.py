"""LeNet, for images of 28 × 28 in one channel."""

from __future__ import annotations

from typing import Any

from opsdk.nn.layer.activation import ReLU
from opsdk.nn.layer.containers import Sequential
from opsdk.nn.layer.convolution import Conv2D
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.layers import Linear
from opsdk.nn.layer.pooling import MaxPool2D
from opsdk.ops.functions import flatten


class LeNet(Layer):
    """Two convolutions, each pooled, and three linear layers (LeCun et al. 1998, in Paddle's form, with ReLU).

    Args:
        num_classes: scores that come out; 0 leaves the linear layers out.

    Attributes:
        features: convolutions and pooling.
        fc: linear layers.
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = Sequential(
            Conv2D(1, 6, 3, stride=1, padding=1),
            ReLU(),
            MaxPool2D(2, 2),
            Conv2D(6, 16, 5, stride=1, padding=0),
            ReLU(),
            MaxPool2D(2, 2),
        )
        if num_classes > 0:
            self.fc = Sequential(Linear(400, 120), Linear(120, 84), Linear(84, num_classes))

    # Any: tensors, variables or arrays.
    def forward(self, inputs: Any) -> Any:
        """Returns scores of shape (N, num_classes), of images (N, 1, 28, 28). Differentiable."""
        x = self.features(inputs)
        return self.fc(flatten(x, 1)) if self.num_classes > 0 else x
