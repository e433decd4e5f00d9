"""Residual nets of 18 to 152 layers."""

from __future__ import annotations

from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.nn.layer.activation import ReLU
from opsdk.nn.layer.containers import Sequential
from opsdk.nn.layer.convolution import Conv2D
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.layers import Linear
from opsdk.nn.layer.normalization import BatchNorm2D
from opsdk.nn.layer.pooling import AdaptiveAvgPool2D, MaxPool2D
from opsdk.ops.functions import flatten


# Any, in this file: tensors, variables or arrays.
class _Block(Layer):
    """What goes round a block: the input, through a convolution of 1 × 1 where sizes or channels change."""

    expansion: int

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Layer | None = None) -> None:
        super().__init__()
        self.stride = stride
        self._stages = self._build(inplanes, planes, stride)
        self.downsample = downsample

    def _build(self, inplanes: int, planes: int, stride: int) -> int:
        """Makes `relu`, and `conv1`, `conv2`, … with a batch norm each, and returns how many of these there are."""
        raise NotImplementedError(
            f"block {type(self).__name__}: expected it to define _build(inplanes, planes, stride)"
        )

    def _add(self, number: int, inplanes: int, planes: int, size: int, stride: int = 1) -> None:
        convolution = Conv2D(inplanes, planes, size, padding=size // 2, stride=stride, bias_attr=False)
        setattr(self, f"conv{number}", convolution)
        setattr(self, f"bn{number}", BatchNorm2D(planes))

    def forward(self, x: Any) -> Any:
        """Returns relu(x + convolutions of x). Differentiable."""
        made = x
        for number in range(1, self._stages + 1):
            made = getattr(self, f"bn{number}")(getattr(self, f"conv{number}")(made))
            made = self.relu(made) if number < self._stages else made
        return self.relu(made + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(_Block):
    """Two convolutions of 3 × 3 (He et al. 2016, fig. 5, left).

    Args:
        inplanes: channels of the input.
        planes: of the output.
        stride: of the first convolution.
        downsample: what the input goes through, where it is not added as it is.
    """

    expansion = 1

    def _build(self, inplanes: int, planes: int, stride: int) -> int:
        self._add(1, inplanes, planes, 3, stride)
        self.relu = ReLU()
        self._add(2, planes, planes, 3)
        return 2


class BottleneckBlock(_Block):
    """Convolutions of 1 × 1, 3 × 3 and 1 × 1, with the stride in the second (He et al. 2016, fig. 5, right).

    Args:
        inplanes: channels of the input.
        planes: of what is convolved by 3 × 3; the output has four times as many.
        stride: of that convolution.
        downsample: what the input goes through, where it is not added as it is.
    """

    expansion = 4

    def _build(self, inplanes: int, planes: int, stride: int) -> int:
        self._add(1, inplanes, planes, 1)
        self._add(2, planes, planes, 3, stride)
        self._add(3, planes, planes * self.expansion, 1)
        self.relu = ReLU()
        return 3


_DEPTHS = {
    18: (BasicBlock, [2, 2, 2, 2]),
    34: (BasicBlock, [3, 4, 6, 3]),
    50: (BottleneckBlock, [3, 4, 6, 3]),
    101: (BottleneckBlock, [3, 4, 23, 3]),
    152: (BottleneckBlock, [3, 8, 36, 3]),
}


class ResNet(Layer):
    """A residual net (He et al. 2016, Deep Residual Learning for Image Recognition, table 1).

    Args:
        block: BasicBlock or BottleneckBlock.
        depth: 18, 34, 50, 101 or 152.
        num_classes: scores that come out; 0 leaves the linear layer out.
        with_pool: whether the maps are averaged before.

    Raises:
        AttributeValueError: another depth, or one that is made of the other block.
    """

    def __init__(self, block: type[_Block], depth: int = 50, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        wanted, counts = _DEPTHS.get(depth, (None, []))
        if wanted is not block:
            known = ", ".join(f"{depth} of {kind.__name__}" for depth, (kind, _) in _DEPTHS.items())
            raise AttributeValueError(f"ResNet: depth expected one of {known}, got {depth} of {block.__name__}")
        self.num_classes, self.with_pool = num_classes, with_pool
        self.conv1 = Conv2D(3, 64, 7, stride=2, padding=3, bias_attr=False)
        self.bn1 = BatchNorm2D(64)
        self.relu = ReLU()
        self.maxpool = MaxPool2D(kernel_size=3, stride=2, padding=1)
        inplanes = 64
        for number, count in enumerate(counts):
            planes, stride = 64 << number, 1 if number == 0 else 2
            setattr(self, f"layer{number + 1}", _stage(block, inplanes, planes, count, stride))
            inplanes = planes * block.expansion
        if with_pool:
            self.avgpool = AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = Linear(inplanes, num_classes)

    def forward(self, x: Any) -> Any:
        """Returns scores of shape (N, num_classes), of images (N, 3, H, W). Differentiable."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = self.avgpool(x) if self.with_pool else x
        return self.fc(flatten(x, 1)) if self.num_classes > 0 else x


def _stage(block: type[_Block], inplanes: int, planes: int, count: int, stride: int) -> Sequential:
    width, downsample = planes * block.expansion, None
    if stride != 1 or inplanes != width:
        downsample = Sequential(Conv2D(inplanes, width, 1, stride=stride, bias_attr=False), BatchNorm2D(width))
    first = block(inplanes, planes, stride, downsample)
    return Sequential(first, *[block(width, planes) for _ in range(1, count)])


def resnet18(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Returns the net of 18 layers; `kwargs` are those of `ResNet`. Weights come by `load`, not from the network."""
    return _resnet(18, pretrained, kwargs)


def resnet34(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Returns the net of 34 layers, as `resnet18` does."""
    return _resnet(34, pretrained, kwargs)


def resnet50(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Returns the net of 50 layers, as `resnet18` does."""
    return _resnet(50, pretrained, kwargs)


def resnet101(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Returns the net of 101 layers, as `resnet18` does."""
    return _resnet(101, pretrained, kwargs)


def resnet152(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Returns the net of 152 layers, as `resnet18` does."""
    return _resnet(152, pretrained, kwargs)


def _resnet(depth: int, pretrained: bool, options: dict[str, Any]) -> ResNet:
    if pretrained:
        raise AttributeValueError(
            f"resnet{depth}: pretrained expected False, got True; nothing is downloaded, load weights with opsdk.load"
        )
    return ResNet(_DEPTHS[depth][0], depth, **options)
