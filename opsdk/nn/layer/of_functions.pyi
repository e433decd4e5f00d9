"""Layers without parameters, each a line of a table: the function that it calls, with the options that it keeps.

Written by `python -m tests.contracts.stubs`.
"""

from collections.abc import Callable
from typing import Any

from opsdk.nn.layer.layer import Layer

class Identity(Layer):
    """Gives what it is given; whatever it is made with is without meaning, as in Paddle and PyTorch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns x itself."""

class GLU(Layer):
    """`functional.glu` as a layer, made with its options."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Maxout(Layer):
    """`functional.maxout` as a layer, made with its options."""

    def __init__(self, groups: int, axis: int = 1, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Softmin(Layer):
    """`functional.softmin` as a layer, made with its options."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Threshold(Layer):
    """`functional.threshold` as a layer, made with its options."""

    def __init__(self, threshold: float, value: float, name: str | None = None, *, inplace: bool = False) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class RReLU(Layer):
    """`functional.rrelu` as a layer, made with its options."""

    def __init__(self, lower: float = 0.125, upper: float = 0.3333333333333333, name: str | None = None, *, inplace: bool = False) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Softmax2D(Layer):
    """`softmax_of_channels` as a layer, made with its options."""

    def __init__(self, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Softmax2d(Layer):
    """`softmax_of_channels` as a layer, made with its options."""

    def __init__(self, name: str | None = None) -> None:
        ...

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class PixelShuffle(Layer):
    """`functional.pixel_shuffle` as a layer, made with its options."""

    def __init__(self, upscale_factor: int, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class PixelUnshuffle(Layer):
    """`functional.pixel_unshuffle` as a layer, made with its options."""

    def __init__(self, downscale_factor: int, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ChannelShuffle(Layer):
    """`functional.channel_shuffle` as a layer, made with its options."""

    def __init__(self, groups: int, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Unfold(Layer):
    """`functional.unfold` as a layer, made with its options."""

    def __init__(self, kernel_sizes: Any, dilations: Any = 1, paddings: Any = 0, strides: Any = 1, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Fold(Layer):
    """`functional.fold` as a layer, made with its options."""

    def __init__(self, output_sizes: Any, kernel_sizes: Any, dilations: Any = 1, paddings: Any = 0, strides: Any = 1, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LocalResponseNorm(Layer):
    """`functional.local_response_norm` as a layer, made with its options."""

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Unflatten(Layer):
    """`unflatten` as a layer, made with its options."""

    def __init__(self, axis: int, shape: Any, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Pad1D(Layer):
    """`around` as a layer, made with its options."""

    def __init__(self, padding: Any, mode: str = 'constant', value: float = 0.0, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ZeroPad1D(Layer):
    """`around` as a layer, made with its options, with mode='constant', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ConstantPad1D(Layer):
    """`around` as a layer, made with its options, with mode='constant'."""

    def __init__(self, padding: Any, value: float = 0.0, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReflectionPad1D(Layer):
    """`around` as a layer, made with its options, with mode='reflect', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReplicationPad1D(Layer):
    """`around` as a layer, made with its options, with mode='replicate', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CircularPad1D(Layer):
    """`around` as a layer, made with its options, with mode='circular', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ZeroPad1d(Layer):
    """`around` as a layer, made with its options, with mode='constant', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ConstantPad1d(Layer):
    """`around` as a layer, made with its options, with mode='constant'."""

    def __init__(self, padding: Any, value: float = 0.0, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReflectionPad1d(Layer):
    """`around` as a layer, made with its options, with mode='reflect', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReplicationPad1d(Layer):
    """`around` as a layer, made with its options, with mode='replicate', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CircularPad1d(Layer):
    """`around` as a layer, made with its options, with mode='circular', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Pad2D(Layer):
    """`around` as a layer, made with its options."""

    def __init__(self, padding: Any, mode: str = 'constant', value: float = 0.0, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ZeroPad2D(Layer):
    """`around` as a layer, made with its options, with mode='constant', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ConstantPad2D(Layer):
    """`around` as a layer, made with its options, with mode='constant'."""

    def __init__(self, padding: Any, value: float = 0.0, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReflectionPad2D(Layer):
    """`around` as a layer, made with its options, with mode='reflect', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReplicationPad2D(Layer):
    """`around` as a layer, made with its options, with mode='replicate', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CircularPad2D(Layer):
    """`around` as a layer, made with its options, with mode='circular', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ZeroPad2d(Layer):
    """`around` as a layer, made with its options, with mode='constant', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ConstantPad2d(Layer):
    """`around` as a layer, made with its options, with mode='constant'."""

    def __init__(self, padding: Any, value: float = 0.0, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReflectionPad2d(Layer):
    """`around` as a layer, made with its options, with mode='reflect', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReplicationPad2d(Layer):
    """`around` as a layer, made with its options, with mode='replicate', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CircularPad2d(Layer):
    """`around` as a layer, made with its options, with mode='circular', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Pad3D(Layer):
    """`around` as a layer, made with its options."""

    def __init__(self, padding: Any, mode: str = 'constant', value: float = 0.0, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ZeroPad3D(Layer):
    """`around` as a layer, made with its options, with mode='constant', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ConstantPad3D(Layer):
    """`around` as a layer, made with its options, with mode='constant'."""

    def __init__(self, padding: Any, value: float = 0.0, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReflectionPad3D(Layer):
    """`around` as a layer, made with its options, with mode='reflect', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReplicationPad3D(Layer):
    """`around` as a layer, made with its options, with mode='replicate', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CircularPad3D(Layer):
    """`around` as a layer, made with its options, with mode='circular', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ZeroPad3d(Layer):
    """`around` as a layer, made with its options, with mode='constant', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ConstantPad3d(Layer):
    """`around` as a layer, made with its options, with mode='constant'."""

    def __init__(self, padding: Any, value: float = 0.0, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReflectionPad3d(Layer):
    """`around` as a layer, made with its options, with mode='reflect', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class ReplicationPad3d(Layer):
    """`around` as a layer, made with its options, with mode='replicate', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CircularPad3d(Layer):
    """`around` as a layer, made with its options, with mode='circular', value=0.0."""

    def __init__(self, padding: Any, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LPPool1D(Layer):
    """`functional.lp_pool1d` as a layer, made with its options."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LPPool1d(Layer):
    """`functional.lp_pool1d` as a layer, made with its options."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, data_format: str = 'NCL', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LPPool2D(Layer):
    """`functional.lp_pool2d` as a layer, made with its options."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LPPool2d(Layer):
    """`functional.lp_pool2d` as a layer, made with its options."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, data_format: str = 'NCHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LPPool3D(Layer):
    """`functional.lp_pool3d` as a layer, made with its options."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class LPPool3d(Layer):
    """`functional.lp_pool3d` as a layer, made with its options."""

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, data_format: str = 'NCDHW', name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MaxUnPool1D(Layer):
    """`functional.max_unpool1d` as a layer, made with its options."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, data_format: str = 'NCL', output_size: Any = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, indices: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MaxUnPool2D(Layer):
    """`functional.max_unpool2d` as a layer, made with its options."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, data_format: str = 'NCHW', output_size: Any = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, indices: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MaxUnPool3D(Layer):
    """`functional.max_unpool3d` as a layer, made with its options."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, data_format: str = 'NCDHW', output_size: Any = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, indices: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MaxUnpool1d(Layer):
    """`functional.max_unpool1d` as a layer, made with its options."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, data_format: str = 'NCL', output_size: Any = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, indices: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MaxUnpool2d(Layer):
    """`functional.max_unpool2d` as a layer, made with its options."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, data_format: str = 'NCHW', output_size: Any = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, indices: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MaxUnpool3d(Layer):
    """`functional.max_unpool3d` as a layer, made with its options."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, data_format: str = 'NCDHW', output_size: Any = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, indices: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class Upsample(Layer):
    """`functional.upsample` as a layer, made with its options."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = 'nearest', align_corners: bool | None = False, align_mode: int = 0, data_format: str | None = None, recompute_scale_factor: bool | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class UpsamplingNearest2D(Layer):
    """`functional.upsample` as a layer, made with its options, with mode='nearest', align_mode=0,
    recompute_scale_factor=None, align_corners=False.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class UpsamplingNearest2d(Layer):
    """`functional.upsample` as a layer, made with its options, with mode='nearest', align_mode=0,
    recompute_scale_factor=None, align_corners=False.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class UpsamplingBilinear2D(Layer):
    """`functional.upsample` as a layer, made with its options, with mode='bilinear', align_mode=0,
    recompute_scale_factor=None, align_corners=True.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class UpsamplingBilinear2d(Layer):
    """`functional.upsample` as a layer, made with its options, with mode='bilinear', align_mode=0,
    recompute_scale_factor=None, align_corners=True.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None, data_format: str | None = None, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CosineSimilarity(Layer):
    """`functional.cosine_similarity` as a layer, made with its options."""

    def __init__(self, axis: int = 1, eps: float = 1e-08, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x1: Any, x2: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class PairwiseDistance(Layer):
    """`functional.pairwise_distance` as a layer, made with its options."""

    def __init__(self, p: float = 2.0, epsilon: float = 1e-06, keepdim: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, x: Any, y: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class BCELoss(Layer):
    """`functional.binary_cross_entropy` as a layer, made with its options."""

    def __init__(self, weight: Any = None, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class BCEWithLogitsLoss(Layer):
    """`functional.binary_cross_entropy_with_logits` as a layer, made with its options."""

    def __init__(self, weight: Any = None, reduction: str = 'mean', pos_weight: Any = None, name: str | None = None) -> None:
        ...

    def forward(self, logit: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class L1Loss(Layer):
    """`functional.l1_loss` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class SmoothL1Loss(Layer):
    """`functional.smooth_l1_loss` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', delta: float = 1.0, is_huber: bool = True, name: str | None = None, *, beta: float | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class HuberLoss(Layer):
    """`functional.huber_loss` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', delta: float = 1.0, name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class KLDivLoss(Layer):
    """`functional.kl_div` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', log_target: bool = False, name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class NLLLoss(Layer):
    """`functional.nll_loss` as a layer, made with its options."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class HingeEmbeddingLoss(Layer):
    """`functional.hinge_embedding_loss` as a layer, made with its options."""

    def __init__(self, margin: float = 1.0, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class SoftMarginLoss(Layer):
    """`functional.soft_margin_loss` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MarginRankingLoss(Layer):
    """`functional.margin_ranking_loss` as a layer, made with its options."""

    def __init__(self, margin: float = 0.0, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, other: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CrossEntropyLoss(Layer):
    """`functional.cross_entropy` as a layer, made with its options."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = 'mean', soft_label: bool = False, axis: int | None = None, use_softmax: bool = True, label_smoothing: float = 0.0, name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MSELoss(Layer):
    """`functional.mse_loss` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CosineEmbeddingLoss(Layer):
    """`functional.cosine_embedding_loss` as a layer, made with its options."""

    def __init__(self, margin: float = 0.0, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input1: Any, input2: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class GaussianNLLLoss(Layer):
    """`functional.gaussian_nll_loss` as a layer, made with its options."""

    def __init__(self, full: bool = False, epsilon: float = 1e-06, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any, variance: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class PoissonNLLLoss(Layer):
    """`functional.poisson_nll_loss` as a layer, made with its options."""

    def __init__(self, log_input: bool = True, full: bool = False, epsilon: float = 1e-08, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MultiMarginLoss(Layer):
    """`functional.multi_margin_loss` as a layer, made with its options."""

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MultiLabelMarginLoss(Layer):
    """`functional.multi_label_margin_loss` as a layer, made with its options."""

    def __init__(self, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class MultiLabelSoftMarginLoss(Layer):
    """`functional.multi_label_soft_margin_loss` as a layer, made with its options."""

    def __init__(self, weight: Any = None, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, label: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class CTCLoss(Layer):
    """`functional.ctc_loss` as a layer, made with its options, with norm_by_times=False."""

    def __init__(self, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False, name: str | None = None) -> None:
        ...

    def extra_repr(self: Layer) -> str:
        """Returns what it was made with."""

    def forward(self, log_probs: Any, labels: Any, input_lengths: Any, label_lengths: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class TripletMarginLoss(Layer):
    """`functional.triplet_margin_loss` as a layer, made with its options."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, epsilon: float = 1e-06, swap: bool = False, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""

class TripletMarginWithDistanceLoss(Layer):
    """`functional.triplet_margin_with_distance_loss` as a layer, made with its options."""

    def __init__(self, distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean', name: str | None = None) -> None:
        ...

    def forward(self, input: Any, positive: Any, negative: Any) -> Any:
        """Returns what the function does of these. Differentiable as that is."""
