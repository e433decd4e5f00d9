"""Convolutions as layers, in Paddle's words and in PyTorch's, for sequences, images and volumes.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.nn.layer.layer import Layer

class Conv1D(Layer):
    """Convolution of sequences, with a weight and a bias of its own; see `functional.conv1d`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups.
        padding_mode: zeros, reflect, replicate or circular.
        weight_attr: a `ParamAttr`, initializer or name; normal values of variance 2 / (values that
    enter one output) unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCL, or NLC.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, padding_mode: str = 'zeros', weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, *, bias: bool = True, dtype: DTypeLike = 'float32', device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""

    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""

class Conv1DTranspose(Layer):
    """Transposed convolution of sequences, with a weight and a bias of its own; see
    `functional.conv1d_transpose`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups, output_padding.
        padding_mode: zeros.
        weight_attr: a `ParamAttr`, initializer or name; Xavier's uniform values unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCL, or NLC.

    Attributes:
        weight: of shape (in_channels, out_channels / groups, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, dtype: DTypeLike = 'float32', *, device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""

class Conv1d(Layer):
    """Convolution of sequences, with a weight and a bias of its own; see `functional.conv1d`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups.
        padding_mode: zeros, reflect, replicate or circular.
        bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in
    PyTorch.
        device: where the parameters lie.
        dtype: of the parameters; float32 unless given.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""

    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""

class ConvTranspose1d(Layer):
    """Transposed convolution of sequences, with a weight and a bias of its own; see
    `functional.conv1d_transpose`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups, output_padding.
        padding_mode: zeros.
        bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in
    PyTorch.
        device: where the parameters lie.
        dtype: of the parameters; float32 unless given.

    Attributes:
        weight: of shape (in_channels, out_channels / groups, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = 'zeros', device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""

class Conv2D(Layer):
    """Convolution of images, with a weight and a bias of its own; see `functional.conv2d`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups.
        padding_mode: zeros, reflect, replicate or circular.
        weight_attr: a `ParamAttr`, initializer or name; normal values of variance 2 / (values that
    enter one output) unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCHW, or NHWC.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, padding_mode: str = 'zeros', weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, *, bias: bool = True, dtype: DTypeLike = 'float32', device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""

    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""

class Conv2DTranspose(Layer):
    """Transposed convolution of images, with a weight and a bias of its own; see `functional.conv2d_transpose`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups, output_padding.
        padding_mode: zeros.
        weight_attr: a `ParamAttr`, initializer or name; Xavier's uniform values unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCHW, or NHWC.

    Attributes:
        weight: of shape (in_channels, out_channels / groups, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, dilation: Any = 1, groups: int = 1, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, dtype: DTypeLike = 'float32', *, device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""

class Conv2d(Layer):
    """Convolution of images, with a weight and a bias of its own; see `functional.conv2d`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups.
        padding_mode: zeros, reflect, replicate or circular.
        bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in
    PyTorch.
        device: where the parameters lie.
        dtype: of the parameters; float32 unless given.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""

    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""

class ConvTranspose2d(Layer):
    """Transposed convolution of images, with a weight and a bias of its own; see `functional.conv2d_transpose`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups, output_padding.
        padding_mode: zeros.
        bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in
    PyTorch.
        device: where the parameters lie.
        dtype: of the parameters; float32 unless given.

    Attributes:
        weight: of shape (in_channels, out_channels / groups, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = 'zeros', device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""

class Conv3D(Layer):
    """Convolution of volumes, with a weight and a bias of its own; see `functional.conv3d`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups.
        padding_mode: zeros, reflect, replicate or circular.
        weight_attr: a `ParamAttr`, initializer or name; normal values of variance 2 / (values that
    enter one output) unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCDHW, or NDHWC.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, padding_mode: str = 'zeros', weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, *, bias: bool = True, dtype: DTypeLike = 'float32', device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""

    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""

class Conv3DTranspose(Layer):
    """Transposed convolution of volumes, with a weight and a bias of its own; see
    `functional.conv3d_transpose`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups, output_padding.
        padding_mode: zeros.
        weight_attr: a `ParamAttr`, initializer or name; Xavier's uniform values unless said otherwise.
        bias_attr: the same for the bias, zeros unless said otherwise; False for no bias.
        data_format: NCDHW, or NDHWC.

    Attributes:
        weight: of shape (in_channels, out_channels / groups, kernel, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1, weight_attr: Any = None, bias_attr: Any = None, data_format: str | None = None, dtype: DTypeLike = 'float32', *, device: Any = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels and kernel, what is not as by default, and the layout."""

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""

class Conv3d(Layer):
    """Convolution of volumes, with a weight and a bias of its own; see `functional.conv3d`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups.
        padding_mode: zeros, reflect, replicate or circular.
        bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in
    PyTorch.
        device: where the parameters lie.
        dtype: of the parameters; float32 unless given.

    Attributes:
        weight: of shape (out_channels, in_channels / groups, kernel, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""

    def forward(self, x: Any) -> Any:
        """Returns the convolution of x. Differentiable."""

class ConvTranspose3d(Layer):
    """Transposed convolution of volumes, with a weight and a bias of its own; see
    `functional.conv3d_transpose`.

    Args:
        in_channels: of the input, ≥ 1.
        out_channels: of the output, ≥ 1.
        kernel_size: sizes of the kernel: a number, or one for each axis.
        stride: as of the function, and so padding, dilation, groups, output_padding.
        padding_mode: zeros.
        bias: False for no bias. Both begin uniform within 1 / √(values that enter one output), as in
    PyTorch.
        device: where the parameters lie.
        dtype: of the parameters; float32 unless given.

    Attributes:
        weight: of shape (in_channels, out_channels / groups, kernel, kernel, kernel).
        bias: of shape (out_channels,), or None.

    Raises:
        AttributeValueError: sizes below 1, channels that groups do not divide, another padding mode.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = 'zeros', device: Any = None, dtype: DTypeLike | None = None) -> None:
        ...

    def extra_repr(self) -> str:
        """Returns channels, kernel and stride, and what is not as by default."""

    def forward(self, x: Any, output_size: Any = None) -> Any:
        """Returns the transposed convolution of x, of a size where one is given. Differentiable."""
